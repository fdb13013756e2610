//! The protocol between host and device, as data: the transfers over the link for a command, and the work of the host.

use crate::command::{HostCommand, Op};
use crate::service::Service;
use crate::units::{Bytes, Nanos};

/// A step of a command or of data between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A transfer to the device.
    ToDevice(Service),
    /// A transfer to the host.
    ToHost(Service),
    /// A transfer to the device that goes before the others, between two packets of one that is under way. If a
    /// protocol has such transfers, the data of the others is cut into packets, and each direction has a wire.
    FirstToDevice(Service),
    /// A transfer to the host that goes before the others in the same way.
    FirstToHost(Service),
    /// A wait that nothing shares.
    Wait(Nanos),
    /// A wait until the next multiple of a span: the host looks only then.
    Poll(Nanos),
    /// Work on the first core of the host that is free.
    HostCore(Nanos),
    /// Work of the host that only one core at a time can do.
    HostSerial(Nanos),
    /// Waits for the tags of the requests that read this data in host memory, and takes them.
    TakeTags,
    /// Returns the tags.
    ReturnTags,
}

impl Hop {
    /// Returns true if the link carries it.
    pub fn is_transfer(&self) -> bool {
        matches!(self, Hop::ToDevice(_) | Hop::ToHost(_)) || self.goes_first()
    }

    /// Returns true if it is a transfer that goes before others.
    pub fn goes_first(&self) -> bool {
        matches!(self, Hop::FirstToDevice(_) | Hop::FirstToHost(_))
    }
}

/// Transfers and work for a command, in this order. Each list is worked through from its beginning; between its
/// entries, other commands may have the link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// True if both directions share the wire.
    pub half_duplex: bool,
    /// Cores of the host; 0 if its work takes no time.
    pub host_cores: u32,
    /// Number of requests for data in host memory that may be outstanding; 0 if they are not limited.
    pub read_tags: u32,
    /// Largest data of such a request.
    pub read_request: Bytes,
    /// The announcement of a command to the device.
    pub submit: Vec<Hop>,
    /// The command, by operation; with the data that it brings, if `take` is empty. Commands that are fetched together
    /// cross as one.
    pub command: [Vec<Hop>; Op::COUNT],
    /// Bytes of a command.
    pub command_bytes: u64,
    /// A list of addresses that belongs to the command.
    pub list: Vec<Hop>,
    /// Bytes of such a list for each page of host memory, but for the first, of a command with more than two.
    pub page_list: u64,
    /// Bytes of the list of a trim.
    pub trim_list: u64,
    /// Data of a write: the first of its pieces, once there is space for it.
    pub take: Vec<Hop>,
    /// Data of a write: the other pieces.
    pub take_more: Vec<Hop>,
    /// Largest number of mapping units in a piece.
    pub take_units: u32,
    /// Data of a read.
    pub deliver: Vec<Hop>,
    /// The completion, by operation.
    pub complete: [Vec<Hop>; Op::COUNT],
    /// The interrupt, for one completion or several.
    pub interrupt: Vec<Hop>,
    /// True if an interrupt announces several completions; otherwise it follows its completion.
    pub gathers_completions: bool,
    /// The work of the host for a completion.
    pub reap: Vec<Hop>,
    /// A message for which neither side waits: it only occupies the link.
    pub acknowledge: Vec<Hop>,
    /// Accesses of the device to a buffer in host memory; `None` if the interface has none.
    pub host_memory: Option<HostMemory>,
}

/// Accesses of the device to a buffer in host memory that holds the map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// Reads a few entries.
    pub read_entry: Vec<Hop>,
    /// Changes an entry.
    pub write_entry: Vec<Hop>,
    /// Reads whole pages.
    pub read_page: Vec<Hop>,
    /// Writes whole pages.
    pub write_page: Vec<Hop>,
}

/// Bytes of a page of host memory.
const HOST_PAGE: u64 = 4096;

impl Protocol {
    /// Returns true if anything crosses a link.
    pub fn has_link(&self) -> bool {
        self.lists().flatten().any(Hop::is_transfer)
    }

    /// Returns true if the data of a write crosses the link with its command, before there is space for it.
    pub fn data_comes_with_command(&self) -> bool {
        self.take.is_empty()
    }

    /// Returns all lists of hops.
    pub fn lists(&self) -> impl Iterator<Item = &Vec<Hop>> {
        let others = [
            &self.submit,
            &self.list,
            &self.take,
            &self.take_more,
            &self.deliver,
            &self.interrupt,
            &self.reap,
            &self.acknowledge,
        ];
        others.into_iter().chain(&self.command).chain(&self.complete)
    }

    /// Returns all lists of hops, those of a buffer in host memory included.
    pub fn all_lists(&self) -> impl Iterator<Item = &Vec<Hop>> {
        let of_memory = self
            .host_memory
            .iter()
            .flat_map(|memory| [&memory.read_entry, &memory.write_entry, &memory.read_page, &memory.write_page]);
        self.lists().chain(of_memory)
    }

    /// Returns the bytes of the list of addresses that belongs to a command; 0 if it has none. The buffers of the host
    /// begin at a page.
    pub fn list_bytes(&self, command: &HostCommand) -> Bytes {
        let pages = command.length.0.div_ceil(HOST_PAGE);
        Bytes(match command.op {
            Op::Read | Op::Write | Op::Append if pages > 2 => self.page_list * (pages - 1),
            Op::Trim => self.trim_list,
            Op::Read | Op::Write | Op::Append | Op::Flush | Op::Zone => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_more_than_two_pages_has_a_list() {
        let protocol = Protocol { page_list: 8, trim_list: 16, ..Protocol::default() };
        let list = |op: Op, length: u64| protocol.list_bytes(&HostCommand::new(op, 0, Bytes(0), Bytes(length))).0;
        assert_eq!([512, 4096, 8192, 8704, 16384, 131_072].map(|length| list(Op::Read, length)), [0, 0, 0, 16, 24, 248]);
        assert_eq!((list(Op::Write, 16384), list(Op::Trim, 1 << 30), list(Op::Flush, 0)), (24, 16, 0));
    }
}
