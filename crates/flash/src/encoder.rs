//! The encoders of the controller, which data passes before it is programmed.
//!
//! An encoder serves one request at a time, in order of arrival. A request is the data of a program, whose die may only
//! serve reads meanwhile, or units gathered by a collection, whose die is free meanwhile. Only data takes time, not the
//! padding of a program. A code without a stated throughput is encoded at once.

use crate::config::FlashConfig;
use kit::{Bytes, ModeId, Nanos, SimTime, UNIT_BYTES};

/// One encoder.
#[derive(Clone, Debug, Default)]
struct Encoder {
    /// Encoding time, indexed by the number of mapping units.
    times: Vec<Nanos>,
    free_at: SimTime,
    busy: Nanos,
}

/// All encoders of a drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoders {
    all: Vec<Encoder>,
    /// Index of each write mode's encoder; `None` if its encoding takes no time.
    of_mode: Vec<Option<u8>>,
}

impl Encoders {
    /// Returns the encoders of a validated description. `most_units` is the largest number of mapping units that one
    /// program writes.
    pub fn new(config: &FlashConfig, most_units: u32) -> Encoders {
        let encoder = |rate: kit::Rate| Encoder {
            times: (0..=u64::from(most_units)).map(|units| rate.time_for(Bytes(units * UNIT_BYTES))).collect(),
            ..Encoder::default()
        };
        let all = config.encoders.iter().map(|one| one.throughput.map_or_else(Encoder::default, encoder)).collect();
        let of = |code: &String| config.encoders.iter().position(|one| one.code == *code && one.throughput.is_some());
        let of_mode = config.write_modes.iter().map(|mode| mode.code.as_ref().and_then(of).map(|at| at as u8)).collect();
        Encoders { all, of_mode }
    }

    /// Accepts units of data to be written in a mode. Returns the instant at which they are encoded; `None` if that
    /// takes no time.
    pub fn accept(&mut self, mode: ModeId, units: u32, now: SimTime) -> Option<SimTime> {
        let encoder = &mut self.all[usize::from(self.of_mode[mode.index()]?)];
        let time = encoder.times[units as usize];
        encoder.free_at = encoder.free_at.max(now) + time;
        encoder.busy += time;
        Some(encoder.free_at)
    }

    /// Returns the time \[ns\] that each encoder has been busy until `now`: the time of all it has accepted, less what
    /// remains to be done.
    pub fn busy(&self, now: SimTime) -> Vec<u64> {
        self.all.iter().map(|one| one.busy.0 - one.free_at.0.saturating_sub(now.0).min(one.busy.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::example;
    use crate::modes::EncoderConfig;
    use kit::Rate;

    fn encoders() -> Encoders {
        let mut config = example();
        config.encoders = vec![
            EncoderConfig { code: "bch".to_owned(), throughput: None },
            EncoderConfig { code: "ldpc".to_owned(), throughput: Some(Rate(20_000_000)) },
        ];
        config.write_modes[0].code = Some("ldpc".to_owned());
        config.write_modes[1].code = Some("bch".to_owned());
        Encoders::new(&config, 4)
    }

    #[test]
    fn programs_pass_one_after_another() {
        let mut encoders = encoders();
        // 8 KiB at 20 MB/s take 409.6 us.
        assert_eq!(encoders.accept(ModeId(0), 2, SimTime(1_000)), Some(SimTime(410_600)));
        assert_eq!(encoders.accept(ModeId(0), 1, SimTime(2_000)), Some(SimTime(615_400)));
        assert_eq!(encoders.accept(ModeId(0), 1, SimTime(900_000)), Some(SimTime(1_104_800)));
        assert_eq!(encoders.busy(SimTime(1_000_000)), [0, 409_600 + 204_800 + 100_000]);
    }

    #[test]
    fn a_code_without_a_throughput_takes_no_time() {
        assert_eq!(encoders().accept(ModeId(1), 2, SimTime(1_000)), None);
    }
}
