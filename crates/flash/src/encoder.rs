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
    use crate::modes::{EncoderConfig, WriteModeConfig};
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

    /// Returns three encoders, the first without a throughput, and four write modes: one for each encoder, and the last
    /// without a code. A unit takes 2 ns in the second encoder, and 2.5 ns in the third.
    fn three_encoders() -> Encoders {
        let mut config = example();
        let encoder =
            |code: &str, throughput: Option<u64>| EncoderConfig { code: code.to_owned(), throughput: throughput.map(Rate) };
        let (per_second, unit) = (1_000_000_000, kit::UNIT_BYTES);
        config.encoders = vec![
            encoder("none", None),
            encoder("fast", Some(unit * per_second / 2)),
            encoder("slow", Some(unit * per_second * 2 / 5)),
        ];
        let mode = |code: Option<&str>| WriteModeConfig { code: code.map(str::to_owned), ..WriteModeConfig::named("a mode") };
        config.write_modes = vec![mode(Some("fast")), mode(Some("slow")), mode(Some("none")), mode(None)];
        Encoders::new(&config, 2)
    }

    /// Every sequence of four requests, against queues that are worked off nanosecond by nanosecond: an encoder works
    /// while data waits for it, takes it in order of arrival, and does not delay the other encoders. The time of
    /// several units is rounded up once.
    #[test]
    fn every_short_sequence_is_encoded_in_order() {
        // Time since the request before, mode, units, and time in the encoder.
        let requests: Vec<(u64, u8, u32, u64)> = [0, 1, 6]
            .into_iter()
            .flat_map(|gap| [(gap, 0, 1, 2), (gap, 1, 1, 3), (gap, 1, 2, 5), (gap, 2, 2, 0), (gap, 3, 1, 0)])
            .collect();
        for sequence in 0..requests.len().pow(4) {
            let sequence: Vec<_> = (0..4).map(|step| requests[sequence / requests.len().pow(step) % requests.len()]).collect();
            let (mut encoders, mut now) = (three_encoders(), 0);
            // Outstanding and completed work of each encoder [ns].
            let (mut left, mut done) = ([0u64; 3], [0u64; 3]);
            for &(gap, mode, units, time) in &sequence {
                for _ in 0..gap {
                    for (left, done) in left.iter_mut().zip(&mut done).filter(|(left, _)| **left > 0) {
                        (*left, *done) = (*left - 1, *done + 1);
                    }
                    now += 1;
                    assert_eq!(encoders.busy(SimTime(now)), done, "{sequence:?} at {now}");
                }
                let accepted = encoders.accept(ModeId(mode), units, SimTime(now));
                let expected = (time > 0).then(|| {
                    let left = &mut left[usize::from(mode) + 1];
                    *left += time;
                    SimTime(now + *left)
                });
                assert_eq!(accepted, expected, "{sequence:?} at {now}");
            }
        }
    }
}
