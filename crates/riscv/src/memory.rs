//! The memory that cores share: decoded text, data, a region behind caches, and the addresses of devices.

use crate::Image;
use crate::decode::{Instruction, decode_text};
use kit::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest text \[bytes\]: decoded, it takes six times as much.
const MAX_TEXT_BYTES: u32 = 64 << 20;
/// Largest region of RAM \[bytes\].
const MAX_RAM_BYTES: u32 = 1 << 30;
/// End of the address space.
const END: u64 = 1 << 32;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressRange {
    /// First address, a multiple of 4.
    pub address: u32,
    /// Size \[bytes\], a multiple of 4.
    pub bytes: u32,
}

impl AddressRange {
    /// Returns the first address behind the range.
    fn end(&self) -> u64 {
        u64::from(self.address) + u64::from(self.bytes)
    }

    fn contains(&self, address: u32) -> bool {
        address.wrapping_sub(self.address) < self.bytes
    }

    fn overlaps(&self, other: &AddressRange) -> bool {
        u64::from(self.address) < other.end() && u64::from(other.address) < self.end()
    }

    fn problems(&self, place: &str, bytes_max: u32, problems: &mut Problems) {
        if !self.address.is_multiple_of(4) {
            problems.add(format!("{place}.address"), format!("{:#x}: expected a multiple of 4", self.address));
        }
        if self.bytes == 0 || !self.bytes.is_multiple_of(4) || self.bytes > bytes_max {
            let found = self.bytes;
            problems.add(format!("{place}.bytes"), format!("{found}: expected a multiple of 4 within 4..={bytes_max}"));
        }
        if self.end() > END {
            problems.add(place, format!("ends at {:#x}: expected at most {END:#x}", self.end()));
        }
    }
}

/// Map of the addresses of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Memory of the text, and of constants beside it: tightly coupled, read and executed, never stored to. At most
    /// 64 MiB.
    pub text: AddressRange,
    /// Tightly coupled memories of data. Accesses to the first are simulated fastest.
    #[serde(default)]
    pub data: Vec<AddressRange>,
    /// Memory of data that takes the time of [`crate::SharedMemory`]. Absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<AddressRange>,
    /// Addresses of device registers, whose accesses end a run.
    #[serde(default)]
    pub devices: Vec<AddressRange>,
}

impl Layout {
    /// Adds every invalid range to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        let ranges = self.named(place);
        for (at, (name, range, bytes_max)) in ranges.iter().enumerate() {
            range.problems(name, *bytes_max, problems);
            if let Some((other, ..)) = ranges[..at].iter().find(|(_, other, _)| range.overlaps(other)) {
                problems.add(name, format!("overlaps `{other}`: expected ranges apart"));
            }
        }
    }

    /// Returns all ranges with their paths and largest sizes.
    fn named(&self, place: &str) -> Vec<(String, AddressRange, u32)> {
        let mut ranges = vec![(format!("{place}.text"), self.text, MAX_TEXT_BYTES)];
        let data = self.data.iter().enumerate();
        ranges.extend(data.map(|(at, range)| (format!("{place}.data[{at}]"), *range, MAX_RAM_BYTES)));
        ranges.extend(self.shared.map(|range| (format!("{place}.shared"), range, MAX_RAM_BYTES)));
        let devices = self.devices.iter().enumerate();
        ranges.extend(devices.map(|(at, range)| (format!("{place}.devices[{at}]"), *range, u32::MAX - 3)));
        ranges
    }
}

/// Kind of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Data,
    Shared,
}

/// A region of memory.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    base: u32,
    pub kind: Kind,
    bytes: Vec<u8>,
}

impl Region {
    fn new(range: AddressRange, kind: Kind) -> Region {
        Region { base: range.address, kind, bytes: vec![0; range.bytes as usize] }
    }

    /// Returns `N` bytes at `address` if the region holds them.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        self.bytes.get(address.wrapping_sub(self.base) as usize..)?.first_chunk::<N>().copied()
    }

    /// Stores `N` bytes at `address` and returns whether the region holds that address.
    #[inline(always)]
    pub fn store<const N: usize>(&mut self, address: u32, value: [u8; N]) -> bool {
        let rest = self.bytes.get_mut(address.wrapping_sub(self.base) as usize..);
        rest.and_then(|rest| rest.first_chunk_mut::<N>()).map(|place| *place = value).is_some()
    }

    fn slice(&self, address: u32, bytes: usize) -> Option<&[u8]> {
        self.bytes.get(address.wrapping_sub(self.base) as usize..)?.get(..bytes)
    }

    fn slice_mut(&mut self, address: u32, bytes: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(address.wrapping_sub(self.base) as usize..)?.get_mut(..bytes)
    }
}

/// Interconnect before the memory that several cores share.
#[derive(Clone, Debug)]
pub(crate) struct Interconnect {
    /// Cycles for which an access occupies it.
    cycles: u32,
    /// First cycle at which it is free.
    free_at: u64,
}

impl Interconnect {
    /// Accounts an access that begins at a cycle, and returns the cycles for which it waits for others.
    pub fn access(&mut self, now: u64) -> u32 {
        let wait = self.free_at.saturating_sub(now);
        self.free_at = now + wait + u64::from(self.cycles);
        u32::try_from(wait).unwrap_or(u32::MAX)
    }
}

/// Regions that loads and stores reach.
#[derive(Clone, Debug)]
pub(crate) struct Ram {
    /// The first region of data, which is looked up without a search; of no bytes if there is none.
    pub first: Region,
    /// The shared memory, which is looked up next, the other regions of data, and the text.
    pub others: Vec<Region>,
    devices: Vec<AddressRange>,
    /// Absent while one core has the shared memory for itself.
    pub interconnect: Option<Interconnect>,
}

impl Ram {
    fn new(layout: &Layout) -> Ram {
        let mut data = layout.data.iter().map(|range| Region::new(*range, Kind::Data));
        let none = AddressRange { address: 0, bytes: 0 };
        let first = data.next().unwrap_or_else(|| Region::new(none, Kind::Data));
        let shared = layout.shared.map(|range| Region::new(range, Kind::Shared));
        let text = Region::new(layout.text, Kind::Text);
        let others = shared.into_iter().chain(data).chain([text]).collect();
        Ram { first, others, devices: layout.devices.clone(), interconnect: None }
    }

    /// Returns whether `address` is one of a device.
    pub fn is_device(&self, address: u32) -> bool {
        self.devices.iter().any(|range| range.contains(address))
    }

    fn regions(&self) -> impl Iterator<Item = &Region> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}

/// Memory of one or more cores, with an image in it.
#[derive(Clone, Debug)]
pub struct Memory {
    /// First address of the text.
    pub(crate) text_base: u32,
    /// A decoded instruction for each two bytes from the begin of the text to the end of its last executable segment.
    pub(crate) slots: Vec<Instruction>,
    pub(crate) ram: Ram,
}

impl Memory {
    /// Returns the memory of `layout` with the segments of `image` in it, and zeroes elsewhere; or all problems: those
    /// of the layout, else the segments that do not fit it. Executable segments belong into the text, writable ones
    /// elsewhere.
    pub fn new(layout: &Layout, image: &Image) -> Result<Memory, Problems> {
        let mut problems = Problems::default();
        layout.problems("layout", &mut problems);
        problems.or(())?;
        let mut ram = Ram::new(layout);
        let mut problems = Problems::default();
        let mut text_end = 0;
        for segment in &image.segments {
            let size = segment.memory_bytes;
            let place = format!("segment {:#010x}..{:#010x}", segment.address, u64::from(segment.address) + u64::from(size));
            let Some(region) = ram.regions_mut().find(|region| region.slice(segment.address, size as usize).is_some()) else {
                problems.add(place, "expected it to lie within the text, the data or the shared memory");
                continue;
            };
            match region.kind {
                Kind::Text if segment.writable => {
                    problems.add(place, "writable in the text: expected it in data or shared memory")
                }
                Kind::Data | Kind::Shared if segment.executable => problems.add(place, "executable: expected it in the text"),
                Kind::Text if segment.executable => text_end = text_end.max(segment.address - region.base + size),
                _ => {}
            }
            // The bytes of a segment are at most its size in memory.
            if let Some(place) = region.slice_mut(segment.address, segment.bytes.len()) {
                place.copy_from_slice(&segment.bytes);
            }
        }
        problems.or(())?;
        let text = ram.regions().find(|region| region.kind == Kind::Text);
        let bytes = text.and_then(|text| text.bytes.get(..text_end as usize)).unwrap_or_default();
        Ok(Memory { text_base: layout.text.address, slots: decode_text(bytes, layout.text.address), ram })
    }

    /// Gives this memory the shared memory of another one, which has none afterwards, and the interconnect before it.
    /// Both are of one layout but for the size of the shared memory; each has its own tightly coupled memories.
    pub fn take_shared(&mut self, other: &mut Memory) {
        let shared = |region: &&mut Region| region.kind == Kind::Shared;
        let own = self.ram.others.iter_mut().find(shared);
        if let (Some(own), Some(others)) = (own, other.ram.others.iter_mut().find(shared)) {
            own.bytes = std::mem::take(&mut others.bytes);
            self.ram.interconnect = other.ram.interconnect.take();
        }
    }

    /// Puts an interconnect before the shared memory, which every access occupies for `cycles`: the accesses of several
    /// cores wait for each other.
    pub fn share(&mut self, cycles: u32) {
        self.ram.interconnect = Some(Interconnect { cycles, free_at: 0 });
    }

    /// Returns the bytes from `address`, if one region holds them all.
    pub fn slice(&self, address: u32, bytes: usize) -> Option<&[u8]> {
        self.ram.regions().find_map(|region| region.slice(address, bytes))
    }

    /// Returns the bytes from `address` to be written, if one region of data or the shared memory holds them all.
    pub fn slice_mut(&mut self, address: u32, bytes: usize) -> Option<&mut [u8]> {
        self.ram.regions_mut().filter(|region| region.kind != Kind::Text).find_map(|region| region.slice_mut(address, bytes))
    }

    /// Returns the word at `address`, if one region holds it.
    pub fn word(&self, address: u32) -> Option<u32> {
        self.ram.regions().find_map(|region| region.load(address)).map(u32::from_le_bytes)
    }
}
