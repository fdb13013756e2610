//! An independent checker of commands, by the rules of the standards. It shares the times of the grade with the
//! scheduler, and nothing else: it looks back over a log, and computes when data is on the bus.

use super::channel::{Command, Kind};
use super::timing::{Generation, Timing};

/// A rule that a command breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub rule: &'static str,
    pub command: Command,
}

/// The past of a bank. Cycles are signed, and those of events that did not happen are long ago.
#[derive(Clone, Copy, Debug)]
struct BankPast {
    open: Option<u32>,
    activate: i64,
    read: i64,
    write: i64,
    /// End of tRP after the last precharge.
    precharged: i64,
    refresh: i64,
    refresh_bank: i64,
}

const LONG_AGO: i64 = -1_000_000;

/// A column command with its data.
#[derive(Clone, Copy, Debug)]
struct Column {
    cycle: i64,
    rank: usize,
    group: usize,
    is_read: bool,
    data: [i64; 2],
}

struct Checker<'a> {
    timing: &'a Timing,
    banks: Vec<Vec<BankPast>>,
    /// Activates and refreshes of a bank, by rank: cycle and group.
    activates: Vec<Vec<(i64, usize)>>,
    columns: Vec<Column>,
    found: Vec<Violation>,
}

/// Returns the rules that the commands of a log break, in the order of the commands.
pub(super) fn violations(timing: &Timing, ranks: usize, log: &[Command]) -> Vec<Violation> {
    let past = BankPast {
        open: None,
        activate: LONG_AGO,
        read: LONG_AGO,
        write: LONG_AGO,
        precharged: LONG_AGO,
        refresh: LONG_AGO,
        refresh_bank: LONG_AGO,
    };
    let mut checker = Checker {
        timing,
        banks: vec![vec![past; timing.banks as usize]; ranks],
        activates: vec![Vec::new(); ranks],
        columns: Vec::new(),
        found: Vec::new(),
    };
    let mut sorted = log.to_vec();
    sorted.sort_by_key(|command| command.cycle);
    for (index, command) in sorted.iter().enumerate() {
        if index > 0 && sorted[index - 1].cycle == command.cycle {
            checker.found.push(Violation { rule: "command bus", command: *command });
        }
        checker.see(command);
    }
    checker.found
}

impl Checker<'_> {
    fn see(&mut self, command: &Command) {
        match command.kind {
            Kind::Activate => self.see_activate(command),
            Kind::Read | Kind::ReadClose => self.see_column(command, true),
            Kind::Write | Kind::WriteClose => self.see_column(command, false),
            Kind::Precharge => self.see_precharge(command, command.bank, self.timing.rp),
            Kind::PrechargeAll => {
                for bank in 0..self.timing.banks as usize {
                    if self.banks[command.rank][bank].open.is_some() {
                        self.see_precharge(command, bank, self.timing.rp_all);
                    }
                }
            }
            Kind::Refresh => {
                for bank in 0..self.timing.banks as usize {
                    self.expect_idle(command, bank);
                    self.banks[command.rank][bank].refresh = command.cycle as i64;
                }
            }
            Kind::RefreshBank => {
                self.expect_idle(command, command.bank);
                self.expect_activate(command);
                let last = self.banks[command.rank].iter().map(|bank| bank.refresh_bank).max().unwrap_or(LONG_AGO);
                self.after(command, last, self.timing.rfc_bank, "tRFCpb");
                self.banks[command.rank][command.bank].refresh_bank = command.cycle as i64;
            }
        }
    }

    /// Notes a violation unless the command is at least `least` cycles after `since`.
    fn after(&mut self, command: &Command, since: i64, least: u64, rule: &'static str) {
        self.expect(command, command.cycle as i64 >= since + least as i64, rule);
    }

    fn expect(&mut self, command: &Command, holds: bool, rule: &'static str) {
        if !holds {
            self.found.push(Violation { rule, command: *command });
        }
    }

    /// A bank that is closed, precharged and refreshed.
    fn expect_idle(&mut self, command: &Command, bank: usize) {
        let past = self.banks[command.rank][bank];
        self.expect(command, past.open.is_none(), "bank is open");
        self.after(command, past.precharged, 0, "tRP");
        self.after(command, past.activate, self.timing.rc, "tRC");
        self.after(command, past.refresh, self.timing.rfc, "tRFC");
        self.after(command, past.refresh_bank, self.timing.rfc_bank, "tRFCpb");
    }

    /// The rules between activates of a rank, as which refreshes of a bank count.
    fn expect_activate(&mut self, command: &Command) {
        let group = command.bank % self.timing.groups as usize;
        let past = self.activates[command.rank].clone();
        for &(cycle, other) in past.iter().rev().take(8) {
            self.after(command, cycle, self.timing.rrd_s, "tRRD_S");
            if other == group {
                self.after(command, cycle, self.timing.rrd_l, "tRRD_L");
            }
        }
        if past.len() >= 4 {
            self.after(command, past[past.len() - 4].0, self.timing.faw, "tFAW");
        }
        self.activates[command.rank].push((command.cycle as i64, group));
    }

    fn see_activate(&mut self, command: &Command) {
        self.expect_idle(command, command.bank);
        self.expect_activate(command);
        let past = &mut self.banks[command.rank][command.bank];
        past.open = Some(command.row);
        past.activate = command.cycle as i64;
    }

    /// Returns the cycles from a read to the precharge of its bank.
    fn read_recovery(&self) -> u64 {
        let timing = self.timing;
        match timing.generation {
            Generation::Sdr => timing.burst_length,
            Generation::Ddr => timing.burst_length / 2,
            // JESD79-2: AL + BL/2 + max(tRTP, 2) - 2.
            Generation::Ddr2 => timing.burst_length / 2 + timing.rtp.max(2) - 2,
            Generation::Ddr3 | Generation::Ddr4 => timing.rtp,
            // JESD209-4: BL/2 + max(8, tRTP) - 8.
            Generation::Lpddr4 => timing.burst_length / 2 + timing.rtp.max(8) - 8,
        }
    }

    /// Returns the cycle from which write recovery and tWTR count, after a write.
    fn write_end(&self) -> u64 {
        let timing = self.timing;
        match timing.generation {
            Generation::Sdr => timing.burst_length,
            Generation::Lpddr4 => timing.cwl + 1 + timing.burst_length / 2,
            _ => timing.cwl + timing.burst_length / 2,
        }
    }

    fn write_recovery(&self) -> u64 {
        // SDRAM: tWR counts from the cycle of the last data.
        self.write_end() + self.timing.wr - u64::from(self.timing.generation == Generation::Sdr)
    }

    fn see_precharge(&mut self, command: &Command, bank: usize, rp: u64) {
        let past = self.banks[command.rank][bank];
        self.expect(command, past.open.is_some(), "bank is closed");
        self.after(command, past.activate, self.timing.ras, "tRAS");
        self.after(command, past.read, self.read_recovery(), "tRTP");
        self.after(command, past.write, self.write_recovery(), "tWR");
        let past = &mut self.banks[command.rank][bank];
        past.open = None;
        past.precharged = (command.cycle + rp) as i64;
    }

    fn see_column(&mut self, command: &Command, is_read: bool) {
        let past = self.banks[command.rank][command.bank];
        self.expect(command, past.open == Some(command.row), "row is not open");
        self.after(command, past.activate, self.timing.rcd, "tRCD");
        let cycle = command.cycle as i64;
        let latency = if is_read { self.timing.cl } else { self.timing.cwl };
        let per_cycle = if self.timing.generation == Generation::Sdr { 1 } else { 2 };
        let starts = cycle + latency as i64;
        let data = [starts, starts + (self.timing.burst_length / per_cycle) as i64];
        let group = command.bank % self.timing.groups as usize;
        let column = Column { cycle, rank: command.rank, group, is_read, data };
        let before: Vec<Column> = self.columns.iter().rev().take(16).copied().collect();
        for earlier in before {
            self.expect_columns(command, &earlier, &column);
        }
        self.columns.push(column);
        let (read_recovery, write_recovery) = (self.read_recovery() as i64, self.write_recovery() as i64);
        let timing = *self.timing;
        let past = &mut self.banks[command.rank][command.bank];
        if is_read {
            past.read = cycle
        } else {
            past.write = cycle
        }
        if matches!(command.kind, Kind::ReadClose | Kind::WriteClose) {
            let recovered = (past.read + read_recovery).max(past.write + write_recovery);
            past.open = None;
            past.precharged = recovered.max(past.activate + timing.ras as i64) + timing.rp as i64;
        }
    }

    /// The rules between two column commands.
    fn expect_columns(&mut self, command: &Command, earlier: &Column, later: &Column) {
        let timing = *self.timing;
        let same_rank = earlier.rank == later.rank;
        let same_group = same_rank && earlier.group == later.group;
        if same_rank {
            self.after(command, earlier.cycle, timing.ccd_s, "tCCD_S");
        }
        if same_group {
            self.after(command, earlier.cycle, timing.ccd_l, "tCCD_L");
        }
        if same_rank && !earlier.is_read && later.is_read {
            let end = earlier.cycle + self.write_end() as i64;
            self.after(command, end, timing.wtr_s, "tWTR_S");
            if same_group {
                self.after(command, end, timing.wtr_l, "tWTR_L");
            }
        }
        let (gap, rule) = match (same_rank, earlier.is_read, later.is_read) {
            (false, _, _) => (timing.rtrs, "tRTRS"),
            (true, true, false) => (timing.turnaround, "turnaround"),
            (true, _, _) => (0, "data bus"),
        };
        self.expect(command, later.data[0] >= earlier.data[1] + gap as i64, rule);
    }
}
