//! Physical addresses: chunks that the host writes in order and resets (Open-Channel SSD specification 2.0).

pub mod chunks;
mod layer;
pub mod lines;

use super::{Kind, Other, Parts, Setting, Translator};
use chunks::Rules;
use kit::{Geometry, Problems};
use layer::PassThrough;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most addresses of a vectored command (Open-Channel SSD specification 2.0 \[recalled\]).
pub const MAX_ADDRESSES: usize = 64;
/// Addresses that stand for the lists of vectored commands, behind those of the flash \[mapping units\].
pub const VECTORS: u64 = 1 << 20;

/// No translation: addresses are places of the flash, by the rules of the Open-Channel SSD specification 2.0. A chunk
/// is a block of a die (with all its planes, if they are programmed together), a parallel unit is a die, a group is a
/// channel; the logical block is the mapping unit. Addresses are dense: number of the chunk times its blocks, with the
/// chunks of a die one after another, and the dies of a channel.
///
/// A chunk is written from its beginning on, in multiples of a program (`ws_min`), and reset as a whole, by a trim that
/// covers it: the trim completes with the erase. Reads, writes and resets of up to 64 scattered addresses are one
/// command (those of the C library and the Rust crate, and with `stripe_unit` those of a run). A write completes once
/// it is programmed: there is no write buffer, no policy, no collection and no retention limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Size of writes at which the drive is fastest (`ws_opt`) \[mapping units\], a multiple of a program; for the
    /// host's information. Absent: a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ws_opt: Option<u32>,
    /// Mapping units before the write pointer of an open chunk that cannot be read yet (`mw_cunits`): cells whose data
    /// is complete only once later pages are programmed.
    pub mw_cunits: u32,
    /// Most open chunks (`maxoc`); 0 for no limit.
    pub max_open: u32,
    /// Most open chunks of a die (`maxocpu`); 0 for no limit.
    pub max_open_per_die: u32,
    /// True if a free chunk may be reset: it is erased again.
    pub multiple_resets: bool,
    /// True if an open chunk may be reset, before it is full. Extension of the specification.
    pub early_reset: bool,
    /// Erases after which a chunk that is reset goes offline; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub offline_after: Option<u32>,
    /// Mapping units that the host of a run writes to a parallel unit before it goes on to the next: a multiple of a
    /// program, and a divisor of a chunk. The addresses of the workload are then those of a linear space, striped over
    /// all parallel units in `ftl.allocation_order`, and its commands become vectored commands. Absent: the addresses
    /// are places of the flash. Commands of the C library and the Rust crate are always as the program gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub stripe_unit: Option<u32>,
    /// Share of the chunks of each die that are full at the start, the first ones.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub full: f64,
}

/// Builds the member.
pub fn build(params: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(params.clone())
}

impl Params {
    fn rules(&self, geometry: &Geometry) -> Rules {
        Rules {
            units: geometry.units_per_block,
            chunks_per_die: geometry.blocks_per_die,
            ws_min: geometry.units_per_program,
            ws_opt: self.ws_opt.unwrap_or(geometry.units_per_program),
            mw_cunits: self.mw_cunits,
            open: self.max_open,
            open_per_die: self.max_open_per_die,
            multiple_resets: self.multiple_resets,
            early_reset: self.early_reset,
            offline_after: self.offline_after.unwrap_or(u32::MAX),
        }
    }

    /// Adds the problems of a host that writes lines.
    fn stripe_problems(&self, units: u32, geometry: &Geometry, problems: &mut Problems) {
        let (program, chunk, dies) = (geometry.units_per_program, geometry.units_per_block, geometry.die_count);
        let most = MAX_ADDRESSES as u32;
        if units == 0 || !units.is_multiple_of(program) || !chunk.is_multiple_of(units) {
            let what = format!(
                "{units}: expected a multiple of {program}, the mapping units of a program, and a divisor of {chunk}, those of a chunk"
            );
            problems.add("ftl.translation.stripe_unit", what);
        }
        if program > most {
            let what = format!(
                "a program has {program} mapping units, and a vectored command at most {most} addresses: expected no stripe_unit"
            );
            problems.add("ftl.translation.stripe_unit", what);
        }
        if self.max_open > 0 && self.max_open < dies {
            let what = format!(
                "{}: expected at least {dies}, or 0: with stripe_unit a chunk is open on each of the {dies} dies",
                self.max_open
            );
            problems.add("ftl.translation.max_open", what);
        }
    }
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        Ok(Translator::Other(Other::Physical(Box::new(PassThrough::new(self, parts)?))))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("the host decides where data goes")
    }

    fn blocks_needed(&self) -> Option<u32> {
        Some(1)
    }

    fn user_units(&self, geometry: &Geometry) -> Option<u64> {
        Some(geometry.unit_count())
    }

    fn problems(&self, setting: &Setting<'_>, problems: &mut Problems) {
        let geometry = setting.geometry;
        let place = |field: &str| format!("ftl.translation.{field}");
        let program = geometry.units_per_program;
        if let Some(units) = self.ws_opt.filter(|units| *units == 0 || !units.is_multiple_of(program)) {
            problems.add(place("ws_opt"), format!("{units}: expected a multiple of {program}, the mapping units of a program"));
        }
        if self.mw_cunits >= geometry.units_per_block {
            let what =
                format!("{}: expected less than {}, the mapping units of a chunk", self.mw_cunits, geometry.units_per_block);
            problems.add(place("mw_cunits"), what);
        }
        if self.max_open > 0 && self.max_open_per_die > self.max_open {
            let what = format!("{}: expected at most max_open, which is {}", self.max_open_per_die, self.max_open);
            problems.add(place("max_open_per_die"), what);
        }
        if let Some(units) = self.stripe_unit {
            self.stripe_problems(units, geometry, problems);
        }
        if setting.has_buffer {
            let what = "writes go to the flash as they are: expected policy = \"none\" and no read cache, with \
                        ftl.translation = \"pass_through\"";
            problems.add("buffer", what);
        }
        if geometry.unit_count() > (1 << 32) - VECTORS {
            let what = "expected less than 16 TiB less 4 GiB with ftl.translation = \"pass_through\"";
            problems.add("flash", what);
        }
    }
}
