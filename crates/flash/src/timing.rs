//! The times of a flash operation's phases on the channel and in the array.
//!
//! An operation consists of a command phase, an array phase and a data phase. The phases on the channel are sums of the
//! ONFI cycles: command and address cycles at tWC (or tCAD), chip select, and the gaps tADL, tWB, tRR, tCCS. They are
//! summed once, at set-up. The sums follow FACTS 5.5 (the NV-DDR2 set of MQSim's channel, found):
//!
//! - read command: tCS + 6 tWC + tWB + tRR
//! - program command: tCS + 6 tWC + tADL + tWPST + tWPSTH + tWB
//! - erase command: tCS + 4 tWC + tWB
//!
//! A retry is preceded by SET FEATURES, which sets the read levels: tCS + 2 tWC + tADL + 4 tWC + tWB (ONFI: command,
//! address and four bytes of data). Each of the two sensings of a soft level (SD, NASD) has a read command of its own;
//! both are sent in one phase.
//!
//! The channel is held through tWB and tRR as well. Known error: the preamble of a data burst (tRPRE + tDQSRE, 30 ns)
//! is assumed to pass within tRR and is not added.

use crate::config::FlashConfig;
use crate::interface::Phases;
use ecc::Attempt;
use kit::{Bytes, ModeId, Nanos, Operation, OperationKind, UNIT_BYTES, UnitSize};

/// All durations of operations, computed once.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Channel phases of a read, by read mode. One for each number that a mode can have, so that no bound is checked.
    read_phases: Box<[ReadPhases; 256]>,
    program_command: Nanos,
    erase_command: Nanos,
    copyback_command: Nanos,
    suspend_command: Nanos,
    next_plane_command: Nanos,
    next_plane_data: Nanos,
    /// Grains of a mapping unit: 4 KiB, or the unit if that is smaller.
    grains: usize,
    /// Transfer time of `n` grains, each sum rounded up once.
    transfer: Vec<Nanos>,
    /// Time of one data phase of `n` grains of a read, by read mode, which may transfer the data more than once.
    read_transfer: ByMode,
    /// Sensing time by read mode and page type.
    read: ByMode,
    /// Sensing time of a copyback by page type.
    copyback_sense: Vec<Nanos>,
    /// Program time by write mode and page type.
    program: ByMode,
    erase: Vec<Nanos>,
    lazy_erase: Nanos,
}

/// Times by mode and a second index, in one piece.
#[derive(Clone, Debug)]
struct ByMode {
    /// Number of times of a mode.
    width: usize,
    times: Vec<Nanos>,
}

impl ByMode {
    /// Returns the table of `time(mode, index)` for each of the modes and `width` indices.
    fn of<M>(modes: &[M], width: usize, time: impl Fn(&M, usize) -> Nanos) -> ByMode {
        let times = modes.iter().flat_map(|mode| (0..width).map(|index| time(mode, index)).collect::<Vec<_>>()).collect();
        ByMode { width, times }
    }

    #[inline]
    fn get(&self, mode: ModeId, index: usize) -> Nanos {
        debug_assert!(index < self.width, "{index} is not below {}", self.width);
        self.times[mode.index() * self.width + index]
    }
}

fn scaled(time: Nanos, scale: f64) -> Nanos {
    Nanos((time.0 as f64 * scale).round().max(1.0) as u64)
}

/// Channel phases of a read in one mode.
#[derive(Clone, Copy, Debug, Default)]
struct ReadPhases {
    /// Time of the command.
    command: Nanos,
    /// Number of data phases.
    data: u8,
}

/// Durations of a read in one mode.
struct ReadTimes {
    /// Sensing time as a multiple of tR, and the time in the die that does not depend on the page type.
    scale: f64,
    in_die: Nanos,
    /// Number of sensings, each of which takes tR times `scale`, or `sense_time`, and of their commands.
    senses: u32,
    commands: u32,
    sense_time: Option<Nanos>,
    /// Transfers in each of the data phases, and their number.
    transfers: u32,
    data_phases: u32,
    /// True if a command that sets the read levels precedes the read.
    sets_levels: bool,
}

impl ReadTimes {
    /// Returns the durations in the modes of the table (one, `normal`, if it is empty), then those of each attempt that
    /// repeats a read in each of the modes. The first attempt is the read itself; one that senses with several
    /// references has their time, not that of the mode.
    fn of_all(config: &FlashConfig, attempts: &[Attempt]) -> Vec<ReadTimes> {
        let modes: Vec<(f64, u32)> = match &config.read_modes[..] {
            [] => vec![(1.0, 1)],
            modes => modes.iter().map(|mode| (mode.sense_scale, mode.transfers)).collect(),
        };
        let plain = |&(scale, transfers): &(f64, u32)| ReadTimes {
            scale,
            in_die: Nanos::ZERO,
            senses: 1,
            commands: 1,
            sense_time: None,
            transfers,
            data_phases: 1,
            sets_levels: false,
        };
        let repeated = |attempt: &Attempt, &(scale, transfers): &(f64, u32)| ReadTimes {
            scale: scale * attempt.sense_scale,
            in_die: attempt.extra_time,
            senses: attempt.senses,
            commands: attempt.commands,
            sense_time: attempt.sense_time,
            // A step of read retry reads as its mode does. Further sensings have transfers of their own.
            transfers: if attempt.sets_levels { transfers } else { attempt.transfers / attempt.data_phases },
            data_phases: attempt.data_phases,
            sets_levels: attempt.sets_levels,
        };
        let first = attempts.first().filter(|attempt| attempt.senses > 1);
        let read = |mode| first.map_or_else(|| plain(mode), |attempt| repeated(attempt, mode));
        let further = attempts.iter().skip(1).flat_map(|attempt| modes.iter().map(move |mode| repeated(attempt, mode)));
        modes.iter().map(read).chain(further).collect()
    }

    fn in_array(&self, read_time: Nanos) -> Nanos {
        let once = self.sense_time.unwrap_or_else(|| scaled(read_time, self.scale));
        self.in_die + once * u64::from(self.senses)
    }
}

/// Returns the channel phases of each read mode.
fn read_phases(reads: &[ReadTimes], p: &Phases) -> Box<[ReadPhases; 256]> {
    let cycles = |count: u64| p.t_cycle * count;
    let command = p.t_cs + cycles(6) + p.t_wb + p.t_rr;
    let set_features = p.t_cs + cycles(2) + p.t_adl + cycles(4) + p.t_wb;
    let mut phases = Box::new([ReadPhases::default(); 256]);
    for (phases, read) in phases.iter_mut().zip(reads) {
        phases.command = command * u64::from(read.commands) + if read.sets_levels { set_features } else { Nanos::ZERO };
        phases.data = read.data_phases as u8;
    }
    phases
}

impl Timing {
    /// Returns the times of a validated description. `max_units` is the largest number of mapping units, of size
    /// `unit`, that one operation transfers.
    pub fn new(config: &FlashConfig, unit: UnitSize, max_units: u32) -> Timing {
        Timing::with_attempts(config, &[], unit, max_units)
    }

    /// Returns the times like [`Timing::new`], with those of the attempts of a plan. Attempt `a` of a read in mode `m`
    /// of `n` modes has the read mode `a n + m`.
    pub fn with_attempts(config: &FlashConfig, attempts: &[Attempt], unit: UnitSize, max_units: u32) -> Timing {
        let p = config.phases.unwrap_or_else(|| Phases::of(config.interface));
        let cycles = |count: u64| p.t_cycle * count;
        let page_types = config.cell.bits() as usize;
        let grain = UnitSize::of(unit.bytes().min(UNIT_BYTES));
        let grains = grain.whole(unit.bytes()) as usize;
        let grain_counts = max_units as usize * grains + 1;
        let erase_scales =
            if config.erase_modes.is_empty() { vec![1.0] } else { config.erase_modes.iter().map(|m| m.erase_scale).collect() };
        let reads = ReadTimes::of_all(config, attempts);
        let transfer =
            |count: usize, times: u32| config.transfer_rate.time_for(Bytes(grain.offset(count as u64) * u64::from(times)));
        Timing {
            read_phases: read_phases(&reads, &p),
            program_command: p.t_cs + cycles(6) + p.t_adl + p.t_wpst + p.t_wb,
            erase_command: p.t_cs + cycles(4) + p.t_wb,
            copyback_command: p.t_cs + p.t_cs + cycles(12) + p.t_wb + p.t_wb,
            suspend_command: p.t_cs + cycles(3),
            next_plane_command: p.t_dbsy + cycles(6),
            next_plane_data: p.t_ccs,
            grains,
            transfer: (0..grain_counts).map(|count| transfer(count, 1)).collect(),
            read_transfer: ByMode::of(&reads, grain_counts, |read, count| transfer(count, read.transfers)),
            copyback_sense: (0..page_types)
                .map(|t| {
                    let scale = config.read_modes.first().map_or(1.0, |mode| mode.sense_scale);
                    scaled(config.read_time.of(t as u32), scale)
                })
                .collect(),
            read: ByMode::of(&reads, page_types, |read, t| read.in_array(config.read_time.of(t as u32))),
            program: ByMode::of(&config.write_modes, page_types, |mode, t| {
                scaled(config.program_time.of(t as u32), mode.program_scale)
            }),
            erase: erase_scales.iter().map(|scale| scaled(config.erase_time, *scale)).collect(),
            lazy_erase: config.lazy_erase_time.unwrap_or(Nanos(config.erase_time.0 / 5)).max(Nanos(1)),
        }
    }

    /// Returns the time of the command phase on the channel. An operation on several pages or blocks adds tDBSY and six
    /// cycles for each further one.
    #[inline]
    pub fn command(&self, operation: &Operation) -> Nanos {
        let (first, further) = match operation.kind {
            OperationKind::Read => (self.read_phases[operation.mode.index()].command, operation.pages - 1),
            OperationKind::Program => (self.program_command, operation.pages - 1),
            OperationKind::Erase | OperationKind::LazyErase => (self.erase_command, operation.pages - 1),
            OperationKind::Copyback => (self.copyback_command, 0),
        };
        if further == 0 { first } else { first + self.next_plane_command * u64::from(further) }
    }

    /// Returns the time of the data phase on the channel: out for a read (with tCCS for each further page), in for a
    /// program.
    // Always inline: a call costs every operation about twenty instructions.
    #[inline(always)]
    pub fn data(&self, operation: &Operation) -> Nanos {
        let grains = self.grains_of(operation);
        match operation.kind {
            OperationKind::Read if operation.pages > 1 => {
                self.read_transfer.get(operation.mode, grains) + self.next_plane_data * u64::from(operation.pages - 1)
            }
            OperationKind::Read => self.read_transfer.get(operation.mode, grains),
            OperationKind::Program => self.transfer[grains],
            OperationKind::Erase | OperationKind::LazyErase | OperationKind::Copyback => Nanos::ZERO,
        }
    }

    /// Returns the number of data phases of a read in a mode.
    #[inline]
    pub fn data_phases(&self, mode: ModeId) -> u8 {
        self.read_phases[mode.index()].data
    }

    /// Returns the time in which the data of a read crosses the channel once, at the end of its last data phase.
    #[inline]
    pub fn last_transfer(&self, read: &Operation) -> Nanos {
        self.transfer[self.grains_of(read)]
    }

    /// Returns the data that an operation moves over the channel, in grains.
    #[inline(always)]
    fn grains_of(&self, operation: &Operation) -> usize {
        operation.units as usize * self.grains - usize::from(operation.skipped)
    }

    /// Returns the time in the array: tR, tPROG, tBERS, the lazy erase time, or tR + tPROG for a copyback.
    #[inline]
    pub fn array(&self, operation: &Operation) -> Nanos {
        let page_type = operation.page_type as usize;
        match operation.kind {
            OperationKind::Read => self.read.get(operation.mode, page_type),
            OperationKind::Program => self.program.get(operation.mode, page_type),
            OperationKind::Erase => self.erase[operation.mode.index()],
            OperationKind::LazyErase => self.lazy_erase,
            OperationKind::Copyback => self.copyback_sense(operation.page_type) + self.program.get(operation.mode, page_type),
        }
    }

    /// Returns the time in which a copyback senses its page: that of the first read mode, with one reference, since its
    /// data is not decoded.
    #[inline]
    pub fn copyback_sense(&self, page_type: u32) -> Nanos {
        self.copyback_sense[page_type as usize]
    }

    /// Returns the time of a suspend or resume command on the channel.
    pub fn suspend_command(&self) -> Nanos {
        self.suspend_command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::example;

    #[test]
    fn nv_ddr2_sums_are_those_of_the_data_sheet_set() {
        let timing = Timing::new(&example(), UnitSize::default(), 16);
        let mut op = Operation { kind: OperationKind::Read, units: 1, pages: 1, ..Operation::default() };
        assert_eq!((timing.command(&op), timing.data(&op), timing.array(&op)), (Nanos(290), Nanos(3414), Nanos(50_000)));
        op.kind = OperationKind::Program;
        assert_eq!((timing.command(&op), timing.data(&op), timing.array(&op)), (Nanos(361), Nanos(3414), Nanos(600_000)));
        op.mode = ModeId(1);
        assert_eq!(timing.array(&op), Nanos(300_000));
        op = Operation { kind: OperationKind::Erase, pages: 1, ..Operation::default() };
        assert_eq!((timing.command(&op), timing.data(&op), timing.array(&op)), (Nanos(220), Nanos(0), Nanos(3_000_000)));
        assert_eq!(timing.suspend_command(), Nanos(95));
    }

    #[test]
    fn further_planes_cost_dummy_busy_and_a_column_change() {
        let timing = Timing::new(&example(), UnitSize::default(), 16);
        let op = Operation { kind: OperationKind::Read, units: 2, pages: 2, ..Operation::default() };
        assert_eq!(timing.command(&op), Nanos(290 + 500 + 150));
        assert_eq!(timing.data(&op), Nanos(6827 + 300));
    }

    /// AGCR's N = 3: three references sensed, two transfers.
    #[test]
    fn a_finer_read_senses_and_transfers_more() {
        let mut config = example();
        let mode = |name: &str, sense_scale, transfers| crate::ReadModeConfig {
            name: name.to_owned(),
            sense_scale,
            transfers,
            corrects: None,
            derive: None,
        };
        config.read_modes = vec![mode("three", 3.0, 2), mode("one", 1.0, 1)];
        let timing = Timing::new(&config, UnitSize::default(), 16);
        let mut op = Operation { kind: OperationKind::Read, units: 1, pages: 1, ..Operation::default() };
        assert_eq!((timing.array(&op), timing.data(&op)), (Nanos(150_000), Nanos(6_827)));
        op.kind = OperationKind::Program;
        assert_eq!(timing.data(&op), Nanos(3_414));
    }

    #[test]
    fn a_fast_bus_is_never_free() {
        let mut config = example();
        config.transfer_rate = kit::TransferRate(4_800_000_000);
        let op = Operation { kind: OperationKind::Read, units: 1, pages: 1, ..Operation::default() };
        assert_eq!(Timing::new(&config, UnitSize::default(), 1).data(&op), Nanos(854));
    }

    /// Returns a description in which every time is another prime number, with two modes of each kind and two page
    /// types.
    fn primes() -> FlashConfig {
        let mut config = example();
        let ns = Nanos;
        config.phases = Some(Phases {
            t_cs: ns(2),
            t_cycle: ns(101),
            t_adl: ns(3),
            t_wb: ns(5),
            t_rr: ns(7),
            t_ccs: ns(11),
            t_wpst: ns(13),
            t_dbsy: ns(17),
        });
        config.cell = crate::CellType::Mlc;
        // A unit takes 2.5 ns.
        config.transfer_rate = kit::TransferRate(kit::UNIT_BYTES * 400_000_000);
        config.read_time = crate::PerPageType::Each(vec![ns(10_007), ns(20_011)]);
        config.program_time = crate::PerPageType::Each(vec![ns(50_021), ns(70_001)]);
        config.erase_time = ns(500_009);
        let read = |name: &str, sense_scale, transfers| crate::ReadModeConfig {
            name: name.to_owned(),
            sense_scale,
            transfers,
            corrects: None,
            derive: None,
        };
        config.read_modes = vec![read("one", 1.0, 1), read("three", 3.0, 2)];
        let erase = |name: &str, erase_scale| crate::EraseModeConfig {
            name: name.to_owned(),
            erase_scale,
            wear: crate::PerWear::default(),
            level: 0,
            erase_shift: 0.0,
            derive: None,
        };
        config.erase_modes = vec![erase("normal", 1.0), erase("gentle", 2.0)];
        config
    }

    /// Every kind of operation over pages, units, modes and page types, against the sums at the top of this file.
    #[test]
    fn every_operation_takes_the_sum_of_its_cycles() {
        let timing = Timing::new(&primes(), UnitSize::default(), 6);
        let operations = OperationKind::ALL.into_iter().flat_map(|kind| {
            let sizes = (1..=3).flat_map(|pages| (0..=6).map(move |units| (pages, units)));
            let types = move |(pages, units)| (0..4u8).map(move |choice| (kind, pages, units, choice % 2, u32::from(choice / 2)));
            sizes.flat_map(types)
        });
        for (kind, pages, units, mode, page_type) in operations {
            let op = Operation { kind, pages, units, page_type, mode: ModeId(mode), ..Operation::default() };
            let (pages, units, mode, page_type) = (u64::from(pages), u64::from(units), usize::from(mode), page_type as usize);
            let (sense, program) = ([10_007, 20_011][page_type], [[50_021, 25_011], [70_001, 35_001]][page_type][mode]);
            // Six cycles and tDBSY for each further page; tCCS for each further page of a read's data.
            let further = (pages - 1) * (17 + 6 * 101);
            let bus_times = |transfers: u64| (units * transfers * 5).div_ceil(2);
            let expected = match kind {
                OperationKind::Read => {
                    (2 + 6 * 101 + 5 + 7 + further, bus_times([1, 2][mode]) + (pages - 1) * 11, sense * [1, 3][mode])
                }
                OperationKind::Program => (2 + 6 * 101 + 3 + 13 + 5 + further, bus_times(1), program),
                OperationKind::Erase => (2 + 4 * 101 + 5 + further, 0, 500_009 * [1, 2][mode]),
                OperationKind::LazyErase => (2 + 4 * 101 + 5 + further, 0, 100_001),
                // Two commands of six cycles; the page is sensed in the first read mode.
                OperationKind::Copyback => (2 * (2 + 6 * 101 + 5), 0, sense + program),
            };
            assert_eq!((timing.command(&op).0, timing.data(&op).0, timing.array(&op).0), expected, "{op:?}");
        }
        assert_eq!(timing.suspend_command(), Nanos(2 + 3 * 101));
    }

    /// Every attempt of every plan in two read modes, over units and page types, against the sums at the top of this
    /// file.
    #[test]
    fn every_attempt_takes_the_sum_of_its_cycles() {
        use ecc::Plan;
        use ecc::plan::{ReadRetry, Sensing, Soft};
        let steps = ReadRetry { steps: 3, steps_per_read: 1, step_time: Nanos(31), sense_scale: 2.0, ..ReadRetry::default() };
        let sensing = Sensing { references: vec![1, 3, 7], alpha: Nanos(1009), beta: Nanos(1) };
        let (command, set_features) = (2 + 6 * 101 + 5 + 7, 2 + 2 * 101 + 3 + 4 * 101 + 5);
        // Commands, time in the array at a sensing time, transfers in each data phase, and data phases: by attempt and
        // read mode.
        type Case = (Plan, u64, fn(u64, u64) -> u64, fn(u64, usize) -> u64, u64);
        let pairs = ReadRetry { steps: 4, steps_per_read: 2, ..steps.clone() };
        let cases: [Case; 5] = [
            (Plan::ReadRetry(steps), command + set_features, |sense, _| 31 + 2 * sense, |_, mode| [1, 2][mode], 1),
            (Plan::ReadRetry(pairs), command + set_features, |sense, _| 2 * (31 + 2 * sense), |_, mode| [1, 2][mode], 1),
            (Plan::Soft(Soft { levels: 2 }), 2 * command, |sense, _| 2 * sense, |_, _| 1, 2),
            (Plan::Nasd(Soft { levels: 2 }), 2 * command, |sense, _| 2 * sense, |_, _| 1, 1),
            (Plan::Sensing(sensing), command, |_, attempt| [1, 3, 7][attempt as usize] * 1009, |attempt, _| attempt + 1, 1),
        ];
        for (plan, command, array, transfers, phases) in cases {
            let attempts = plan.attempts();
            let timing = Timing::with_attempts(&primes(), &attempts, UnitSize::default(), 4);
            for (attempt, mode, page_type) in
                (1..attempts.len()).flat_map(|attempt| [(attempt, 0, 0), (attempt, 0, 1), (attempt, 1, 0), (attempt, 1, 1)])
            {
                for units in 0..=4u64 {
                    let kind = ModeId((2 * attempt + mode) as u8);
                    let read = Operation {
                        kind: OperationKind::Read,
                        pages: 1,
                        units: units as u32,
                        mode: kind,
                        ..Operation::default()
                    };
                    let read = Operation { page_type: page_type as u32, ..read };
                    let sense = [10_007, 20_011][page_type] * [1, 3][mode];
                    let data = (units * transfers(attempt as u64, mode) * 5).div_ceil(2);
                    let found = (timing.command(&read).0, timing.array(&read).0, timing.data(&read).0);
                    assert_eq!(found, (command, array(sense, attempt as u64), data), "{plan:?}: {read:?}");
                    assert_eq!(u64::from(timing.data_phases(kind)), phases, "{plan:?}");
                }
            }
            // The first attempt is the read itself.
            let plain = Timing::new(&primes(), UnitSize::default(), 4);
            assert_eq!(attempts[0].senses, 1);
            for mode in [ModeId(0), ModeId(1)] {
                let read = Operation { kind: OperationKind::Read, pages: 2, units: 3, mode, ..Operation::default() };
                let times = |timing: &Timing| (timing.command(&read), timing.array(&read), timing.data(&read));
                assert_eq!(times(&timing), times(&plain), "{plan:?}");
            }
        }
        // With three references, the first read has two transfers and their time in the array, in every mode.
        let finer = Sensing { references: vec![3], alpha: Nanos(1009), beta: Nanos(1) };
        let timing = Timing::with_attempts(&primes(), &Plan::Sensing(finer).attempts(), UnitSize::default(), 4);
        for mode in [ModeId(0), ModeId(1)] {
            let read = Operation { kind: OperationKind::Read, pages: 1, units: 1, mode, ..Operation::default() };
            let found = (timing.command(&read).0, timing.array(&read).0, timing.data(&read).0);
            assert_eq!(found, (command, 3 * 1009, 2 * 5 / 2), "{mode:?}");
        }
        // A copyback senses with one.
        let plain = Timing::new(&primes(), UnitSize::default(), 4);
        for page_type in [0, 1] {
            let copy = Operation { kind: OperationKind::Copyback, pages: 1, units: 4, page_type, ..Operation::default() };
            assert_eq!(timing.array(&copy), plain.array(&copy));
            assert_eq!(timing.copyback_sense(page_type), plain.array(&Operation { kind: OperationKind::Read, ..copy }));
        }
    }
}
