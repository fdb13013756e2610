//! The electrical interfaces of a channel and the times of their phases.

use kit::{Nanos, TransferRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Electrical interface of the channel, which determines command, address and turn-around times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// Asynchronous single data rate, ONFI 1.0 timing mode 5, up to 50 MT/s.
    Sdr,
    /// Source-synchronous, ONFI 2.x, up to 200 MT/s.
    NvDdr,
    /// ONFI 3.x, up to 533 MT/s.
    NvDdr2,
    /// ONFI 4.x and later (NV-DDR3, NV-LPDDR4), up to 4800 MT/s; rates above 2400 MT/s are recalled, not checked.
    NvDdr3,
}

impl Interface {
    /// Returns the highest transfer rate of the interface.
    pub fn fastest(self) -> TransferRate {
        TransferRate(
            1_000_000
                * match self {
                    Interface::Sdr => 50,
                    Interface::NvDdr => 200,
                    Interface::NvDdr2 => 533,
                    Interface::NvDdr3 => 4800,
                },
        )
    }
}

/// Times of the interface's phases, each at most 1 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// tCS: chip select before the first cycle.
    pub t_cs: Nanos,
    /// One command or address cycle: tWC (SDR, NV-DDR2 and later) or tCAD (NV-DDR).
    pub t_cycle: Nanos,
    /// tADL: last address cycle to first data.
    pub t_adl: Nanos,
    /// tWB: last cycle to busy.
    pub t_wb: Nanos,
    /// tRR: ready to first data out.
    pub t_rr: Nanos,
    /// tCCS: change of column to data, once for each further plane of a transfer.
    pub t_ccs: Nanos,
    /// tWPST + tWPSTH: end of a data-in burst.
    pub t_wpst: Nanos,
    /// tDBSY: dummy busy between the planes of a multi-plane operation.
    pub t_dbsy: Nanos,
}

impl Phases {
    /// The longest time that a phase may take: a thousand times what any interface has.
    pub const LONGEST: Nanos = Nanos(1_000_000);

    /// Returns the times by the names of their fields.
    pub fn by_name(&self) -> [(&'static str, Nanos); 8] {
        let Phases { t_cs, t_cycle, t_adl, t_wb, t_rr, t_ccs, t_wpst, t_dbsy } = *self;
        [
            ("t_cs", t_cs),
            ("t_cycle", t_cycle),
            ("t_adl", t_adl),
            ("t_wb", t_wb),
            ("t_rr", t_rr),
            ("t_ccs", t_ccs),
            ("t_wpst", t_wpst),
            ("t_dbsy", t_dbsy),
        ]
    }

    /// Returns the times of an interface (FACTS 5.5).
    pub fn of(interface: Interface) -> Phases {
        let ns = Nanos;
        match interface {
            // ONFI SDR timing mode 5.
            Interface::Sdr => Phases {
                t_cs: ns(15),
                t_cycle: ns(20),
                t_adl: ns(400),
                t_wb: ns(100),
                t_rr: ns(20),
                t_ccs: ns(500),
                t_wpst: ns(0),
                t_dbsy: ns(500),
            },
            // ONFI NV-DDR, all modes: command and address cycles take tCAD; the end of a burst is taken as tWRCK.
            Interface::NvDdr => Phases {
                t_cs: ns(20),
                t_cycle: ns(45),
                t_adl: ns(400),
                t_wb: ns(100),
                t_rr: ns(20),
                t_ccs: ns(500),
                t_wpst: ns(20),
                t_dbsy: ns(500),
            },
            Interface::NvDdr2 | Interface::NvDdr3 => Phases {
                t_cs: ns(20),
                t_cycle: ns(25),
                t_adl: ns(70),
                t_wb: ns(100),
                t_rr: ns(20),
                t_ccs: ns(300),
                t_wpst: ns(21),
                t_dbsy: ns(500),
            },
        }
    }
}
