//! Parity across dies, as overrides of a random description.

use super::{chance, pick};
use drive::Description;
use kit::Rng;

/// Returns overrides by which a random drive has parity across dies, and as much user data as it may have beside it.
/// `text` and `others` are the description without them and without `faults`, beside which many drives are to have room
/// for the loss of a die.
pub fn parity(rng: &mut Rng, text: &str, (others, faults): (&[String], &[String])) -> Vec<String> {
    // A description that is refused needs none.
    let Ok(whole) = Description::read("random.toml", text, others) else { return Vec::new() };
    let geometry = whole.geometry();
    let divisors: Vec<u32> = (2..=geometry.die_count).filter(|dies| geometry.die_count.is_multiple_of(*dies)).collect();
    let dies = if divisors.is_empty() { 2 } else { pick(rng, &divisors) };
    let ftl = &whole.ftl;
    let more = pick(rng, if faults.is_empty() { &[2, 3] } else { &[3, 4] });
    let mut sets = vec![
        "flash.copyback=false".to_owned(),
        format!("ftl.rain={{dies={dies}}}"),
        format!("flash.blocks_per_plane={}", more * geometry.shape.blocks_per_plane),
        format!("ftl.gc_critical_blocks={}", ftl.gc_critical_blocks + 1),
        format!("ftl.gc_low_blocks={}", ftl.gc_low_blocks.max(ftl.gc_critical_blocks) + 1),
        "ftl.overprovisioning=0.0".to_owned(),
    ];
    if ftl.allocation_order.is_by_plane() {
        sets.push("ftl.allocation_order=CWD".to_owned());
    }
    let bytes = whole.user_bytes();
    let fits = |share: u64| {
        let capacity = format!("ftl.user_capacity={}B", (bytes * share / 20).next_multiple_of(geometry.unit.bytes()));
        let all = [others, faults, &sets, std::slice::from_ref(&capacity)].concat();
        Description::read("random.toml", text, &all).is_ok().then_some(capacity)
    };
    let all = if chance(rng, 0.5) { 20 * u64::from(more) } else { 20 };
    let most = if faults.is_empty() || chance(rng, 0.3) { all } else { pick(rng, &[8, 14, 20]) };
    let capacity = (1..=most).rev().find_map(fits);
    sets.into_iter().chain(capacity).collect()
}
