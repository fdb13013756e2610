//! Error rates fitted to measurements, each with its range of validity.
//!
//! Extrapolation is never silent: outside its range a law still returns an estimate, with a note of each quantity that
//! is outside.

use crate::condition::{Condition, Estimate};

/// Length of a day \[ns\].
const DAY_NS: f64 = 8.64e13;

/// Term `scale * pe_cycles^a * days^b * reads^c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Factor of the term.
    pub scale: f64,
    /// Exponent of the cycles.
    pub pe_cycles: f64,
    /// Exponent of the age in days.
    pub days: f64,
    /// Exponent of the reads.
    pub reads: f64,
}

/// Sum of power-law terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// Name of the law.
    pub name: &'static str,
    /// Bits in a cell.
    pub bits: usize,
    /// Source of the law.
    pub source: &'static str,
    /// Terms to be summed.
    pub terms: Vec<Term>,
    /// Highest error rate for which the law is used: assumed, except for the thesis samples (FACTS 5.4).
    pub most: f64,
    /// True if an error rate above `most` is clamped to `most`.
    pub capped: bool,
    /// Upper bounds of cycles, days and reads (of the block for `mlc-2y`, of the page for `tlc-72l`). Where neither the
    /// source nor FACTS 5.4 gives a bound it is assumed: the cycles of both power laws and the reads of the MLC law.
    pub valid: (f64, f64, f64),
}

/// Builds a term from its factor and exponents, in the order in which the sources write them.
fn term(scale: f64, pe_cycles: f64, days: f64, reads: f64) -> Term {
    Term { scale, pe_cycles, days, reads }
}

impl Term {
    fn at(&self, condition: &Condition) -> f64 {
        // Zero to the power of zero is one, so that a factor the term does not have is left out.
        let power = |base: f64, exponent: f64| if exponent == 0.0 { 1.0 } else { libm::pow(base.max(0.0), exponent) };
        let days = condition.age.0 as f64 / DAY_NS;
        self.scale * power(condition.pe_cycles, self.pe_cycles) * power(days, self.days) * power(condition.reads, self.reads)
    }
}

impl Law {
    /// Returns the error rates of pages, the same for all page types.
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        let rate: f64 = self.terms.iter().map(|term| term.at(condition)).sum();
        let days = condition.age.0 as f64 / DAY_NS;
        let bounds = [
            ("cycles", condition.pe_cycles, self.valid.0),
            ("days", days, self.valid.1),
            ("reads", condition.reads, self.valid.2),
        ];
        let mut outside: Vec<String> = bounds
            .iter()
            .filter(|(_, value, most)| value > most)
            .map(|(what, value, most)| format!("{}: {value:.0} {what}, fitted up to {most:.0}", self.name))
            .collect();
        if rate > self.most {
            outside.push(format!("{}: error rate {rate:.2e}, used up to {:.2e}", self.name, self.most));
        }
        let most = if self.capped { self.most } else { 0.5 };
        Estimate { pages: vec![rate.clamp(0.0, most); self.bits], outside }
    }

    /// Returns the error rate added by reads at a wear, as a factor and the exponent of the number of reads.
    pub fn read_term(&self, pe_cycles: f64) -> (f64, f64) {
        let term = self.terms.iter().find(|term| term.reads > 0.0);
        term.map_or((0.0, 1.0), |term| (term.at(&Condition { pe_cycles, reads: 1.0, ..Condition::default() }), term.reads))
    }
}

/// Returns the law of 2y-nm MLC: SimpleSSD 3, after Kim, Choi and Min (FAST 2019). Found; validity of the retention
/// term to about 100 days derived (FACTS 5.4).
pub fn mlc_2y() -> Law {
    Law {
        name: "mlc-2y",
        bits: 2,
        source: "SimpleSSD 3, ftl/read_reclaim",
        terms: vec![
            term(8.34e-5, 0.0, 0.0, 0.0),
            term(3.30e-11, 1.71, 0.0, 0.0),
            term(5.56e-19, 2.49, 3.33, 0.0),
            term(6.26e-13, 1.76, 0.0, 0.47),
        ],
        most: 1e-2,
        capped: false,
        valid: (10_000.0, 100.0, 1e6),
    }
}

/// Returns the law of 72-layer TLC: MQSim-JW. Found; that time is in days and that reads are valid up to about a
/// thousand for each page is derived (FACTS 5.4).
pub fn tlc_72l() -> Law {
    Law {
        name: "tlc-72l",
        bits: 3,
        source: "MQSim-JW, tools/examples/rber_model_example.py",
        terms: vec![
            term(1.48e-3, 0.0, 0.0, 0.0),
            term(3.90e-10, 2.05, 0.0, 0.0),
            term(6.28e-5, 0.14, 0.54, 0.0),
            term(3.73e-9, 0.33, 0.0, 1.71),
        ],
        most: 2e-2,
        capped: false,
        valid: (10_000.0, 365.25, 1e3),
    }
}

/// Returns the law of one of the four samples of the SSDExplorer thesis, after read retry: `2.0e-3 (n / n_e)^1.8`,
/// capped at 1e-2. Anchors stated, exponent assumed (FACTS 5.4).
fn thesis(name: &'static str, bits: usize, sustained: f64, rated: f64) -> Law {
    const AT_SUSTAINED: f64 = 2.0e-3;
    const EXPONENT: f64 = 1.8;
    let scale = AT_SUSTAINED / libm::pow(sustained, EXPONENT);
    Law {
        name,
        bits,
        source: "SSDExplorer thesis, section 2.3; fit of FACTS 5.4",
        terms: vec![term(scale, EXPONENT, 0.0, 0.0)],
        most: 1e-2,
        capped: true,
        valid: (2.0 * rated, 0.0, f64::INFINITY),
    }
}

/// Returns the law called `name`.
pub fn find(name: &str) -> Option<Law> {
    match name {
        "mlc-2y" => Some(mlc_2y()),
        "tlc-72l" => Some(tlc_72l()),
        "thesis-a-mlc" => Some(thesis("thesis-a-mlc", 2, 6_000.0, 9_000.0)),
        "thesis-b-mlc" => Some(thesis("thesis-b-mlc", 2, 19_000.0, 12_000.0)),
        "thesis-c-mlc" => Some(thesis("thesis-c-mlc", 2, 5_000.0, 4_000.0)),
        "thesis-d-tlc" => Some(thesis("thesis-d-tlc", 3, 1_000.0, 900.0)),
        _ => None,
    }
}

/// Names of all laws.
pub const NAMES: [&str; 6] = ["mlc-2y", "tlc-72l", "thesis-a-mlc", "thesis-b-mlc", "thesis-c-mlc", "thesis-d-tlc"];

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Nanos;

    fn stress(pe_cycles: f64, days: f64, reads: f64) -> Condition {
        Condition { pe_cycles, age: Nanos((days * DAY_NS) as u64), reads, ..Condition::default() }
    }

    /// Values that FACTS 5.4 derives from the same formulas.
    #[test]
    fn values_are_those_of_the_facts() {
        let near = |law: &Law, at: Condition, expected: f64| {
            let found = law.estimate(&at);
            assert!(
                (found.worst() / expected - 1.0).abs() < 0.06,
                "{} at {at:?}: {:.3e}, not {expected:.1e}",
                law.name,
                found.worst()
            );
            found.outside
        };
        let mlc = mlc_2y();
        for (pe_cycles, days, reads, expected) in [
            (3e3, 0.0, 0.0, 1.1e-4),
            (3e3, 30.0, 0.0, 1.3e-4),
            (3e3, 90.0, 0.0, 9.3e-4),
            (5e3, 90.0, 0.0, 3.1e-3),
            (5e3, 7.0, 1e5, 6.1e-4),
        ] {
            assert_eq!(near(&mlc, stress(pe_cycles, days, reads), expected), [""; 0]);
        }
        near(&tlc_72l(), stress(1e3, 365.0, 0.0), 6.0e-3);
        for (name, pe_cycles, expected) in
            [("thesis-b-mlc", 24e3, 3.0e-3), ("thesis-c-mlc", 8e3, 4.7e-3), ("thesis-d-tlc", 1.8e3, 5.8e-3)]
        {
            near(&find(name).expect("listed"), stress(pe_cycles, 0.0, 0.0), expected);
        }
    }

    #[test]
    fn what_is_outside_is_said() {
        let year = mlc_2y().estimate(&stress(10_000.0, 365.0, 0.0));
        assert_eq!(year.worst(), 0.5, "a probability, whatever the fit says");
        assert!(year.outside.iter().any(|text| text == "mlc-2y: 365 days, fitted up to 100"), "{:?}", year.outside);
        let read = tlc_72l().estimate(&stress(1000.0, 1.0, 1e4));
        assert!(read.outside.iter().any(|text| text.contains("reads")), "{:?}", read.outside);
        let worn = find("thesis-a-mlc").expect("listed").estimate(&stress(18_000.0, 0.0, 0.0));
        assert!(worn.outside.iter().any(|text| text.contains("used up to 1.00e-2")), "{:?}", worn.outside);
    }

    #[test]
    fn rates_are_finite_and_rise_with_every_stress() {
        for law in NAMES.map(|name| find(name).expect("listed")) {
            let rate = |pe_cycles: f64, days: f64, reads: f64| law.estimate(&stress(pe_cycles, days, reads)).worst();
            for pe_cycles in [0.0, 1.0, 500.0, 3_000.0, 1e6] {
                for days in [0.0, 1.0, 90.0, 3_650.0] {
                    for reads in [0.0, 10.0, 1e5] {
                        let here = rate(pe_cycles, days, reads);
                        assert!((0.0..=0.5).contains(&here), "{} {pe_cycles} {days} {reads}: {here}", law.name);
                        assert!(rate(pe_cycles * 1.1, days, reads) >= here && rate(pe_cycles, days + 1.0, reads) >= here);
                        assert!(rate(pe_cycles, days, reads + 5.0) >= here);
                    }
                }
            }
        }
    }
}
