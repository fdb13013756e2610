//! Facts, needs and arguments of calls: all that the engine and a policy exchange, declared once.

use kit::{BlockId, ChannelId, DieId, Lpn, ModeId, Nanos, Ppn, Reason};

/// Passes the declarations to the macro `then`: here it makes the types, in the crate for Python the classes, the
/// conversions and the description from which Python's types are generated. `name` in a text is a call or a field.
/// In Python a need has the default of its type, or the one stated (`=`), and is set if the policy overrides one of the
/// calls from which it follows (`=>`).
#[macro_export]
macro_rules! policy_exchange {
    ($then:ident) => {
        $then! {
            /// Constant properties of the drive, which a policy is built with.
            Facts {
                /// Names of the write modes, in the order of their numbers.
                write_modes: Vec<String>,
                /// Names of the erase modes, in the order of their numbers.
                erase_modes: Vec<String>,
                /// Names of the read modes, in the order of their numbers.
                read_modes: Vec<String>,
                /// Retention limit of each write mode at the wear stated in the description; `None`: without limit.
                retention: Vec<Option<Nanos>>,
                /// Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; empty: without
                /// limit.
                retention_by_wear: Vec<Vec<Nanos>>,
                /// Program time of each write mode, as a multiple of the nominal time.
                program_scales: Vec<f64>,
                /// Time that the encoder of each write mode takes for one unit; 0 without an encoder.
                encode_times: Vec<Nanos>,
                /// Shallowest level of erase on which each write mode can be programmed.
                write_levels: Vec<u8>,
                /// Number of units that a block holds in each write mode.
                block_units: Vec<u32>,
                /// Number of the encoder of each write mode, counted from 1; 0 without an encoder.
                codes: Vec<u8>,
                /// Level of each erase mode: 0 is the deepest.
                erase_levels: Vec<u8>,
                /// Wear of a fresh block by one erase in each erase mode, in nominal erases.
                erase_wear: Vec<f64>,
                /// Erase time of each erase mode, as a multiple of tBERS.
                erase_scales: Vec<f64>,
                /// Read mode that data of each write mode needs.
                read_mode_of: Vec<ModeId>,
                /// Time to sense and transfer one unit in each read mode.
                read_times: Vec<Nanos>,
                /// Program and erase cycles that a block is rated for.
                rated_pe_cycles: u32,
                /// tR + tPROG in the `normal` mode: the time for which a die is busy with the move of one program
                /// unit.
                move_time: Nanos,
                /// Time that one page move takes of the drive as a whole: its die time divided by the number of dies,
                /// or its transfer time divided by the number of channels, whichever is longer.
                page_move_share: Nanos,
                /// Time before its retention limit at which the drive itself moves data (`ftl.retention_margin`).
                retention_margin: Nanos,
                /// tPROG in the `normal` mode.
                program_time: Nanos,
                /// tBERS in the first erase mode.
                erase_time: Nanos,
                /// Bytes of a mapping unit.
                unit_bytes: u64,
                /// Number of units that one program writes.
                units_per_program: u32,
                /// Number of blocks in a die.
                blocks_per_die: u32,
                /// Number of dies in the drive.
                die_count: u32,
                /// Number of logical units: the capacity of the drive in mapping units.
                user_units: u64,
            }

            /// Services that a policy needs from the engine.
            Needs {
                /// Number of write frontiers on each die for host data; at least 1. Frontiers for relocations are added
                /// by the engine if the drive separates them.
                host_streams: u8 = 1,
                /// Number of write frontiers on each die for relocated data of each write mode; 0 counts as 1. With
                /// more than one, the policy is asked for each unit and may answer with a stream, and relocated data
                /// shares no frontier with host data.
                relocation_streams: u8,
                /// Bits of declared state for each logical unit: 0, 1, 2, 4 or 8. The engine keeps, reports and saves
                /// them.
                bits_per_unit: u8,
                /// Bytes of declared state for each block. They outlast an erase.
                bytes_per_block: u8,
                /// Idle time of a die after which `idle` is called; 0: at once.
                idle_after: Nanos,
                /// True if data of the first host stream and relocated data must not share a write frontier, because
                /// their modes differ.
                relocations_apart: bool,
                /// True if the scope of a mode is the page, so that a block holds data of several write modes. The
                /// engine then treats each block as written in the mode of old data, with the shortest retention limit
                /// of the modes in use (`uses`). The policy remembers the mode of each page and answers for its reads.
                page_scope: bool,
                /// True if the engine is to list the units in `Moving.units`.
                moving: bool,
                /// True if the policy reads the age of the data that a host write replaces: the first program of its
                /// block is then loaded ahead. Results do not depend on it.
                ages: bool,
                /// True if the engine is to call `requested`.
                requests: bool => [requested],
                /// True if the engine is to call `placed`.
                placed: bool => [placed],
                /// True if the engine is to call `dropped`.
                dropped: bool => [dropped],
                /// True if the engine is to call `opened` and `erased`.
                blocks: bool => [opened, erased],
                /// True if the engine is to call `read_issued`.
                reads: bool => [read_issued],
                /// True if the engine is to call `read_done`.
                reads_done: bool => [read_done],
                /// True if `score` replaces the drive's victim rule.
                scores: bool => [score],
                /// True if the policy moves data: the engine is to call `urgent`, `forced`, `wake_at` and `idle`.
                /// `drain` is called in any case.
                moves: bool => [urgent, forced, wake_at, idle],
                /// With `moves`: true if the engine is to call `idle` alone. The other calls are made whenever a die
                /// chooses its next operation.
                idle_only: bool => [idle],
                /// True if `erase` chooses among erase modes.
                erases: bool => [erase],
            }

            /// Host write that is about to be bound to one program.
            Dispatch<'a> {
                /// Die that takes the write.
                die: DieId,
                /// Units of host writes that this die could take after this one: those of the whole drive where idle
                /// dies pull.
                waiting: u64,
                /// Number of other idle dies that could take those units at once; 0 where each die has its own queue.
                others_idle: u32,
            }
            with {
                /// Logical units that the program writes together (numbers of mapping units), oldest first.
                units: &'a [Lpn],
            }

            /// Collection: a block that is being emptied.
            Collection {
                /// The block.
                block: BlockId,
                /// Reason: `gc`, `wear`, `rewrite`, `reprogram`, `scrub` or `evacuate`.
                reason: Reason,
                /// True if it was begun because its die was idle, and not because its space is needed.
                background: bool,
                /// Units that were valid when it began.
                valid: u32,
            }

            /// Data that a collection is about to move with one program.
            Moving<'a> of collection: Collection {}
            with {
                /// Logical units, in the order in which they lie in the block; empty unless the policy declares
                /// `moving`. With several relocation streams always one unit.
                units: &'a [Lpn],
            }

            /// Unit that has been bound to a place.
            Placed {
                /// Logical unit.
                lpn: Lpn,
                /// Place in flash.
                ppn: Ppn,
                /// Write mode.
                mode: ModeId,
                /// Reason of the write: `host`, or the reason of the move.
                reason: Reason,
                /// Host stream of the write; `None` for data that was moved.
                stream: Option<u8>,
                /// Place whose data it replaces; `None` if the unit had none in flash.
                superseded: Option<Ppn>,
            }

            /// Read of a unit in flash.
            UnitRead {
                /// Logical unit.
                lpn: Lpn,
                /// Place in flash.
                ppn: Ppn,
                /// Reason of the read: `host`, or the reason for which data is moved or completed.
                reason: Reason,
            }

            /// An idle die, and the times for which it, its channel and the drive have been idle.
            Idle {
                /// The die.
                die: DieId,
                /// Idle time of the die \[ns\].
                die_for: Nanos,
                /// Channel of the die.
                channel: ChannelId,
                /// Time for which no die of the channel has worked \[ns\]; `None` while one does, or a host write
                /// waits.
                channel_for: Option<Nanos>,
                /// Time for which no die has worked and no host command has arrived or completed \[ns\]; `None` while a
                /// die works, a host write waits, or a host command or page move is in flight.
                drive_for: Option<Nanos>,
            }

            /// Candidate for collection: the block with the fewest valid units among the closed blocks of a write mode
            /// and die.
            Candidate {
                /// The block.
                block: BlockId,
                /// Its valid units.
                valid: u32,
                /// Other units that it could hold in its mode.
                invalid: u32,
                /// Write mode of its data.
                mode: ModeId,
            }
        }
    };
}

/// Makes a structure of each declaration.
macro_rules! structures {
    (
        $(#[doc = $about_facts:literal])+ Facts { $($(#[doc = $about_fact:literal])+ $fact:ident: $of_fact:ty,)+ }
        $(#[doc = $about_needs:literal])+ Needs {
            $(
                $(#[doc = $about_need:literal])+
                $need:ident: $of_need:ty $(= $default:literal)? $(=> [$($call:ident),+])?,
            )+
        }
        $(
            $(#[doc = $about:literal])+ $name:ident $(<$of_units:lifetime>)? $(of $part:ident: $whole:ident)? {
                $($(#[doc = $about_field:literal])+ $field:ident: $of:ty,)*
            }
            $(with { $(#[doc = $about_units:literal])+ $units:ident: &$life:lifetime [Lpn], })?
        )+
    ) => {
        $(#[doc = $about_facts])+
        #[derive(Clone, Debug)]
        pub struct Facts { $($(#[doc = $about_fact])+ pub $fact: $of_fact,)+ }

        $(#[doc = $about_needs])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Needs { $($(#[doc = $about_need])+ pub $need: $of_need,)+ }

        $(
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name $(<$of_units>)? {
                $(
                    #[doc = concat!("The ", stringify!($part), " itself.")]
                    pub $part: $whole,
                )?
                $($(#[doc = $about_field])+ pub $field: $of,)*
                $($(#[doc = $about_units])+ pub $units: &$life [Lpn],)?
            }
        )+
    };
}

policy_exchange!(structures);
