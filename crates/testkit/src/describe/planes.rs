//! Frontiers in each group of planes, as overrides of a random description.

use super::pick;
use drive::Description;
use kit::Rng;

/// Returns overrides by which a random drive has a frontier in each group of planes, and twice its blocks: each
/// frontier takes one. `text` and `others` are the description without them.
pub fn planes(rng: &mut Rng, text: &str, others: &[String]) -> Vec<String> {
    // A description that is refused needs none.
    let Ok(whole) = Description::read("random.toml", text, others) else { return Vec::new() };
    let mut sets = vec![
        format!("flash.blocks_per_plane={}", 2 * whole.geometry().shape.blocks_per_plane),
        "ftl.allocation_order=CWD".to_owned(),
        "ftl.plane_choice=most_free".to_owned(),
        format!("ftl.victim={}", pick(rng, &["greedy", "greedy_in_plane"])),
    ];
    if rng.chance(0.5) {
        sets.extend(["ftl.gc_start=write_waits", "ftl.gc_preemptible=false"].map(str::to_owned));
    }
    if rng.chance(0.5) {
        sets.push(format!("flash.summary_time={}us", pick(rng, &[1, 200])));
    }
    sets
}
