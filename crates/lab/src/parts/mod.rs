//! The parts by name: one file for each source work, one line here for each part.

mod dpes_mlc;
mod laws;
mod ofwar;
mod rr_mlc;
mod rram;

use crate::part::Part;
use kit::Problem;

type Maker = fn() -> Part;

/// Name and constructor of every part.
const PARTS: [(&str, Maker); 14] = [
    ("ofwar-mlc", ofwar::mlc),
    ("rr-mlc", rr_mlc::part),
    ("dpes-mlc", dpes_mlc::part),
    ("mlc-2y", laws::mlc_2y),
    ("tlc-72l", laws::tlc_72l),
    ("thesis-a-mlc", laws::thesis_a),
    ("thesis-b-mlc", laws::thesis_b),
    ("thesis-c-mlc", laws::thesis_c),
    ("thesis-d-tlc", laws::thesis_d),
    ("rram", rram::part),
    ("rr-mlc-ldpc", rr_mlc::needs_ldpc),
    ("volt-slc", ofwar::slc),
    ("volt-tlc", ofwar::tlc),
    ("volt-qlc", ofwar::qlc),
];

/// Returns the names of all parts.
pub fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|(name, _)| *name)
}

/// Returns the part called `name`.
///
/// # Errors
/// An error at `place` if there is no such part.
pub fn find(place: &str, name: &str) -> Result<Part, Problem> {
    let known = PARTS.iter().find(|(known, _)| *known == name);
    known.map(|(_, make)| make()).ok_or_else(|| Problem::unknown(place, "cell", name, names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Standing;
    use cell::Condition;
    use kit::Nanos;

    /// Contract of a part: its code corrects fresh data on a fresh block, it returns error rates for any condition, and
    /// it gives the sources of its parameters.
    #[test]
    fn every_part_answers_and_states_its_sources() {
        for name in names() {
            let part = find("cell", name).expect("listed");
            assert_eq!(part.name, name);
            assert!(!part.summary.is_empty() && part.parameters.len() >= 3, "{name}");
            assert!(part.parameters.iter().all(|each| !each.source.is_empty() && !each.meaning.is_empty()), "{name}");
            assert!(part.parameters.iter().any(|each| each.standing != Standing::Assumed), "{name}: nothing but assumptions");
            let limit = part.limit(0);
            assert!(limit > 1e-6 && limit < 0.1, "{name}: {limit}");
            let fresh = Condition { step: part.device.nominal_step, ..Condition::default() };
            assert!(part.device.estimate(&fresh).worst() < limit, "{name}: fresh data is not correctable");
            for pe_cycles in [0.0, 1.0, 1e5, 1e9] {
                for age in [Nanos(0), Nanos(1), Nanos(u64::MAX)] {
                    for reads in [0.0, 1e9] {
                        let estimate = part.device.estimate(&Condition { pe_cycles, age, reads, ..fresh });
                        let numbers = estimate.pages.iter().all(|rate| (0.0..=0.5 + 1e-9).contains(rate));
                        assert!(numbers && estimate.pages.len() == part.device.technology.page_types(), "{name} {estimate:?}");
                    }
                }
            }
        }
        // Our own parts keep data for a year at their rated wear; the others as long as their sources say.
        for name in ["ofwar-mlc", "volt-slc", "volt-tlc", "volt-qlc", "rr-mlc", "dpes-mlc", "rram"] {
            let part = find("cell", name).expect("listed");
            let worn = Condition {
                step: part.device.nominal_step,
                pe_cycles: f64::from(part.device.rated_pe_cycles),
                age: Nanos::YEAR,
                ..Condition::default()
            };
            let rate = part.device.estimate(&worn).worst();
            assert!(rate <= part.limit(0) * 1.001, "{name}: {rate:e} for {:e}", part.limit(0));
        }
        let unknown = find("--cell", "ofwar-mcl").expect_err("misspelt");
        assert_eq!(unknown.nearest.as_deref(), Some("ofwar-mlc"));
    }
}
