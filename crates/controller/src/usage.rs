//! Amounts of work of a controller's parts, from which their energy is computed.

use kit::Nanos;

/// Kind of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Activates of a row in a bank of the memories.
    Activates,
    /// Bursts read from the memories.
    BurstsRead,
    /// Bursts written to the memories.
    BurstsWritten,
    /// Refreshes of a rank; with refresh by bank, those of its banks, each a refresh.
    Refreshes,
    /// Clock cycles for which a rank had a row open, of all ranks together.
    CyclesOpen,
    /// Time for which memories with a data rate were busy \[ns\].
    MemoryBusy,
    /// Time for which cores were busy \[ns\].
    CoresBusy,
    /// Bytes of data that servers of the interconnect accepted.
    InterconnectBytes,
    /// Time for which the link carried something to the device, or in either direction if they share the wire \[ns\].
    ToDeviceBusy,
    /// Time for which the link carried something to the host, in a direction of its own \[ns\].
    ToHostBusy,
    /// Bytes of data that the link accepted.
    LinkBytes,
    /// Codewords decoded by hard decision, each attempt counted.
    DecodedHard,
    /// Codewords decoded with soft levels, each attempt counted.
    DecodedSoft,
    /// Time of the stages after a codeword's arrival, without waits \[ns\]: for LDPC codes that of the iterations.
    Decoding,
}

/// Number of kinds of amounts.
const AMOUNTS: usize = Amount::Decoding as usize + 1;

/// Amounts since the drive was created. Amounts of time end at the instant of asking; the others count work that has
/// been accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage([u64; AMOUNTS]);

impl Usage {
    /// Returns an amount.
    pub fn of(&self, amount: Amount) -> u64 {
        self.0[amount as usize]
    }

    /// Adds to an amount.
    pub fn add(&mut self, amount: Amount, more: u64) {
        self.0[amount as usize] += more;
    }

    /// Returns the sum of both.
    pub fn plus(&self, other: &Usage) -> Usage {
        Usage(std::array::from_fn(|at| self.0[at] + other.0[at]))
    }

    /// Returns the amounts since `earlier`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage(std::array::from_fn(|at| self.0[at] - earlier.0[at]))
    }
}

/// The part of a drive to which a server belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOfDrive {
    /// The host's processor.
    Host,
    /// The link to the device, or the wire of both directions.
    ToDevice,
    /// The link to the host.
    ToHost,
    /// The firmware's cores.
    Cores,
    /// The interconnect.
    Interconnect,
    /// A channel of the DMA controller.
    Dma,
    /// A memory with a data rate.
    Memory,
    /// An encoder.
    Encoder,
    /// The link or the processor of a card of flash.
    Card,
}

impl PartOfDrive {
    /// Adds the work of a server: the time for which it was busy, and the bytes that it accepted.
    pub fn add(self, busy: Nanos, bytes: u64, usage: &mut Usage) {
        match self {
            PartOfDrive::Host | PartOfDrive::Encoder | PartOfDrive::Card | PartOfDrive::Dma => {}
            PartOfDrive::ToDevice => {
                usage.add(Amount::ToDeviceBusy, busy.0);
                usage.add(Amount::LinkBytes, bytes);
            }
            PartOfDrive::ToHost => {
                usage.add(Amount::ToHostBusy, busy.0);
                usage.add(Amount::LinkBytes, bytes);
            }
            PartOfDrive::Cores => usage.add(Amount::CoresBusy, busy.0),
            PartOfDrive::Interconnect => usage.add(Amount::InterconnectBytes, bytes),
            PartOfDrive::Memory => usage.add(Amount::MemoryBusy, busy.0),
        }
    }
}
