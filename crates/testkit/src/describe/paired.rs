//! Protection of paired pages, as overrides of a random description.

use drive::Description;
use ftl::PairedPages;

/// Returns overrides by which a random drive programs pages one by one and protects them in a way, with as much user
/// data as it may have beside that. `text` and `others` are the description without them. A drive with one bit in a
/// cell is refused.
pub fn paired(kind: PairedPages, text: &str, others: &[String]) -> Vec<String> {
    let mut sets = vec!["flash.one_shot=false".to_owned()];
    let read = |sets: &[String]| Description::read("random.toml", text, &[others, sets].concat());
    // A description that is refused needs none.
    let Ok(whole) = read(&sets) else { return Vec::new() };
    let geometry = whole.geometry();
    let bytes = whole.user_bytes();
    sets.push(format!("ftl.paired_pages={}", format!("{kind:?}").to_lowercase()));
    if kind == PairedPages::Backup {
        sets.push(format!("flash.blocks_per_plane={}", 3 * geometry.shape.blocks_per_plane));
        sets.push("ftl.overprovisioning=0.0".to_owned());
    }
    let fits = |share: u64| {
        let capacity = format!("ftl.user_capacity={}B", (bytes * share / 20).next_multiple_of(geometry.unit.bytes()));
        read(&[&sets[..], std::slice::from_ref(&capacity)].concat()).is_ok().then_some(capacity)
    };
    let capacity = (1..=20).rev().find_map(fits);
    sets.into_iter().chain(capacity).collect()
}
