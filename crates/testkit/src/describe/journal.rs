//! A journal of the map, as overrides of a random description.

use super::pick;
use drive::Description;
use kit::Rng;

/// Returns overrides by which a random drive has a journal of its map, and as much user data as it may have beside it.
/// `text` and `others` are the description without them.
pub fn journal(rng: &mut Rng, text: &str, others: &[String]) -> Vec<String> {
    let (programs, entry) = (pick(rng, &[2, 3, 8]), pick(rng, &[8, 64]));
    // A description that is refused needs none.
    let Ok(whole) = Description::read("random.toml", text, others) else { return Vec::new() };
    let geometry = whole.geometry();
    let size = programs * u64::from(geometry.units_per_program) * geometry.unit.bytes();
    let mut sets = vec![
        format!("ftl.journal={{ size = \"{size}B\", entry_bytes = {entry} }}"),
        format!("flash.blocks_per_plane={}", 2 * geometry.shape.blocks_per_plane),
        "ftl.overprovisioning=0.0".to_owned(),
    ];
    if whole.buffer.rewritten != Default::default() {
        sets.push("buffer.rewritten=replaced".to_owned());
    }
    let bytes = whole.user_bytes();
    let fits = |share: u64| {
        let capacity = format!("ftl.user_capacity={}B", (bytes * share / 20).next_multiple_of(geometry.unit.bytes()));
        let all = [others, &sets, std::slice::from_ref(&capacity)].concat();
        Description::read("random.toml", text, &all).is_ok().then_some(capacity)
    };
    let capacity = (1..=30).rev().find_map(fits);
    sets.into_iter().chain(capacity).collect()
}
