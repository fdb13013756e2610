// A SystemC module whose drive is ssdlab: the clock of the simulation drives it.
//
//     closed_loop [SUMMARY.json]
//
// The module Drive has one process. It sleeps until the drive's next event, or until a command is submitted, advances
// the drive to the present, and hands completions to the host. The module Host keeps 32 commands in flight.

#include <systemc>

#include "load.h"

// sc_fifo can print what it holds, and needs this for a type of its own.
static std::ostream &operator<<(std::ostream &to, const ssdlab_completion &done)
{
    return to << "command " << done.tag << " at " << done.completed << " ns";
}

// A drive, as seen by other modules: submit() at any time, and completions in a FIFO.
class Drive : public sc_core::sc_module {
public:
    sc_core::sc_fifo_out<ssdlab_completion> completions;

    SC_HAS_PROCESS(Drive);

    explicit Drive(const sc_core::sc_module_name &name) : sc_module(name), drive(create_drive())
    {
        SC_THREAD(run);
    }

    ~Drive() override { ssdlab_destroy(&drive); }

    uint64_t user_bytes() const
    {
        uint64_t bytes = 0;
        check(ssdlab_user_bytes(drive, &bytes), drive);
        return bytes;
    }

    void submit(const ssdlab_command &command)
    {
        check(ssdlab_submit(drive, &command, now()), drive);
        submitted.notify(sc_core::SC_ZERO_TIME);
    }

    void summary(const char *path) { write_summary(drive, path); }

private:
    // The present in nanoseconds, rounded up: the drive must not lag behind an instant that it has announced.
    static uint64_t now()
    {
        const sc_core::sc_time nanosecond(1, sc_core::SC_NS);
        const uint64_t unit = nanosecond.value();
        return (sc_core::sc_time_stamp().value() + unit - 1) / unit;
    }

    void run()
    {
        ssdlab_completion done[DEPTH];
        for (;;) {
            uint64_t next = SSDLAB_FOREVER;
            uint64_t count = 0;
            check(ssdlab_next_event(drive, &next), drive);
            if (next == SSDLAB_FOREVER) {
                wait(submitted);
            } else if (next > now()) {
                wait(sc_core::sc_time(static_cast<double>(next - now()), sc_core::SC_NS), submitted);
            }
            // An instant may complete more commands than the array holds.
            check(ssdlab_advance(drive, now(), nullptr), drive);
            do {
                check(ssdlab_completions(drive, done, DEPTH, nullptr, &count), drive);
                for (uint64_t index = 0; index < count; index++) {
                    completions.write(done[index]);
                }
            } while (count == DEPTH);
        }
    }

    ssdlab_drive *drive;
    sc_core::sc_event submitted;
};

// Submits the next command of the load at each completion.
class Host : public sc_core::sc_module {
public:
    sc_core::sc_fifo_in<ssdlab_completion> completions;
    uint64_t completed = 0;
    uint64_t latency = 0;

    SC_HAS_PROCESS(Host);

    Host(const sc_core::sc_module_name &name, Drive &drive) : sc_module(name), drive(drive) { SC_THREAD(run); }

private:
    void run()
    {
        const uint64_t user_bytes = drive.user_bytes();
        uint64_t submitted = 0;
        while (submitted < DEPTH) {
            drive.submit(command_of(submitted++, user_bytes));
        }
        while (completed < COMMANDS) {
            const ssdlab_completion done = completions.read();
            completed++;
            latency += done.completed - done.submitted;
            if (submitted < COMMANDS) {
                drive.submit(command_of(submitted++, user_bytes));
            }
        }
        sc_core::sc_stop();
    }

    Drive &drive;
};

int sc_main(int argc, char **argv)
{
    Drive drive("drive");
    Host host("host", drive);
    sc_core::sc_fifo<ssdlab_completion> completions(COMMANDS);
    drive.completions(completions);
    host.completions(completions);
    sc_core::sc_start();
    printf("commands %llu, simulated %s, mean latency %llu ns\n", static_cast<unsigned long long>(host.completed),
           sc_core::sc_time_stamp().to_string().c_str(), static_cast<unsigned long long>(host.latency / host.completed));
    if (argc > 1) {
        drive.summary(argv[1]);
    }
    return 0;
}
