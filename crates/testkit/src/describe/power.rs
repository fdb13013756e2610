//! Random currents, caps, suspension windows, thermal models and power states, as overrides of a random description.

use super::{chance, pick};
use drive::Description;
use ecc::Hold;
use kit::{Nanos, Rng};

/// Supply \[mV\].
const SUPPLY: u64 = 3300;

/// Retention limit that a drive meets although it waits for power.
const LONG: Nanos = Nanos(3_600_000_000_000);

/// Returns overrides that give a drive currents, which are constant, and most drives a cap, with or without suspensions
/// for the power of reads, or suspension windows. Those
/// with a short retention limit have a cap that leaves room for all dies, as they must meet the limit.
pub fn power(rng: &mut Rng, whole: &Description) -> Vec<String> {
    let shape = whole.geometry();
    let (dies, bits) = (u64::from(shape.die_count), u64::from(shape.shape.bits_per_cell));
    let idle = pick(rng, &[0, 10, 500]);
    let [read, program, erase] = [3, 9, 6].map(|most| idle + 1_000 * (1 + rng.below(most)) + rng.below(7));
    let mut sets = vec![format!("power.supply={SUPPLY}mV"), format!("power.idle={idle}uA")];
    for (name, current) in [("read", read), ("program", program), ("erase", erase)] {
        sets.push(format!("power.{name}={{kind=\"constant\",current=\"{current}uA\"}}"));
    }
    let greatest = read.max(program).max(erase) - idle;
    let limits = whole.flash.write_modes.iter().filter_map(|mode| mode.retention.as_ref());
    let has_limit = limits.flat_map(|limits| limits.all()).any(|limit| *limit < LONG);
    if has_limit || chance(rng, 0.8) {
        let room = if has_limit { dies * greatest } else { greatest + rng.below((dies - 1) * greatest + 1) };
        sets.push(format!("power.cap={}nW", (idle * dies + room) * SUPPLY + rng.below(SUPPLY)));
        sets.push(format!("power.cap_order={}", pick(rng, &["fifo", "reads_first"])));
        sets.push(format!("power.cap_overtakes={}", pick(rng, &[0, 1, 16])));
    }
    if !has_limit && chance(rng, 0.4) {
        let cap = (idle * dies + greatest + rng.below((dies - 1) * greatest + 1)) * SUPPLY;
        sets.push(thermal(rng, dies * greatest, cap));
    }
    if chance(rng, 0.4) {
        sets.push(states(rng));
    }
    let may_suspend = whole.flash.suspension.as_ref().is_some_and(|rule| rule.program || rule.erase);
    let suspends = may_suspend && whole.ecc.retries_hold != Hold::Channel && chance(rng, 0.6);
    if suspends {
        sets.push(format!("power.cap_suspends={}", pick(rng, &[1, 2, 16])));
    }
    if !has_limit && !suspends && chance(rng, 0.5) {
        let types: Vec<u64> = (0..bits).filter(|_| chance(rng, 0.6)).collect();
        let types = if types.is_empty() { vec![bits - 1] } else { types };
        let at = pick(rng, &["[0.4]", "[0.25,0.75]", "[]", "[0.1,0.11,0.9]"]);
        let (length, overhead) = (pick(rng, &["1ns", "5us", "200us"]), pick(rng, &["0ns", "400us"]));
        sets.push(format!(
            "power.suspend=[{{page_types={types:?},at={at},length=\"{length}\",overhead=\"{overhead}\",idle_chips_wait={}}}]",
            chance(rng, 0.6)
        ));
    }
    sets
}

/// Returns a thermal model with which the flash becomes hot within milliseconds if most dies are active: the current
/// `most` \[uA\] leads to 40 K above the surroundings.
fn thermal(rng: &mut Rng, most: u64, cap: u64) -> String {
    let resistance = 40.0 / ((most * SUPPLY) as f64 * 1e-9);
    let (seconds, release) = (pick(rng, &[0.000_2, 0.003, 0.05]), pick(rng, &["25.5", "30.0", "34.0"]));
    let (capacity, step) = (seconds / resistance, (seconds * 1e9) as u64 / 20);
    let initial = pick(rng, &["25.0", "60.0"]);
    format!(
        "power.thermal={{ambient=25.0,r_th={resistance:?},c_th={capacity:?},throttle_at=35.0,release_at={release},\
         cap=\"{cap}nW\",step=\"{step}ns\",initial={initial}}}"
    )
}

/// Returns two states that serve no commands, of which the drive enters one or both.
fn states(rng: &mut Rng) -> String {
    let (first, second) = (pick(rng, &["10us", "50us", "1ms"]), pick(rng, &["10us", "300us"]));
    let (entry, exit) = (pick(rng, &["0ns", "5us"]), pick(rng, &["0ns", "1ns", "70us"]));
    let state = pick(rng, &[1, 2]);
    format!(
        "power.state=[{{max_power=\"8W\",idle_time=\"{first}\",idle_state={state}}},\
         {{max_power=\"1W\",non_operational=true,entry_latency=\"{entry}\",exit_latency=\"{exit}\",idle_time=\"{second}\",idle_state=2}},\
         {{max_power=\"1mW\",non_operational=true,entry_latency=\"{exit}\",exit_latency=\"1ms\"}}]"
    )
}
