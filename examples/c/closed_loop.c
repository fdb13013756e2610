/*
 * A host with a clock of its own drives a drive: 32 commands in flight, each completion submits the next command.
 *
 *     closed_loop [SUMMARY.json]
 *
 * The clock goes from event to event, as that of a simulator does: it asks the drive for its next event, advances to
 * it, and takes the completions.
 */
#include <inttypes.h>

#include "load.h"

int main(int argc, char **argv)
{
    ssdlab_drive *drive = create_drive();
    uint32_t causes = ssdlab_cause_count();
    ssdlab_completion done[DEPTH];
    uint64_t *spent = calloc((size_t)DEPTH * causes, sizeof *spent);
    uint64_t *sums = calloc(causes, sizeof *sums);
    uint64_t user_bytes, clock = 0, submitted = 0, completed = 0, latency = 0, in_flight;

    if (spent == NULL || sums == NULL) {
        perror("closed_loop");
        return 1;
    }
    check(ssdlab_user_bytes(drive, &user_bytes), drive);
    while (submitted < DEPTH) {
        ssdlab_command command = command_of(submitted++, user_bytes);
        check(ssdlab_submit(drive, &command, clock), drive);
    }
    for (;;) {
        uint64_t count, index;
        check(ssdlab_in_flight(drive, &in_flight), drive);
        if (in_flight == 0) {
            break;
        }
        check(ssdlab_next_event(drive, &clock), drive);
        check(ssdlab_advance(drive, clock, NULL), drive);
        check(ssdlab_completions(drive, done, DEPTH, spent, &count), drive);
        for (index = 0; index < count; index++) {
            uint32_t cause;
            completed++;
            latency += done[index].completed - done[index].submitted;
            for (cause = 0; cause < causes; cause++) {
                sums[cause] += spent[index * causes + cause];
            }
            if (submitted < COMMANDS) {
                ssdlab_command command = command_of(submitted++, user_bytes);
                check(ssdlab_submit(drive, &command, clock), drive);
            }
        }
    }

    printf("commands %" PRIu64 ", simulated %" PRIu64 " ns, mean latency %" PRIu64 " ns\n", completed, clock, latency / completed);
    for (uint32_t cause = 0; cause < causes; cause++) {
        if (sums[cause] > 0) {
            printf("  %-16s %10.1f ns\n", ssdlab_cause_name(cause), (double)sums[cause] / (double)completed);
        }
    }
    if (argc > 1) {
        write_summary(drive, argv[1]);
    }
    free(spent);
    free(sums);
    check(ssdlab_destroy(&drive), drive);
    return 0;
}
