//! Random drives, as texts of descriptions.

use geometry::Geometry;
use kit::{Rng, UNIT_BYTES};
use std::fmt::Write as _;

/// Numbers on which later choices depend.
struct Numbers {
    dies: u64,
    blocks_per_die: u64,
    groups: u64,
    units_per_block: u64,
    units_per_program: u64,
    programs_per_block: u64,
    /// Pages of a block of one plane.
    pages_per_block: u64,
    /// Times of a page read, a program and an erase \[ns\]. The transfers of reads and programs wait for all other dies
    /// of the channel; the erase time is doubled.
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    bits: u64,
    modes: u64,
    /// Policy, the policies that it combines, and the number of host streams that it needs.
    policy: &'static str,
    members: &'static [&'static str],
    host_streams: u64,
}

/// Sets of policies that are combined. With `agcr` the drive has two read modes.
const MEMBERS: [&[&str]; 10] = [
    &["ofwar", "autoftl"],
    &["rr_speed", "autoftl"],
    &["rr_ecc", "autoftl_minus"],
    &["wear_adaptive", "autoftl"],
    &["ofwar", "rr_speed"],
    &["margin", "ofwar"],
    &["ofwar", "agcr"],
    &["agcr", "autoftl"],
    &["ofwar", "agcr", "autoftl"],
    &["agcr", "rr_speed"],
];

impl Numbers {
    /// Returns the time in which a die can read, program and erase all of its blocks \[ns\].
    fn rewrite_ns(&self) -> u64 {
        self.blocks_per_die * (self.block_ns() + self.erase_ns)
    }
}

impl Numbers {
    /// Returns the time in which a die can read a block and program another one with its data \[ns\].
    fn block_ns(&self) -> u64 {
        self.programs_per_block * (4 * self.read_ns + self.program_ns)
    }
}

fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u64) as usize]
}

fn chance(rng: &mut Rng, p: f64) -> bool {
    rng.chance(p)
}

/// Appends a line to the text.
macro_rules! line {
    ($text:expr, $($form:tt)+) => {
        writeln!($text, $($form)+).expect("a string takes all")
    };
}

// After the macro, which it uses.
mod controller;
mod errors;
mod faults;
mod geometry;
mod journal;
mod layers;
mod paired;
mod parity;
mod planes;
mod power;

pub use controller::{controller, map_cache};
pub use errors::errors;
pub use faults::{faults, host_faults};
pub use journal::journal;
pub use layers::{Layer, describe_layer};
pub use paired::paired;
pub use parity::parity;
pub use planes::planes;
pub use power::power;

/// Returns the description of a random small drive, based on the preset `tiny`. Most descriptions are accepted; some
/// contain values that do not fit together.
pub fn describe(rng: &mut Rng) -> String {
    let mut text = String::from("base = \"tiny\"\ntitle = \"random\"\n");
    let mut flash = String::new();
    let numbers = shape(rng, &mut flash);
    let waits = chance(rng, 0.25);
    operation(rng, &mut flash, waits);
    modes(rng, &mut flash, &numbers, waits);
    interface(rng, &mut text);
    buffer(rng, &mut text, &numbers);
    text += &flash;
    translation(rng, &mut text, &numbers, waits);
    policy(rng, &mut text, &numbers);
    let pe_cycles = state(rng, &mut text, &numbers);
    endurance(rng, &mut text, pe_cycles);
    text
}

/// Appends the geometry, the cell and the times of the flash.
fn shape(rng: &mut Rng, text: &mut String) -> Numbers {
    let geometry = Geometry::draw(rng);
    let bits = geometry.bits;
    let (interface, rates) = pick(
        rng,
        &[("sdr", [10, 50]), ("nv_ddr", [66, 200]), ("nv_ddr2", [200, 533]), ("nv_ddr3", [667, 2400]), ("nv_ddr3", [1200, 4800])],
    );
    let rate = pick(rng, &rates);
    let (units_per_block, units_per_program) = (geometry.units_per_block(), geometry.units_per_program());
    let transfer_ns = units_per_program * UNIT_BYTES * 1000 / rate * geometry.chips * geometry.concurrent;
    let (read_us, program_us, erase_us) = (pick(rng, &[20, 50]), pick(rng, &[100, 600]), pick(rng, &[500, 3000]));
    geometry.write(text);
    let model = ["", "volt-slc", "ofwar-mlc", "volt-tlc", "volt-qlc"][bits as usize];
    line!(text, "cell_model = \"{model}\"");
    line!(text, "cell = \"{}\"\none_shot = {}\ncopyback = {}", geometry.cell, geometry.one_shot, chance(rng, 0.3));
    line!(text, "read_time = \"{read_us}us\"\nprogram_time = \"{program_us}us\"\nerase_time = \"{erase_us}us\"");
    line!(text, "interface = \"{interface}\"\ntransfer_rate = \"{rate}MT/s\"");
    line!(text, "rated_pe_cycles = {}", pick(rng, &[2, 20, 10_000]));
    line!(text, "# superblock {}", geometry.superblock);
    let modes = if chance(rng, 0.4) { 3 } else { 2 };
    let policy = policy_name(rng, modes);
    let members: &[&str] = if policy == "combine" { pick(rng, &MEMBERS) } else { &[] };
    let modes = match policy {
        "combine" if members.contains(&"agcr") => 8,
        "combine" => 4,
        _ => modes,
    };
    Numbers {
        dies: geometry.dies(),
        blocks_per_die: geometry.blocks_per_die(),
        groups: geometry.groups,
        units_per_block,
        units_per_program,
        programs_per_block: units_per_block / units_per_program,
        pages_per_block: geometry.pages_per_block(),
        read_ns: read_us * 1000 + transfer_ns / 4,
        program_ns: program_us * 1000 + transfer_ns,
        erase_ns: erase_us * 2000,
        bits,
        modes,
        policy,
        members,
        host_streams: match policy {
            "margin" | "clairvoyant" => 2 * modes,
            "combine" => modes,
            _ => modes.max(2),
        },
    }
}

fn operation(rng: &mut Rng, text: &mut String, waits: bool) {
    if chance(rng, 0.3) {
        let (write, relocation) = (pick(rng, &["0ns", "1ms", "10ms"]), pick(rng, &["0ns", "200us", "5ms"]));
        line!(
            text,
            "scheduler = {{ kind = \"out_of_order\", write_patience = \"{write}\", relocation_patience = \"{relocation}\" }}"
        );
    } else {
        line!(text, "scheduler = \"{}\"", pick(rng, &["fifo", "read_first", "read_first"]));
    }
    if chance(rng, 0.15) {
        line!(text, "time_distribution = \"exponential\"");
    }
    if chance(rng, 0.4) {
        let program = chance(rng, 0.7) && (!waits || chance(rng, 0.1));
        line!(
            text,
            "suspension = {{ program = {program}, erase = {}, suspend_time = \"{}us\",",
            chance(rng, 0.8),
            pick(rng, &[0, 5, 30])
        );
        line!(
            text,
            "  resume_time = \"{}us\", least_remaining = \"{}us\", most = {} }}",
            pick(rng, &[0, 5]),
            pick(rng, &[0, 50]),
            pick(rng, &[1, 2, 100])
        );
    }
}

/// Shortest retention limit \[ns\].
const MIN_LIMIT_NS: u64 = 2_000_000;

/// Returns a line with a retention limit: a single one, or one for each of several wear classes.
fn retention(rng: &mut Rng, min_ns: u64, max_ns: u64) -> String {
    let classes = pick(rng, &[1, 1, 2, 4]);
    let mut limit = min_ns + rng.below(max_ns - min_ns + 1);
    let mut limits = Vec::new();
    for _ in 0..classes {
        limits.push(format!("\"{limit}ns\""));
        limit = min_ns.max(limit / 2);
    }
    if classes == 1 { format!("retention = {}", limits[0]) } else { format!("retention = [{}]", limits.join(", ")) }
}

fn modes(rng: &mut Rng, text: &mut String, numbers: &Numbers, waits: bool) {
    if numbers.policy == "combine" {
        return combined_modes(rng, text, numbers);
    }
    let rewrite = numbers.rewrite_ns();
    let normal = if chance(rng, 0.3) { retention(rng, 6 * rewrite, 40 * rewrite) } else { String::new() };
    let fast = if chance(rng, 0.7) { retention(rng, MIN_LIMIT_NS, 2 * rewrite + 2 * MIN_LIMIT_NS) } else { String::new() };
    let mut rows = vec![
        format!("[[flash.write_mode]]\nname = \"normal\"\n{normal}"),
        format!("[[flash.write_mode]]\nname = \"fast\"\nprogram_scale = 0.5\n{fast}"),
    ];
    if numbers.modes == 3 {
        rows.insert(rng.below(3) as usize, "[[flash.write_mode]]\nname = \"fine\"\nprogram_scale = 2.0".to_owned());
    }
    if chance(rng, 0.2) {
        rows.reverse();
    }
    let (coded, levels, reads) = (chance(rng, 0.2), chance(rng, 0.3), chance(rng, 0.3));
    let mut tables = String::new();
    if coded {
        let row = rng.below(rows.len() as u64) as usize;
        rows[row] += "\ncode = \"strong\"";
        let throughput =
            if waits && chance(rng, 0.9) { "" } else { pick(rng, &["", "throughput = \"20MB/s\"", "throughput = \"2GB/s\""]) };
        tables += &format!("\n[[flash.encoder]]\ncode = \"strong\"\n{throughput}");
    }
    if levels {
        // Erase modes begin with the deepest. The shallowest level on which a write mode can be programmed is random.
        for row in &mut rows {
            *row += &format!("\nerase_level = {}", rng.below(3));
        }
        for (level, slow) in [(0, false), (1, true), (2, false), (2, true)] {
            let (name, scale) = (format!("ev{level}{}", if slow { "s" } else { "" }), if slow { 4.0 } else { 1.0 });
            tables += &format!(
                "\n[[flash.erase_mode]]\nname = \"{name}\"\nlevel = {level}\nwear = 0.{}\nerase_scale = {scale:?}",
                9 - level
            );
        }
    } else if chance(rng, 0.3) {
        tables += "\n[[flash.erase_mode]]\nname = \"normal\"\nwear = 0.5\nerase_scale = 2.0";
    }
    if reads {
        for row in &mut rows {
            *row += &format!("\nread_mode = \"{}\"", pick(rng, &["quick", "slow"]));
        }
        tables += "\n[[flash.read_mode]]\nname = \"quick\"\nsense_scale = 0.5";
        tables += "\n[[flash.read_mode]]\nname = \"slow\"\nsense_scale = 1.5\ntransfers = 3";
    }
    if numbers.bits > 1 && chance(rng, 0.3) {
        for row in rows.iter_mut().filter(|row| row.contains("\"fast\"")) {
            *row += "\nbits_per_cell = 1";
        }
    }
    text.push_str(&rows.join("\n"));
    text.push_str(&tables);
    text.push('\n');
}

/// Appends write modes derived from the cell model, for two promised retentions and two erase levels, and the erase
/// modes. If the drive is to have eight write modes, each of the four exists for two read modes.
fn combined_modes(rng: &mut Rng, text: &mut String, numbers: &Numbers) {
    let rewrite = numbers.rewrite_ns();
    let full = 12 * rewrite + rng.below(40 * rewrite);
    let short = MIN_LIMIT_NS + rng.below(2 * rewrite + MIN_LIMIT_NS);
    let cycles = [0, 10_000, 5_000, 1_000, 100][numbers.bits as usize];
    let reads: &[&str] = if numbers.modes == 8 { &["", "_slow"] } else { &[""] };
    for read in reads {
        for (name, retention, level) in [("normal", full, 0), ("fast", short, 0), ("normal1", full, 1), ("fast1", short, 1)] {
            let shift = 0.05 * f64::from(level);
            line!(text, "[[flash.write_mode]]\nname = \"{name}{read}\"\nerase_level = {level}");
            if numbers.modes == 8 {
                line!(text, "read_mode = \"read{read}\"");
            }
            line!(text, "derive = {{ retention = \"{retention}ns\", at_pe_cycles = {cycles}, erase_shift = {shift:?} }}");
        }
    }
    if numbers.modes == 8 {
        line!(text, "[[flash.read_mode]]\nname = \"read\"");
        line!(text, "[[flash.read_mode]]\nname = \"read_slow\"\nsense_scale = 1.5\ntransfers = 3");
    }
    for (name, level, scale) in [("ev0", 0, 1.0), ("ev0s", 0, 4.0), ("ev1", 1, 1.0), ("ev1s", 1, 4.0)] {
        let shift = 0.05 * f64::from(level);
        line!(text, "[[flash.erase_mode]]\nname = \"{name}\"\nlevel = {level}\nerase_scale = {scale:?}");
        line!(text, "wear = 0.{}\nerase_shift = {shift:?}", 9 - level);
    }
}

fn interface(rng: &mut Rng, text: &mut String) {
    if chance(rng, 0.6) {
        line!(text, "[host]\ninterface = \"ideal\"");
        return;
    }
    let (depth, time) = (1 + rng.below(8), pick(rng, &["0ns", "500ns", "20us"]));
    let bandwidth = pick(rng, &["20MB/s", "600MB/s", "7GB/s"]);
    line!(text, "[host]\ninterface = {{ kind = \"plain\", queue_depth = {depth}, command_time = \"{time}\",");
    line!(text, "  bandwidth = \"{bandwidth}\", full_duplex = {} }}", chance(rng, 0.5));
}

fn buffer(rng: &mut Rng, text: &mut String, numbers: &Numbers) {
    if chance(rng, 0.5) {
        return;
    }
    let bytes = (numbers.units_per_program * (1 + rng.below(6)) + rng.below(8)) * UNIT_BYTES;
    line!(
        text,
        "[buffer]\npolicy = \"write_back\"\ncapacity = \"{bytes}B\"\nflush_after = \"{}us\"",
        pick(rng, &[0, 10, 300, 3000])
    );
}

fn translation(rng: &mut Rng, text: &mut String, numbers: &Numbers, waits: bool) {
    let reserve = 1 + rng.below(2);
    let critical = reserve + 1 + rng.below(2);
    let low = critical + rng.below(3);
    let slack = pick(rng, &[0, 0, 1, 2, 4]);
    // If a die programs its groups of planes in turn, each stream has an open block in each group.
    let open = |groups: u64| (numbers.modes + numbers.host_streams) * groups;
    let by_plane = chance(rng, 0.4) && numbers.blocks_per_die >= low + open(numbers.groups) + slack + 3;
    let spare = low + open(if by_plane { numbers.groups } else { 1 }) + slack;
    let user_blocks = numbers.blocks_per_die.saturating_sub(spare).max(2);
    // Smallest number of valid units with which collecting a block frees no space: the last program of a collection is
    // padded.
    let held = numbers.units_per_block - numbers.units_per_program + 1;
    let most = numbers.dies * user_blocks * held;
    line!(text, "[ftl]");
    let ratio = (numbers.dies * numbers.blocks_per_die * numbers.units_per_block) as f64 / most as f64 - 1.0;
    if ratio <= 1.0 && chance(rng, 0.5) {
        line!(text, "overprovisioning = {:?}", (ratio * 1e6).ceil() / 1e6);
    } else {
        let units = most - rng.below(held);
        line!(text, "overprovisioning = 0.0\nuser_capacity = \"{}B\"", units * UNIT_BYTES);
    }
    line!(text, "reserve_blocks = {reserve}\ngc_critical_blocks = {critical}\ngc_low_blocks = {low}");
    line!(text, "gc_preemptible = {}\nseparate_relocations = {}", chance(rng, 0.6), chance(rng, 0.6));
    if chance(rng, 0.4) {
        line!(text, "gc_idle_after = \"{}us\"\ngc_idle_target_blocks = {}", pick(rng, &[10, 300, 5000]), low + rng.below(3));
    }
    let victim = pick(
        rng,
        &[
            "\"greedy\"",
            "\"fifo\"",
            "\"random\"",
            "\"cost_benefit\"",
            "{ kind = \"d_choices\", d = 3 }",
            "{ kind = \"windowed_greedy\", window = 4 }",
        ],
    );
    line!(text, "victim = {victim}");
    let wear = pick(
        rng,
        &["\"none\"", "\"dynamic\"", "{ kind = \"static_cold\", spread = 1 }", "{ kind = \"static_cold\", spread = 3 }"],
    );
    line!(text, "wear_leveling = {wear}");
    line!(text, "write_allocation = \"{}\"", pick(rng, &["pull", "pull", "static", "round_robin"]));
    line!(
        text,
        "allocation_order = \"{}\"",
        if by_plane {
            pick(rng, &["CWDP", "PCWD", "DPWC", "WPDC", "CDPW", "PDWC"])
        } else {
            pick(rng, &["CWD", "CDW", "WCD", "WDC", "DCW", "DWC"])
        }
    );
    line!(text, "unmapped_read = \"{}\"", pick(rng, &["zero", "flash"]));
    line!(text, "read_in_flight = \"{}\"", if waits { "wait" } else { "buffer" });
    line!(text, "partial_write = \"{}\"", if chance(rng, 0.1) { "whole" } else { "read_modify_write" });
    let margin = (numbers.block_ns() * rng.below(3)).min(MIN_LIMIT_NS / 2);
    line!(text, "retention_margin = \"{margin}ns\"");
    if text.contains("# superblock 2") {
        line!(text, "superblock_blocks = 2");
    }
}

/// Picks a policy whose write modes exist.
fn policy_name(rng: &mut Rng, modes: u64) -> &'static str {
    let asks_for_fine = ["agcr", "queue_driven", "hcw_lcr"];
    let names = [ftl::PolicyConfig::NAMES, &["ofwar", "ofwar", "agcr"]].concat();
    let names: Vec<&str> = names.into_iter().filter(|name| modes == 3 || !asks_for_fine.contains(name)).collect();
    let name = pick(rng, &names);
    // Deriving the modes for `combine` takes long, so it is picked less often.
    if name == "combine" && chance(rng, 0.7) { "ofwar" } else { name }
}

fn policy(rng: &mut Rng, text: &mut String, numbers: &Numbers) {
    let kind = numbers.policy;
    line!(text, "[policy]\nkind = \"{kind}\"");
    let section = match kind {
        "ofwar" => "ofwar",
        "separate" => "separate.decisions",
        "slc_cache" => {
            line!(text, "[policy.slc_cache]\ncache = \"fast\"\nstatic_blocks = {}", rng.below(3));
            line!(text, "dynamic_blocks = {}\nkeep_free = {}", rng.below(20), 1 + rng.below(8));
            line!(text, "fold_after = \"{}us\"", pick(rng, &[0, 300, 5000]));
            return;
        }
        "combine" => {
            let members = numbers.members;
            line!(text, "[policy.combine]\nmembers = {members:?}");
            line!(text, "[policy.ofwar]\nwrite_threshold = {}\nrewrite_threshold = {}", rng.below(9), rng.below(9));
            line!(text, "queue_depth = {}", pick(rng, &[4, 64, 1024]));
            if members.contains(&"agcr") {
                line!(text, "[policy.agcr]\nlow = \"normal_slow\"\nmedium = \"normal\"\nhigh = \"normal\"");
                line!(text, "queue_depth = {}", pick(rng, &[1, 64, 1024]));
            }
            return;
        }
        "autoftl" => {
            line!(text, "[policy.autoftl]\nbounds = {}", pick(rng, &["[0.8, 0.6, 0.4, 0.2]", "[0.5, 0.1]", "[0.1]"]));
            line!(text, "erases_by = \"{}\"", pick(rng, &["utilisation", "with_copies"]));
            line!(text, "group_writes = {}\ngroups = {}", 1 + rng.below(20), 1 + rng.below(5));
            return;
        }
        "agcr" => {
            line!(text, "[policy.agcr]\nwindow = {}\nkeep_class = {}", pick(rng, &[2, 2, 3, 4]), chance(rng, 0.7));
            line!(text, "rewrite_medium = {}\nidle = \"{}\"", chance(rng, 0.5), pick(rng, &["channel", "drive"]));
            line!(text, "queue_depth = {}", pick(rng, &[1, 4, 1024]));
            return;
        }
        _ => return,
    };
    line!(text, "[policy.{section}]\nwrite_threshold = {}\nrewrite_threshold = {}", rng.below(9), rng.below(9));
    line!(text, "queue_depth = {}\ncounted_in = \"{}\"", pick(rng, &[1, 4, 16, 64, 1024]), pick(rng, &["pages", "requests"]));
    line!(text, "idle = \"{}\"\non_full = \"{}\"", pick(rng, &["channel", "drive"]), pick(rng, &["normal", "evict"]));
    line!(text, "fast_bias = {:?}", pick(rng, &[0.0, 0.5, 1.0]));
    if chance(rng, 0.6) {
        line!(text, "age_threshold = \"{}ns\"", 1_000_000 + rng.below(numbers.rewrite_ns()));
    }
}

fn state(rng: &mut Rng, text: &mut String, numbers: &Numbers) -> u64 {
    line!(text, "[state]\nprecondition = \"{}\"", pick(rng, &["none", "none", "fill", "random", "steady"]));
    let passes = 1 + rng.below(2);
    let pe_cycles = pick(rng, &[0, 0, 3, 100]);
    line!(text, "overwrite_passes = {passes}\npe_cycles = {pe_cycles}");
    if chance(rng, 0.3) {
        line!(text, "age = \"{}ns\"", rng.below(numbers.rewrite_ns()));
    }
    pe_cycles
}

/// Makes the wear of an erase depend on the wear of the block, and retires blocks early.
fn endurance(rng: &mut Rng, text: &mut String, pe_cycles: u64) {
    if chance(rng, 0.5) {
        *text = text.replace("wear = 0.5", "wear = [0.5, 0.8, 1.3]");
    }
    if chance(rng, 0.5) {
        let retire_at = pe_cycles + 1 + rng.below(3);
        *text = text.replace("[ftl]\n", &format!("[ftl]\nretire_at_cycles = {retire_at}\n"));
    }
}
