//! A host that replays any workload on a drive with zones.

use crate::drive::Drive;
use crate::statistics::LogOrigin;
use ftl::layer::zns::table::{Table, ZoneState};
use kit::{Bytes, CommandFlags, Completion, HostCommand, Op, SimTime, Status, UNIT_BYTES, ZoneAction};
use std::collections::VecDeque;

/// State of a zone as the host knows it.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    /// Bytes of the appends submitted since its last reset.
    appended: u64,
    /// Appends in flight.
    in_flight: u32,
    is_resetting: bool,
    is_active: bool,
    /// True once the drive has refused a write because the zone cannot be written.
    is_lost: bool,
}

/// Turns the requests of a workload into commands that a drive with zones accepts.
///
/// A write becomes an append to the zone of its address. If the zone has no room for it, it waits until all appends to
/// the zone are complete, and the host resets the zone first: the data of the zone is discarded, as by fio with
/// `zonemode=zbd`. While as many zones are active as the drive allows, a write that would open another goes to one that
/// is active. A read of a part of a zone that is not written goes to a part that is, if there is any. Ranges are
/// widened to logical blocks of 4 KiB. The time for which a write is held back by the host is no part of its latency.
pub(super) struct ZonedHost {
    size: u64,
    capacity: u64,
    max_active: usize,
    zones: Vec<Shadow>,
    /// Writes that wait for a reset, of each zone.
    held: Vec<VecDeque<(HostCommand, LogOrigin)>>,
    active: Vec<u32>,
}

impl ZonedHost {
    /// Returns the host of a drive whose zones are in this state.
    pub fn new(table: &Table) -> ZonedHost {
        let limits = table.limits();
        let shadow = |zone: &ftl::layer::zns::table::Zone| Shadow {
            appended: u64::from(zone.written) * UNIT_BYTES,
            is_active: zone.state.is_active(),
            is_lost: matches!(zone.state, ZoneState::ReadOnly | ZoneState::Offline),
            ..Shadow::default()
        };
        let zones: Vec<Shadow> = table.zones().iter().map(shadow).collect();
        ZonedHost {
            size: u64::from(limits.size) * UNIT_BYTES,
            capacity: u64::from(limits.capacity) * UNIT_BYTES,
            max_active: if limits.active == 0 { usize::MAX } else { limits.active as usize },
            held: vec![VecDeque::new(); zones.len()],
            active: (0..).zip(&zones).filter(|(_, zone)| zone.is_active).map(|(index, _)| index).collect(),
            zones,
        }
    }

    /// Submits a request of the workload.
    pub fn submit(&mut self, command: HostCommand, origin: LogOrigin, at: SimTime, drive: &mut Drive) {
        if !command.op.has_range() {
            drive.submit_of(command, origin, at);
            return;
        }
        let begin = command.offset.0 / UNIT_BYTES * UNIT_BYTES;
        let end = (command.offset.0 + command.length.0).next_multiple_of(UNIT_BYTES);
        let command = HostCommand { offset: Bytes(begin), length: Bytes(end - begin), ..command };
        match command.op {
            Op::Write => {
                let zone = self.zone_for_write(&command);
                self.write(zone, (command, origin), at, drive);
            }
            Op::Read => {
                drive.submit_of(self.readable(command), origin, at);
            }
            _ => {
                drive.submit_of(command, origin, at);
            }
        }
    }

    /// Returns the zone to which a write goes.
    fn zone_for_write(&self, command: &HostCommand) -> usize {
        let zone = (command.offset.0 / self.size) as usize;
        let state = &self.zones[zone];
        if !(!state.is_active && self.active.len() >= self.max_active || state.is_lost) {
            return zone;
        }
        // The active zones take turns by the address; one with room, if there is any.
        let count = self.active.len();
        let turn = |step: usize| self.active[(zone + step) % count] as usize;
        let has_room = |zone: &usize| self.zones[*zone].appended + command.length.0 <= self.capacity;
        (0..count).map(turn).find(has_room).or_else(|| (count > 0).then(|| turn(0))).unwrap_or(zone)
    }

    fn write(&mut self, zone: usize, (command, origin): (HostCommand, LogOrigin), at: SimTime, drive: &mut Drive) {
        let state = &mut self.zones[zone];
        // A zone that is to be reset is counted at once, so that no more are than can be active.
        if !std::mem::replace(&mut state.is_active, true) {
            self.active.push(zone as u32);
        }
        let fits = state.appended + command.length.0 <= self.capacity || command.length.0 > self.capacity || state.is_lost;
        if fits && self.held[zone].is_empty() && !state.is_resetting {
            return self.append(zone, (command, origin), at, drive);
        }
        self.held[zone].push_back((command, origin));
        self.go_on(zone, drive);
    }

    fn append(&mut self, zone: usize, (command, origin): (HostCommand, LogOrigin), at: SimTime, drive: &mut Drive) {
        let state = &mut self.zones[zone];
        state.appended += command.length.0;
        state.in_flight += 1;
        let offset = Bytes(zone as u64 * self.size);
        drive.submit_of(HostCommand { op: Op::Append, offset, ..command }, origin, at);
    }

    /// Submits the writes of a zone that were held back, or the reset for which they wait.
    fn go_on(&mut self, zone: usize, drive: &mut Drive) {
        while let Some(&(command, origin)) = self.held[zone].front() {
            let state = &mut self.zones[zone];
            if state.is_resetting {
                return;
            }
            if state.appended + command.length.0 > self.capacity && !state.is_lost {
                if state.in_flight == 0 {
                    state.is_resetting = true;
                    let flags = CommandFlags::zone(ZoneAction::Reset, false).measured_like(command.flags);
                    let offset = Bytes(zone as u64 * self.size);
                    let reset = HostCommand { op: Op::Zone, flags, offset, length: Bytes(0), ..command };
                    drive.submit_of(reset, LogOrigin::default(), drive.now());
                }
                return;
            }
            self.held[zone].pop_front();
            self.append(zone, (command, origin), drive.now(), drive);
        }
    }

    /// Handles a completion. Returns true if it is that of a request of the workload.
    pub fn completion_seen(&mut self, completion: &Completion, drive: &mut Drive) -> bool {
        let zone = (completion.offset.0 / self.size) as usize;
        match completion.op {
            Op::Zone => {
                let is_lost = completion.status != Status::Success;
                self.zones[zone] = Shadow { is_lost, is_active: true, ..Shadow::default() };
                self.go_on(zone, drive);
                false
            }
            Op::Append => {
                let state = &mut self.zones[zone];
                state.in_flight -= 1;
                state.is_lost |= matches!(completion.status, Status::ZoneReadOnly | Status::ZoneOffline);
                let is_done = state.appended >= self.capacity || state.is_lost;
                if is_done && state.in_flight == 0 && self.held[zone].is_empty() {
                    state.is_active = false;
                    self.active.retain(|&active| active as usize != zone);
                }
                self.go_on(zone, drive);
                true
            }
            _ => true,
        }
    }

    /// Returns a read of data that is written, if there is any in the zone.
    fn readable(&self, command: HostCommand) -> HostCommand {
        let (zone, offset, length) = (command.offset.0 / self.size, command.offset.0 % self.size, command.length.0);
        let written = self.zones[zone as usize].appended.min(self.capacity);
        if offset + length <= written || length > written {
            return command;
        }
        let offset = offset % (written - length + UNIT_BYTES) / UNIT_BYTES * UNIT_BYTES;
        HostCommand { offset: Bytes(zone * self.size + offset), ..command }
    }
}
