//! The encoders, which data passes before it is programmed.
//!
//! An encoder serves one request at a time, in order of arrival. A request is the data of a program, whose die may only
//! serve reads meanwhile, or units gathered by a collection, whose die is free meanwhile. Only data takes time, not the
//! padding of a program. An encoder without a stated throughput takes no time.

use kit::{Bytes, Nanos, Rate, SimTime, UNIT_BYTES};

/// One encoder.
#[derive(Clone, Debug, Default)]
struct Encoder {
    /// Encoding time, indexed by the number of mapping units; empty if encoding takes no time.
    times: Vec<Nanos>,
    free_at: SimTime,
    busy: Nanos,
}

/// All encoders of a drive.
#[derive(Clone, Debug, Default)]
pub struct Encoders(Vec<Encoder>);

impl Encoders {
    /// Returns encoders with these rates; one without a rate takes no time. `most_units` is the largest number of
    /// mapping units of a request.
    pub fn new(rates: &[Option<Rate>], most_units: u32) -> Encoders {
        let times = |rate: Rate| (0..=u64::from(most_units)).map(|units| rate.time_for(Bytes(units * UNIT_BYTES))).collect();
        Encoders(rates.iter().map(|rate| Encoder { times: rate.map_or_else(Vec::new, times), ..Encoder::default() }).collect())
    }

    /// Accepts units of data for an encoder. Returns the instant at which they are encoded.
    pub fn accept(&mut self, encoder: u8, units: u32, now: SimTime) -> SimTime {
        let encoder = &mut self.0[usize::from(encoder)];
        let time = encoder.times.get(units as usize).copied().unwrap_or(Nanos::ZERO);
        encoder.free_at = encoder.free_at.max(now) + time;
        encoder.busy += time;
        encoder.free_at
    }

    /// Returns the time \[ns\] that each encoder has been busy until `now`: the time of all it has accepted, less what
    /// remains to be done.
    pub fn busy(&self, now: SimTime) -> Vec<u64> {
        self.0.iter().map(|one| one.busy.0 - one.free_at.0.saturating_sub(now.0).min(one.busy.0)).collect()
    }
}
