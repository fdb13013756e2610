//! Saving an aged drive, and loading it again.
//!
//! What is saved: the reverse map, validity, block records, wear, ages relative to the moment of saving, and the order in which
//! blocks were closed, which of them were being collected, the write frontiers, and the state that the policy declared. The map is rebuilt from the
//! reverse map. Declared state is loaded by the policy of the same name and left alone by others, which adopt what they find.

use crate::ftl::Ftl;
use crate::map::{BlockState, encode};
use crate::policy::{BlockBytes, UnitBits};
use crc32fast::Hasher;
use kit::{BlockId, DieId, Lpn, ModeId, Ppn, Reason, SimTime};
use std::io::{Read, Write};

const MAGIC: &[u8; 8] = b"ssdlab04";

/// What must agree with the description that a saved state is loaded into.
const NAMES: [&str; 7] = [
    "blocks",
    "mapping units per block",
    "mapping units per program",
    "blocks per die",
    "user mapping units",
    "write modes",
    "erase modes",
];

impl Ftl {
    /// The numbers that [`NAMES`] names.
    fn shape_numbers(&self) -> [u64; NAMES.len()] {
        let g = &self.store.geometry;
        let modes = self.parameters.facts.write_modes.len() as u64;
        let erase_modes = self.parameters.facts.erase_modes.len() as u64;
        let per_die = g.blocks_per_die.into();
        [
            g.block_count.into(),
            g.units_per_block.into(),
            g.units_per_stripe.into(),
            per_die,
            self.store.user_units,
            modes,
            erase_modes,
        ]
    }

    /// Writes the state of a drive at rest, and a checksum behind it.
    pub fn save(&self, now: SimTime, to: &mut dyn Write) -> std::io::Result<()> {
        let mut summed = Summed { inner: to, sum: Hasher::new() };
        self.save_state(now, &mut summed)?;
        let Summed { inner, sum } = summed;
        inner.write_all(&sum.finalize().to_le_bytes())?;
        inner.flush()
    }

    fn save_state(&self, now: SimTime, to: &mut dyn Write) -> std::io::Result<()> {
        to.write_all(MAGIC)?;
        to.write_all(bytemuck::cast_slice(&self.shape_numbers()))?;
        to.write_all(bytemuck::cast_slice(self.store.p2l.as_slice()))?;
        to.write_all(bytemuck::cast_slice(self.store.valid.as_slice()))?;
        to.write_all(bytemuck::cast_slice(self.store.blocks.as_slice()))?;
        to.write_all(bytemuck::cast_slice(&self.store.erase_counts))?;
        to.write_all(bytemuck::cast_slice(&self.store.wear))?;
        to.write_all(&self.store.erase_modes)?;
        let shift = i64::try_from(now.0).unwrap_or(i64::MAX);
        let ages: Vec<i64> = self.store.first_program.iter().map(|at| at.saturating_sub(shift)).collect();
        to.write_all(bytemuck::cast_slice(&ages))?;
        let mut closed: Vec<u32> = Vec::new();
        let mut victims: Vec<u32> = Vec::new();
        for die in (0..self.store.geometry.die_count).map(DieId) {
            // A block that is being collected goes on being collected, at the place in the order that it would have if it were closed.
            let victim =
                self.collectors[die.index()].victim.filter(|&block| self.store.block(block).state() == BlockState::Victim);
            victims.extend(victim.map(|block| block.0));
            closed.extend(victim.into_iter().chain(self.store.closed_blocks(die)).map(|block| block.0));
        }
        // Frontiers of relocations first: what is being collected may need what is left of them.
        let mut open: Vec<(bool, u32)> =
            self.space.open_blocks().map(|open| (self.is_host_stream(open.stream), open.block.0)).collect();
        open.sort_unstable();
        let open: Vec<u32> = open.into_iter().map(|(_, block)| block).collect();
        for list in [closed, victims, open] {
            to.write_all(&(list.len() as u64).to_le_bytes())?;
            to.write_all(bytemuck::cast_slice(&list))?;
        }
        let name = self.parameters.policy.as_bytes();
        to.write_all(&[name.len() as u8, self.bits.bits_per_unit(), self.block_bytes.bytes_per_block()])?;
        to.write_all(name)?;
        to.write_all(bytemuck::cast_slice(self.bits.words()))?;
        to.write_all(self.block_bytes.all())
    }

    /// Reads a state that was saved by a drive of the same shape. The error says what is wrong with the file.
    pub fn load(&mut self, from: &mut dyn Read) -> Result<(), String> {
        let mut summed = Summed { inner: from, sum: Hasher::new() };
        let lists = self.load_state(&mut summed)?;
        let Summed { inner, sum } = summed;
        let mut known = [0u8; 4];
        inner.read_exact(&mut known).map_err(|error| format!("the file ends early or cannot be read ({error})"))?;
        if u32::from_le_bytes(known) != sum.finalize() {
            return Err("its checksum does not agree with its content: it has been changed since it was saved".to_owned());
        }
        self.rebuild(&lists)
    }

    fn load_state(&mut self, from: &mut dyn Read) -> Result<[Vec<u32>; 3], String> {
        let short = |error: std::io::Error| format!("the file ends early or cannot be read ({error})");
        let mut magic = [0u8; 8];
        from.read_exact(&mut magic).map_err(short)?;
        if &magic != MAGIC {
            return Err("not a saved drive of this version".to_owned());
        }
        let mut numbers = [0u64; NAMES.len()];
        from.read_exact(bytemuck::cast_slice_mut(&mut numbers)).map_err(short)?;
        let expected = self.shape_numbers();
        if let Some(index) = (0..NAMES.len()).find(|&index| numbers[index] != expected[index]) {
            return Err(format!("saved by a drive with {} {}; this drive has {}", numbers[index], NAMES[index], expected[index]));
        }
        self.store.expect_dense_use();
        from.read_exact(bytemuck::cast_slice_mut(self.store.p2l.as_mut_slice())).map_err(short)?;
        from.read_exact(bytemuck::cast_slice_mut(self.store.valid.as_mut_slice())).map_err(short)?;
        from.read_exact(bytemuck::cast_slice_mut(self.store.blocks.as_mut_slice())).map_err(short)?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.store.erase_counts)).map_err(short)?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.store.wear)).map_err(short)?;
        from.read_exact(&mut self.store.erase_modes).map_err(short)?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.store.first_program)).map_err(short)?;
        let most = self.store.geometry.block_count.into();
        let lists = [read_words(from, most)?, read_words(from, most)?, read_words(from, most)?];
        self.load_declared_state(from).map_err(short)?;
        Ok(lists)
    }

    /// What the policy declared, if it was this policy that ran the drive.
    fn load_declared_state(&mut self, from: &mut dyn Read) -> std::io::Result<()> {
        let mut head = [0u8; 3];
        from.read_exact(&mut head)?;
        let [name_bytes, bits, bytes] = head;
        let mut name = vec![0u8; usize::from(name_bytes)];
        from.read_exact(&mut name)?;
        let same = name == self.parameters.policy.as_bytes();
        let (mut others_bits, mut others_bytes);
        let (known_bits, known_bytes) =
            if same && (bits, bytes) == (self.bits.bits_per_unit(), self.block_bytes.bytes_per_block()) {
                (&mut self.bits, &mut self.block_bytes)
            } else {
                // Another policy's: read for the checksum only.
                others_bits = UnitBits::new(checked(bits)?, self.store.user_units);
                others_bytes = BlockBytes::new(bytes, self.store.geometry.block_count);
                (&mut others_bits, &mut others_bytes)
            };
        from.read_exact(bytemuck::cast_slice_mut(known_bits.words_mut()))?;
        from.read_exact(known_bytes.all_mut())
    }

    fn is_host_stream(&self, stream: usize) -> bool {
        stream < usize::from(self.needs.host_streams) && stream != self.relocation_stream(ModeId(0))
    }

    fn rebuild(&mut self, [closed, victims, open]: &[Vec<u32>; 3]) -> Result<(), String> {
        let geometry = self.store.geometry;
        if [closed, victims, open].into_iter().flatten().any(|block| *block >= geometry.block_count) {
            return Err("it names a block that the drive does not have".to_owned());
        }
        let end = Ppn(geometry.unit_count() as u32);
        let mut from = Ppn(0);
        while let Some(ppn) = self.store.next_valid(from, end) {
            let lpn = self.store.p2l.get(ppn.index());
            if u64::from(lpn) >= self.store.user_units {
                return Err(format!("it maps logical unit {lpn}, which the drive does not have"));
            }
            self.store.l2p.set(Lpn(lpn).index(), encode(ppn));
            from = Ppn(ppn.0 + 1);
        }
        let modes = self.parameters.facts.write_modes.len();
        if self.store.blocks.as_slice().iter().any(|record| usize::from(record.mode()) >= modes) {
            return Err("it names a write mode that the drive does not have".to_owned());
        }
        if self.store.erase_modes.iter().any(|mode| usize::from(*mode) >= self.parameters.facts.erase_modes.len()) {
            return Err("it names an erase mode that the drive does not have".to_owned());
        }
        if !self.store.restore_blocks(closed, open) {
            return Err("its list of used blocks does not agree with its data".to_owned());
        }
        self.store.restate_wear();
        self.space.rebuild(&self.store, &*self.wear_rule);
        for block in open.iter().copied().map(BlockId) {
            let stream = self.relocation_stream(ModeId(self.store.block(block).mode()));
            if !self.space.go_on(&self.store, block, stream) {
                self.store.close(block);
            }
        }
        for block in victims.iter().copied().map(BlockId) {
            let die = geometry.die_of(block);
            if self.store.block(block).state() != BlockState::Closed || self.collectors[die.index()].victim.is_some() {
                return Err("its list of blocks being collected does not agree with its data".to_owned());
            }
            self.take_victim(die, &self.collection_of(block, Reason::Gc, false), false);
        }
        Ok(())
    }
}

/// Bits that a policy can have declared.
fn checked(bits: u8) -> std::io::Result<u8> {
    if matches!(bits, 0 | 1 | 2 | 4 | 8) { Ok(bits) } else { Err(std::io::ErrorKind::InvalidData.into()) }
}

/// Keeps a checksum of what goes through.
struct Summed<'a, T: ?Sized> {
    inner: &'a mut T,
    sum: Hasher,
}

impl<T: Write + ?Sized> Write for Summed<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read + ?Sized> Read for Summed<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }
}

fn read_words(from: &mut dyn Read, most: u64) -> Result<Vec<u32>, String> {
    let short = |error: std::io::Error| format!("the file ends early or cannot be read ({error})");
    let mut count = [0u8; 8];
    from.read_exact(&mut count).map_err(short)?;
    let count = u64::from_le_bytes(count);
    if count > most {
        return Err(format!("it lists {count} blocks, more than the drive has"));
    }
    let mut values = vec![0u32; count as usize];
    from.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(short)?;
    Ok(values)
}
