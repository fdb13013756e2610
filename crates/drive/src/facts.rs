//! Facts that follow from a drive's description: capacities, parallelism, bounds, modes, memory. For `ssdlab show`.

use crate::Description;
use flash::Timing;
use kit::{Geometry, ModeId, NORMAL_MODE, Nanos, Operation, OperationKind};
use serde_json::{Value, json};

/// Returns the facts, in the order in which they are shown.
pub fn facts(name: &str, description: &Description) -> Value {
    let geometry = description.geometry();
    let user_units = geometry.unit.whole(description.user_bytes());
    let has_map = description.ftl.translation.build(()).lacks().is_none();
    json!({
        "name": name,
        "title": description.title,
        "policy": description.policy.kind,
        "precondition": description.state.precondition,
        "user_bytes": description.user_bytes(),
        "physical_bytes": geometry.physical_bytes(),
        "overprovisioning": effective_overprovisioning(description, &geometry),
        "stated_overprovisioning": description.ftl.overprovisioning,
        "channels": geometry.shape.channels,
        "chips": geometry.chip_count,
        "dies_working_at_once": geometry.die_count,
        "planes_per_program": geometry.shape.planes_per_program,
        "blocks": geometry.block_count,
        "block_bytes": geometry.unit.data(geometry.units_per_block).0,
        "program_bytes": geometry.unit.data(geometry.units_per_program).0,
        "map_memory_bytes": has_map.then(|| description.map_bytes_in_memory(&geometry)),
        "simulator_map_bytes": has_map.then(|| simulator_map_bytes(&geometry, user_units)),
        "bounds": bounds(description, &geometry),
        "write_modes": write_modes(description, &geometry),
        "erase_modes": erase_modes(description, &geometry),
        "read_modes": read_modes(description),
    })
}

/// Returns the over-provisioning that the user capacity leaves: the stated one, unless a user capacity is given.
fn effective_overprovisioning(description: &Description, geometry: &Geometry) -> f64 {
    let (physical, user) = (geometry.physical_bytes(), description.user_bytes());
    if description.ftl.user_capacity.is_none() {
        return description.ftl.overprovisioning;
    }
    (physical - user) as f64 / user as f64
}

/// Returns the memory that the simulator's map takes, in bytes: 4 for each logical unit, as that of the drive, and 4
/// and a validity bit for each physical unit.
fn simulator_map_bytes(geometry: &Geometry, user_units: u64) -> u64 {
    4 * user_units + 4 * geometry.unit_count() + geometry.unit_count() / 8
}

/// Returns the bounds that no workload can exceed: for reads of a mapping unit spread evenly over the dies, and for
/// full program units in the mode `normal`.
fn bounds(description: &Description, geometry: &Geometry) -> Value {
    let timing = description.timing(geometry);
    let shape = &geometry.shape;
    let read = Operation { kind: OperationKind::Read, units: 1, pages: 1, ..Operation::default() };
    let senses = page_types(geometry).map(|page_type| timing.array(&Operation { page_type, ..read }));
    let (read_bus, read_array) = (bus(&timing, &read), mean(senses));
    let normal = description.flash.write_modes.iter().position(|mode| mode.name == NORMAL_MODE).unwrap_or(0);
    let program = program(geometry, normal);
    let (program_bus, program_array) = (bus(&timing, &program), mean(program_times(&timing, geometry, &program)));
    let per_second = |bytes: u64, bus: f64, array: f64| {
        let by_channel = f64::from(shape.channels) / bus;
        let by_die = f64::from(geometry.die_count) / (bus + array);
        by_channel.min(by_die) * bytes as f64 * 1e9
    };
    json!({
        "read_at_depth_1_ns": read_bus + read_array,
        "random_read_bytes_per_s": per_second(geometry.unit.bytes(), read_bus, read_array),
        "random_read_iops": per_second(1, read_bus, read_array),
        "program_ns": program_array,
        "write_bytes_per_s": per_second(geometry.unit.data(program.units).0, program_bus, program_array),
    })
}

fn write_modes(description: &Description, geometry: &Geometry) -> Vec<Value> {
    let timing = description.timing(geometry);
    let (wear, rated) = (description.state.pe_cycles, description.flash.rated_pe_cycles);
    let modes = description.flash.write_modes.iter().enumerate();
    modes
        .map(|(index, mode)| {
            let program = program(geometry, index);
            json!({
                "name": mode.name,
                "program_ns": mean(program_times(&timing, geometry, &program)),
                "retention_ns": mode.retention_at(wear, rated).map(|limit| limit.0),
                "retention_at_rated_ns": mode.retention_at(rated, rated).map(|limit| limit.0),
                "outside": mode.derivation.as_ref().map_or(&[][..], |derivation| &derivation.outside),
            })
        })
        .collect()
}

fn erase_modes(description: &Description, geometry: &Geometry) -> Vec<Value> {
    let timing = description.timing(geometry);
    let erase =
        |index: usize| Operation { kind: OperationKind::Erase, pages: 1, mode: ModeId(index as u8), ..Operation::default() };
    let wear = |index: usize| description.flash.erase_modes.get(index).map_or(json!(1.0), |mode| json!(mode.wear));
    let names = description.flash.erase_mode_names().into_iter().enumerate();
    names.map(|(index, name)| json!({"name": name, "erase_ns": timing.array(&erase(index)).0, "wear": wear(index)})).collect()
}

fn read_modes(description: &Description) -> Vec<Value> {
    let read = description.flash.read_time.all();
    let mean = read.iter().map(|time| time.0 as f64).sum::<f64>() / read.len() as f64;
    let one = |name: &str, scale: f64, transfers: u32, corrects: Option<f64>| json!({"name": name, "sense_ns": mean * scale, "transfers": transfers, "corrects": corrects});
    match &description.flash.read_modes[..] {
        [] => vec![one(NORMAL_MODE, 1.0, 1, None)],
        modes => modes.iter().map(|mode| one(&mode.name, mode.sense_scale, mode.transfers, mode.corrects)).collect(),
    }
}

/// Returns the program of a full program unit in a write mode.
fn program(geometry: &Geometry, mode: usize) -> Operation {
    Operation {
        kind: OperationKind::Program,
        units: geometry.units_per_program,
        pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
        mode: ModeId(mode as u8),
        ..Operation::default()
    }
}

/// Returns the program times of the array: one if a program takes a whole wordline, else one for each page type.
fn program_times(timing: &Timing, geometry: &Geometry, program: &Operation) -> impl Iterator<Item = Nanos> {
    let types = if geometry.shape.pages_per_program > 1 { 1 } else { geometry.shape.bits_per_cell };
    (0..types).map(|page_type| timing.array(&Operation { page_type, ..*program }))
}

fn page_types(geometry: &Geometry) -> std::ops::Range<u32> {
    0..geometry.shape.bits_per_cell
}

/// Returns the time of an operation on its channel \[ns\].
fn bus(timing: &Timing, operation: &Operation) -> f64 {
    (timing.command(operation).0 + timing.data(operation).0) as f64
}

/// Returns the mean \[ns\].
fn mean(times: impl Iterator<Item = Nanos>) -> f64 {
    let (sum, count) = times.fold((0, 0u32), |(sum, count), time| (sum + time.0, count + 1));
    sum as f64 / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the bounds of `ideal-512g` with values computed by hand: 64 dies, 8 channels, tR 50 us, a command of
    /// 290 ns, 4 KiB in 3.414 us.
    #[test]
    fn bounds_are_those_of_the_busiest_resource() {
        let description = Description::read("test.toml", "base = \"ideal-512g\"", &[]).expect("a preset");
        let facts = facts("ideal-512g", &description);
        let bounds = &facts["bounds"];
        assert_eq!(bounds["read_at_depth_1_ns"], json!(290.0 + 50_000.0 + 3_414.0));
        let by_die = 64.0 / (290.0 + 50_000.0 + 3_414.0) * 1e9;
        assert!((bounds["random_read_iops"].as_f64().expect("a number") / by_die - 1.0).abs() < 1e-12);
        // With a tR of 1 us, the channels are the bottleneck.
        let set = "flash.read_time=1us".to_owned();
        let quick = Description::read("test.toml", "base = \"ideal-512g\"", &[set]).expect("a quick drive");
        let by_channel = 8.0 / (290.0 + 3_414.0) * 1e9;
        let iops = super::facts("quick", &quick)["bounds"]["random_read_iops"].as_f64().expect("a number");
        assert!((iops / by_channel - 1.0).abs() < 1e-12, "{iops}");
    }
}
