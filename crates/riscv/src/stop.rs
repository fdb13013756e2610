//! Reasons for which a run ends.

use crate::Image;
use std::fmt;

/// Width of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
}

impl Width {
    /// Returns the number of bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }
}

/// An access to a device register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load. [`crate::Core::answer_load`] extends the answer to 32 bits.
    Load {
        /// Width of the access.
        width: Width,
        /// True if the value is extended with its sign.
        signed: bool,
    },
    /// A store.
    Store {
        /// Width of the access.
        width: Width,
        /// Value to store, in the low bits; the others are zero.
        value: u32,
    },
}

/// Reason for which a run ended, and with it the state of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The instruction at the program counter accesses a device register. It has not retired: the embedder answers by
    /// [`crate::Core::answer_load`] or [`crate::Core::accept_store`]. A run without an answer stops here again.
    Device {
        /// Address of the access, a multiple of its width.
        address: u32,
        /// Load or store.
        access: Access,
    },
    /// The instruction at the program counter accesses the shared memory, at the cycle from which on the core may not,
    /// or later ([`crate::Core::limit_shared`]). It has not retired.
    Shared,
    /// A `wfi` has retired.
    Wait,
    /// The cycle up to which the core was to run is reached.
    Budget,
    /// An `ecall` has retired; its arguments are in the registers.
    Call {
        /// Address of the instruction.
        pc: u32,
    },
    /// An `ebreak` has retired.
    Break {
        /// Address of the instruction.
        pc: u32,
    },
    /// An instruction cannot be executed. It has not retired and changed nothing; a run stops here again.
    Fault(Fault),
}

/// An instruction that cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Address of the instruction.
    pub pc: u32,
    /// Kind of the fault.
    pub cause: Cause,
    /// Encoding of an illegal instruction, the target of a fetch, or the address of a load or store.
    pub value: u32,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The encoding is reserved, or of an extension that the core does not have.
    Illegal,
    /// The program counter is not in the text.
    FetchAccess,
    /// The program counter is odd. Jumps and branches never make it odd; [`crate::Core::set_pc`] may.
    FetchMisaligned,
    /// The address of a load is not a multiple of its width. Misaligned accesses are not supported.
    LoadMisaligned,
    /// The address of a store is not a multiple of its width.
    StoreMisaligned,
    /// A load from an address that is neither memory nor a device.
    LoadAccess,
    /// A store to an address that is neither memory nor a device.
    StoreAccess,
    /// A store to the text, which is decoded once and never changes.
    StoreToText,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Illegal => "illegal instruction",
            Cause::FetchAccess => "fetch outside the text",
            Cause::FetchMisaligned => "fetch from an odd address",
            Cause::LoadMisaligned => "misaligned load",
            Cause::StoreMisaligned => "misaligned store",
            Cause::LoadAccess => "load outside memory and devices",
            Cause::StoreAccess => "store outside memory and devices",
            Cause::StoreToText => "store to the text",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { pc, cause, value } = self;
        let value_name = if *cause == Cause::Illegal { "encoding" } else { "address" };
        write!(f, "{cause} at {pc:#010x}: {value_name} {value:#010x}")
    }
}

impl Fault {
    /// Returns the message with the function of `image` that holds the instruction.
    pub fn describe(&self, image: &Image) -> String {
        match image.function_at(self.pc) {
            Some(function) => format!("{self}, in `{}` + {:#x}", function.name, self.pc - function.address),
            None => self.to_string(),
        }
    }
}
