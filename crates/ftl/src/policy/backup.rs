//! Volatile state that a policy can save when power fails.

use super::Facts;
use kit::Nanos;

/// Outcome of a power failure for a policy's volatile state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// Entries that the policy held.
    pub held: u64,
    /// Entries that were programmed in time; the remaining ones are lost.
    pub saved: u64,
    /// Time that programming them took.
    pub took: Nanos,
}

impl Backup {
    /// Computes how many of `held` entries of `entry_bytes` bytes are programmed within `time`. The dies program in
    /// rounds, in each of which every die programs one program unit in the `normal` mode. Transfers are assumed to be
    /// hidden behind the programs \[A\].
    pub fn within(time: Nanos, held: u64, entry_bytes: u64, facts: &Facts) -> Backup {
        let entries_per_program = u64::from(facts.units_per_program) * facts.unit_bytes / entry_bytes;
        let round = (entries_per_program * u64::from(facts.die_count)).max(1);
        let rounds = held.div_ceil(round).min(time.0 / facts.program_time.0.max(1));
        Backup { held, saved: held.min(rounds * round), took: Nanos(rounds * facts.program_time.0) }
    }

    /// Adds up two backups that are made one after the other.
    pub fn and(self, other: Backup) -> Backup {
        Backup { held: self.held + other.held, saved: self.saved + other.saved, took: self.took + other.took }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four dies program 4 KiB in 600 us each: 1024 entries of 16 bytes in a round.
    #[test]
    fn a_round_of_programs_either_fits_or_does_not() {
        let facts = Facts::example();
        let within = |time_us: u64, held: u64| {
            let backup = Backup::within(Nanos(time_us * 1000), held, 16, &facts);
            assert_eq!(backup.held, held);
            (backup.saved, backup.took.0 / 1000)
        };
        assert_eq!(within(599, 2000), (0, 0), "not even one program");
        assert_eq!(within(600, 2000), (1024, 600));
        assert_eq!(within(1199, 2000), (1024, 600));
        assert_eq!(within(1200, 2000), (2000, 1200));
        assert_eq!(within(1_000_000, 2000), (2000, 1200), "no longer than it takes");
        assert_eq!(within(1_000_000, 0), (0, 0));
        assert_eq!(within(0, 1), (0, 0));
    }
}
