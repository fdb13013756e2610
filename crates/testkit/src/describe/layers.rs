//! Random drives with other translation layers than the page map.

use super::{Numbers, buffer, chance, interface, operation, pick, shape, translation};
use kit::{Rng, UNIT_BYTES};
use std::fmt::Write as _;

/// Translation layer of a random drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Zones.
    Zones,
    /// Physical addresses.
    Chunks,
    /// Writes in place.
    InPlace,
    /// The write amplification factor.
    Factor,
    /// The page map, with a record of its operations.
    Recorded,
    /// The replay of such a record.
    Replay,
}

impl Layer {
    /// All layers.
    pub const ALL: [Layer; 6] = [Layer::Zones, Layer::Chunks, Layer::InPlace, Layer::Factor, Layer::Recorded, Layer::Replay];
}

/// Layers whose drives are described here; the others are those of a random page map.
const DESCRIBED: [Layer; 4] = [Layer::Zones, Layer::Chunks, Layer::InPlace, Layer::Factor];

/// Returns the description of a random small drive with one of the [`DESCRIBED`] layers.
pub fn describe_layer(rng: &mut Rng) -> (Layer, String) {
    let layer = pick(rng, &DESCRIBED);
    let mut text = String::from("base = \"tiny\"\ntitle = \"random\"\n");
    let mut flash = String::new();
    let numbers = shape(rng, &mut flash);
    operation(rng, &mut flash, false);
    interface(rng, &mut text);
    match layer {
        Layer::Zones => zones(rng, &mut text, &numbers, &flash),
        Layer::Chunks => chunks(rng, &mut text, &numbers, &flash),
        Layer::InPlace => in_place(rng, &mut text, &numbers, &flash),
        _ => factor(rng, &mut text, &numbers, &flash),
    }
    let pe_cycles = pick(rng, &[0, 0, 3, 100]);
    line!(text, "[state]\nprecondition = \"none\"\npe_cycles = {pe_cycles}");
    (layer, text)
}

/// Returns a random divisor of a number.
fn divisor(rng: &mut Rng, number: u64) -> u64 {
    let all: Vec<u64> = (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect();
    pick(rng, &all)
}

fn zones(rng: &mut Rng, text: &mut String, numbers: &Numbers, flash: &str) {
    let zone_dies = divisor(rng, numbers.dies);
    let spare = rng.below(3);
    let zone_blocks = divisor(rng, numbers.blocks_per_die - spare);
    let count = numbers.dies / zone_dies * ((numbers.blocks_per_die - spare) / zone_blocks);
    let active = pick(rng, &[0, 1, 2, 5]);
    let open = if active == 0 { 0 } else { 1 + rng.below(active) };
    let partial = (if active == 0 { count } else { active } + 1) * numbers.units_per_program;
    let bytes = (partial + rng.below(3 * numbers.units_per_program)) * UNIT_BYTES;
    line!(text, "[buffer]\npolicy = \"write_back\"\ncapacity = \"{bytes}B\"\nflush_after = \"{}us\"", pick(rng, &[0, 10, 300]));
    *text += flash;
    line!(text, "[ftl]\nallocation_order = \"{}\"", pick(rng, &["CWD", "CDW", "WCD", "DWC"]));
    let full = pick(rng, &["0.0", "0.3", "1.0"]);
    let offline = if chance(rng, 0.3) { format!(", offline_after = {}", 1 + rng.below(6)) } else { String::new() };
    let append = if chance(rng, 0.3) { ", append_limit = \"32KiB\"" } else { "" };
    line!(
        text,
        "translation = {{ kind = \"zns\", zone_dies = {zone_dies}, zone_blocks = {zone_blocks}, spare_blocks = {spare}, \
         max_open = {open}, max_active = {active}, full = {full}, reads_across_zones = {}{offline}{append} }}",
        chance(rng, 0.5)
    );
}

fn chunks(rng: &mut Rng, text: &mut String, numbers: &Numbers, flash: &str) {
    *text += flash;
    let offline = if chance(rng, 0.3) { format!(", offline_after = {}", 1 + rng.below(6)) } else { String::new() };
    let open = pick(rng, &[0, 0, 2, 9]);
    line!(
        text,
        "[buffer]\npolicy = \"none\"\n[ftl]\ntranslation = {{ kind = \"pass_through\", mw_cunits = {}, max_open = {open}, \
         multiple_resets = {}, early_reset = {}, full = {}{offline} }}",
        rng.below(numbers.units_per_block.min(6)),
        chance(rng, 0.5),
        chance(rng, 0.5),
        pick(rng, &["0.0", "0.4", "1.0"])
    );
}

fn in_place(rng: &mut Rng, text: &mut String, numbers: &Numbers, flash: &str) {
    buffer(rng, text, &Numbers { units_per_program: 1, ..*numbers });
    // Pages of 4 KiB that are programmed one by one.
    let small = |line: &str| -> String {
        match line.split(" = ").next() {
            Some("page_size") => "page_size = \"4KiB\"".to_owned(),
            Some("one_shot") => "one_shot = false".to_owned(),
            _ => line.replace("multi_plane = true", "multi_plane = false"),
        }
    };
    *text += &flash.lines().map(small).collect::<Vec<String>>().join("\n");
    line!(text, "\n[ftl]\nwrite_allocation = \"static\"\nread_in_flight = \"buffer\"");
    line!(text, "allocation_order = \"{}\"", pick(rng, &["CWD", "CDW", "WCD", "DWC"]));
    line!(text, "partial_write = \"{}\"", pick(rng, &["whole", "read_modify_write", "read_modify_write"]));
    // In small regions, lines move that have been written.
    let region = divisor(rng, numbers.pages_per_block);
    let region = if region > 1 && chance(rng, 0.7) { format!(", region_pages = {region}") } else { String::new() };
    line!(
        text,
        "translation = {{ kind = \"in_place\", gap_interval = {}, randomize = {}, reassemble = {}{region} }}",
        pick(rng, &[1, 3, 20]),
        chance(rng, 0.5),
        chance(rng, 0.5)
    );
}

fn factor(rng: &mut Rng, text: &mut String, numbers: &Numbers, flash: &str) {
    buffer(rng, text, numbers);
    *text += flash;
    translation(rng, text, numbers, false);
    let kind = match rng.below(4) {
        0 => format!("write_amplification = {}.5", 1 + rng.below(4)),
        1 => "model = \"oldest_first\"".to_owned(),
        2 => "model = \"windowed_greedy\", window = 0.5".to_owned(),
        _ => "model = \"greedy\"".to_owned(),
    };
    *text = text.replace("[ftl]\n", &format!("[ftl]\ntranslation = {{ kind = \"waf\", {kind} }}\n"));
}
