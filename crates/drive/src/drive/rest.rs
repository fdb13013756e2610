//! Bringing a drive to rest: quiescing, programming the write buffer, shutting down.

use super::{Drive, QUIET_INSTANTS};
use ftl::Drain;
use kit::{HostCommand, Op, SimTime};

impl Drive {
    /// Brings the drive to rest: starts no new programs, collections or rewrites, and finishes the operations in flight
    /// and what is on its way through the controller.
    pub fn quiesce(&mut self) {
        self.come_to_rest(true);
        while !self.nothing_is_under_way() || self.host.has_arrivals() {
            let Some(at) = self.next_event() else { break };
            self.run_instant(at);
        }
        self.come_to_rest(false);
    }

    /// Sets whether free dies take nothing but programs that they have to repeat.
    fn come_to_rest(&mut self, rests: bool) {
        self.pulling = !rests;
        if let Some(map) = self.ftl.page_map_mut() {
            map.come_to_rest(rests);
        }
    }

    /// Programs all data in the write buffer, as a flush command of the host would, and waits until it is done.
    /// Recording is switched off, and stays off.
    pub fn program_buffer(&mut self) {
        if self.host.buffer().used() == 0 {
            return;
        }
        self.record(false);
        self.submit(HostCommand::flush(u32::MAX), self.now);
        loop {
            let done = self.advance(SimTime::FOREVER);
            if done.is_empty() || done.iter().any(|completion| completion.op == Op::Flush && completion.tag == u32::MAX) {
                return;
            }
        }
    }

    /// Shuts down gracefully: programs the data in the write buffer, lets the policy move the pages it must, and brings
    /// the drive to rest. `go_on` is asked every 65,536 steps; if it returns false, the shutdown is cut short. So it is
    /// if so much of the flash has failed that there is no room for what waits: after many instants in which nothing of
    /// it has been programmed. Pages that were to be moved then stay where they are.
    pub fn shut_down(&mut self, go_on: &mut dyn FnMut(SimTime) -> bool) {
        self.ftl.drain(Drain::All(self.host.buffer().last_number()), &mut self.out.ready);
        let mut steps = 0u64;
        let (mut least, mut quiet) = (u64::MAX, 0);
        while let Some(at) = self.next_event() {
            let waiting = self.waiting_for_shutdown();
            (least, quiet) = if waiting < least { (waiting, 0) } else { (least, quiet + 1) };
            if quiet > QUIET_INSTANTS && self.has_failures() {
                break;
            }
            if self.ftl.has_drained(self.now, &mut self.out) && self.host.buffer().is_empty() {
                break;
            }
            self.route();
            self.run_instant(at.min(self.next_event().unwrap_or(at)));
            steps += 1;
            if steps.is_multiple_of(65_536) && !go_on(self.now) {
                break;
            }
        }
        self.ftl.drain(Drain::End, &mut self.out.ready);
        self.quiesce();
    }

    /// Returns the number of units in the write buffer and of pages that wait or are being moved.
    fn waiting_for_shutdown(&self) -> u64 {
        let moves = self.ftl.page_map().map_or(0, |map| map.moves_in_flight());
        self.host.buffer().used() + self.out.signals.queued_write_pages + moves
    }

    /// Brings a drive without commands in flight to rest, the state in which it can be saved. No new operations are
    /// pulled; operations in flight, in an encoder or waiting for a channel are finished. Data in the write buffer
    /// stays there.
    ///
    /// # Panics
    /// If commands are in flight.
    pub fn rest(&mut self) {
        assert!(self.commands_in_flight() == 0, "the host has nothing in flight with a drive that comes to rest");
        self.quiesce();
        self.come_to_rest(true);
        while self.flash.has_armed_channel() || self.host.awaits_interrupts() {
            let Some(at) = self.next_event() else { break };
            self.run_instant(at);
        }
        self.come_to_rest(false);
        assert!(self.flash.page_buffers_rest(), "at rest all page buffers are free");
        assert!(self.flash.cache_registers_rest(), "at rest all cache registers are empty");
        assert!(self.flash.power_rests(), "at rest no operation waits for power or has any");
        self.controller.rest(self.now);
    }

    /// Completes the commands in flight. Returns false if the drive cannot: a worn-out drive may have too few free
    /// blocks to serve anything but its own relocations.
    pub fn complete_commands(&mut self) -> bool {
        let mut done = Vec::new();
        while self.commands_in_flight() > 0 {
            self.advance_into(SimTime::FOREVER, &mut done);
            if done.is_empty() {
                return false;
            }
        }
        true
    }

    /// Continues after a rest: marks every die as ready to look for work.
    pub fn go_on(&mut self) {
        self.out.ready.mark_all();
    }
}
