//! The cheapest point of the voltage budget for each host write: the trade-offs of the published policies in one
//! decision.

use super::points::{Points, Prices};
use super::{Collection, Dispatch, Facts, Member, ModePolicy, Moving, Needs, Placed, ReadAnswer, UnitRead, View, WriteAnswer};
use kit::{Archive, Archived, BlockId, Lpn, ModeId, Nanos, Reason, SimTime, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "for each write the cheapest feasible point of the voltage budget, by its predicted life and reads";

/// Host data is written at the cheapest feasible point of the voltage budget, which erase depth, program step, promised
/// retention and sensing share: of the write modes that keep the data until it is overwritten, the one with the lowest
/// cost of program time, wear and reads. Relocated data is written in the `normal` mode. The life of the data is
/// predicted from the interval between the last two writes of its unit, times `caution`, and its number of reads from
/// the reads between them. Both are kept in one byte for each unit, in classes by powers of four and of two. Data
/// without history is taken to live for ever. Each mode has a write stream of its own, and another for its short-lived
/// data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weights of program time, wear and reads in the cost of a write mode.
    pub prices: Prices,
    /// Factor by which the predicted life is scaled, to be on the safe side.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub caution: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { prices: Prices::default(), caution: 4.0 }
    }
}

impl Member for Params {
    fn statistics() -> Vec<Term> {
        vec![
            Term::new("host_units", "units", "Host writes."),
            Term::new("units_of_the_commonest_mode", "units", "Host writes in the write mode that was chosen most often."),
            Term::new("reprogrammed_programs", "count", "Programs that moved data from blocks near their retention limit."),
        ]
    }
}

/// Unit in which lives are classed \[ns\]: shorter lives count as one such unit.
const LIFE_UNIT_NS: u64 = 1_000_000;

/// Returns the class of a life: 1 below 4 ms, one more for each further factor of four, at most 15. Class 0 stands for
/// an unknown life.
fn life_class(life: u64) -> u8 {
    let quarters = (life / LIFE_UNIT_NS).max(1).ilog2() / 2;
    (quarters + 1).min(15) as u8
}

/// Returns the upper bound of the lives in a class; none for class 0 and for the last class.
fn life_of(class: u8) -> Option<Nanos> {
    (1..15).contains(&class).then(|| Nanos(LIFE_UNIT_NS << (2 * class)))
}

struct Margin {
    points: Points,
    caution: f64,
    full: ModeId,
    units: Vec<u64>,
    overdue: u64,
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Box::new(Margin {
        points: Points::new(&params.prices, facts),
        caution: params.caution,
        full: facts.normal_mode(),
        units: vec![0; facts.write_modes.len()],
        overdue: 0,
    })
}

impl Margin {
    /// Returns the predicted life of a unit that is written now; none: for ever.
    fn predicted(&self, lpn: Lpn, view: &View<'_>) -> Option<Nanos> {
        let class = view.bits.get(lpn) & 15;
        life_of(class).map(|life| Nanos((life.0 as f64 * self.caution) as u64))
    }

    /// Returns the age of a unit's copy on flash, counted from the first program of its block.
    fn age(lpn: Lpn, view: &View<'_>) -> Option<u64> {
        let place = view.copy_on_flash(lpn)?;
        let since = view.medium.first_program(view.medium.geometry.block_of(place));
        Some(age_since(since, view.now))
    }
}

fn age_since(since: i64, now: SimTime) -> u64 {
    (now.0 as i64).saturating_sub(since).max(0) as u64
}

impl ModePolicy for Margin {
    fn needs(&self) -> Needs {
        Needs {
            host_streams: self.points.streams(),
            bits_per_unit: 8,
            placed: true,
            dropped: true,
            blocks: true,
            reads: true,
            erases: true,
            ages: true,
            ..Needs::default()
        }
    }

    fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        self.points.state(archive)
    }

    fn check(&self, _is_alone: bool, _view: &mut View<'_>) -> Archived {
        self.points.check()
    }

    fn write(&mut self, dispatch: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        let demand = self.points.demand(dispatch, view);
        let (mut life, mut reads) = (Some(Nanos::ZERO), 0.0);
        for &lpn in dispatch.units {
            // The life that ends with this write predicts the next one. If the copy was moved meanwhile, the class
            // noted at the move may be the higher one.
            let state = view.bits.get(lpn);
            let lived = Self::age(lpn, view).map_or(0, life_class);
            let class = if lived == 0 { 0 } else { lived.max(state & 15) };
            view.bits.set(lpn, state & 0xf0 | class);
            life = life.zip(self.predicted(lpn, view)).map(|(longest, own)| longest.max(own));
            reads += ((1u32 << (state >> 4)) - 1) as f64;
        }
        let mode = self.points.cheapest(life, reads / dispatch.units.len().max(1) as f64, demand);
        self.units[mode.index()] += dispatch.units.len() as u64;
        WriteAnswer { mode, stream: self.points.stream(mode, life) }
    }

    fn relocate(&mut self, moving: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.overdue += u64::from(moving.collection.reason == Reason::Reprogram);
        self.full
    }

    fn placed(&mut self, placed: &Placed, view: &mut View<'_>) {
        let state = view.bits.get(placed.lpn);
        match placed.superseded {
            // Data that is moved has lived at least this long.
            Some(from) if placed.stream.is_none() => {
                let since = view.medium.first_program(view.medium.geometry.block_of(from));
                let class = life_class(age_since(since, view.now)).max(state & 15);
                view.bits.set(placed.lpn, state & 0xf0 | class);
            }
            // A new life begins, with a new count of reads.
            _ => view.bits.set(placed.lpn, 0),
        }
    }

    fn dropped(&mut self, lpn: Lpn, view: &mut View<'_>) {
        view.bits.set(lpn, 0);
    }

    fn read_issued(&mut self, read: &UnitRead, view: &mut View<'_>) -> ReadAnswer {
        // The upper four bits are an approximate (Morris) counter: step `n`, which stands for 2^n - 1 reads, is left
        // with probability 2^-n, drawn from the low bits of the clock.
        let state = view.bits.get(read.lpn);
        let step = state >> 4;
        if read.reason == Reason::Host && step < 15 && (view.now.0 >> 4) & ((1 << step) - 1) == 0 {
            view.bits.set(read.lpn, state & 15 | (step + 1) << 4);
        }
        ReadAnswer::default()
    }

    fn erase(&mut self, collection: &Collection, view: &mut View<'_>) -> ModeId {
        self.points.erase_mode(view.medium.geometry.die_of(collection.block), view)
    }

    fn lazy_erase(&mut self, _: BlockId, level: u8, _: &mut View<'_>) -> ModeId {
        self.points.lazy_erase_mode(level)
    }

    fn erased(&mut self, block: BlockId, view: &mut View<'_>) {
        self.points.erased(block, view);
    }

    fn adopt(&mut self, view: &mut View<'_>) {
        self.points.adopt(view);
    }

    fn uses(&self) -> Vec<ModeId> {
        self.points.modes()
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.full
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let most = self.units.iter().copied().max().unwrap_or(0);
        vec![
            ("host_units", self.units.iter().sum::<u64>() as f64),
            ("units_of_the_commonest_mode", most as f64),
            ("reprogrammed_programs", self.overdue as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_told_apart_by_factors_of_four() {
        assert_eq!([0, 999_999, 1_000_000, 3_999_999, 4_000_000, 16_000_000].map(life_class), [1, 1, 1, 1, 2, 3]);
        assert_eq!(life_class(u64::MAX), 15);
        for class in 1..15 {
            let longest = life_of(class).expect("a class between the first and the last");
            assert_eq!(life_class(longest.0 - 1), class);
            assert_eq!(life_class(longest.0), class + 1);
        }
        assert_eq!((life_of(0), life_of(15)), (None, None));
    }
}
