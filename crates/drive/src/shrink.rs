//! Mock-up drives: the same architecture with fewer and smaller blocks, which is filled and worn out sooner.
//!
//! The thesis on SSDExplorer (1.3.3) replaces a drive of 120 GB by one of 16 MB that keeps dies and planes, and finds
//! the same throughput, with the abstraction by the write amplification factor (`ftl.translation = "waf"`) in both.
//! With a map the write amplification depends on the size of blocks and their number, so that the two differ. Smaller
//! blocks are erased more often, in the same time each.

use crate::description::Description;
use ftl::MapCacheConfig;
use host::BufferConfig;
use kit::{Bytes, Problems};

/// Blocks of a plane that a mock-up keeps, as that of the thesis does (table 1.2), before its blocks get smaller.
const FEW_BLOCKS: u32 = 16;

/// Largest part by which a mock-up may be larger than wanted.
const EXCESS: f64 = 0.1;

/// Returns a drive with the channels, dies, planes, pages and times of `whole` and about `to` of user capacity. Blocks
/// become fewer first, then smaller, as far as the drive can work with them. Over-provisioning stays; write buffer,
/// read cache and mapping cache keep their ratio to the capacity, and a computed write amplification factor its value.
/// An error if the drive is not larger than `to`, or cannot be made so small.
pub fn shrink(whole: &Description, to: Bytes) -> Result<Description, Problems> {
    let unit = whole.geometry().unit;
    if to.0 < unit.bytes() || to.0 >= whole.user_bytes() {
        let [least, most] = [unit.bytes(), whole.user_bytes()].map(|bytes| kit::words::size(Bytes(bytes)));
        return Err(Problems::one("--to", format!("{to}: expected {least} to less than {most}, the drive's user capacity")));
    }
    let share = to.0 as f64 / whole.user_bytes() as f64;
    let program = if whole.flash.one_shot { whole.flash.cell.bits() } else { 1 };
    let halvings = std::iter::successors(Some(whole.flash.pages_per_block), |pages| Some(pages / 2 / program * program));
    let mut smallest = None;
    for pages in halvings.take_while(|pages| *pages >= program) {
        let all = f64::from(whole.flash.blocks_per_plane) * f64::from(whole.flash.pages_per_block);
        let step = whole.ftl.superblock_blocks;
        let wanted = ((all * share / f64::from(pages) / f64::from(step)).round() as u32).max(1) * step;
        let is_last = pages / 2 < program;
        let few = if is_last { 1 } else { FEW_BLOCKS.min(whole.flash.blocks_per_plane) };
        let counts = (wanted.max(few).next_multiple_of(step)..=whole.flash.blocks_per_plane).step_by(step as usize);
        let mocks = counts.map(|blocks| resized(whole, pages, blocks, share));
        let Some(mock) = mocks.into_iter().find(|mock| mock.problems().0.is_empty()) else { continue };
        if mock.user_bytes() as f64 <= (1.0 + EXCESS) * to.0 as f64 {
            return Ok(mock);
        }
        smallest = Some(smallest.map_or(mock.user_bytes(), |least: u64| least.min(mock.user_bytes())));
    }
    let least = Bytes(smallest.unwrap_or_else(|| whole.user_bytes()));
    let least = kit::words::size(least);
    let complaint = format!("{to}: expected at least about {least}, the smallest drive with its dies, planes and free blocks");
    Err(Problems::one("--to", complaint))
}

fn resized(whole: &Description, pages: u32, blocks: u32, share: f64) -> Description {
    let unit = whole.geometry().unit;
    let mut mock = whole.clone();
    mock.title = format!("{} (mock-up)", whole.title);
    mock.flash.blocks_per_plane = blocks;
    mock.flash.pages_per_block = pages;
    if let Some(layer) = whole.ftl.translation.build(()).of_mock_up(&whole.ftl, &whole.geometry()) {
        mock.ftl.translation = layer;
    }
    let scaled = |bytes: Bytes, least: u64| {
        Bytes(unit.offset(unit.whole((bytes.0 as f64 * share) as u64)).clamp(least.min(bytes.0), bytes.0))
    };
    mock.ftl.user_capacity = whole.ftl.user_capacity.map(|bytes| scaled(bytes, unit.bytes()));
    let program = unit.data(mock.geometry().units_per_program).0;
    let BufferConfig { capacity, read_cache, read_ahead, buffers, .. } = &mut mock.buffer;
    *capacity = capacity.map(|bytes| scaled(bytes, 2 * program * u64::from(*buffers)));
    *read_cache = read_cache.map(|bytes| scaled(bytes, read_ahead.0.max(unit.bytes())));
    if let Some(MapCacheConfig { size, journal, update_share, .. }) = &mut mock.ftl.map_cache {
        let least = (4.0 * program as f64 / (1.0 - *update_share)).ceil() as u64;
        *size = scaled(*size, least.next_multiple_of(unit.bytes()));
        *journal = journal.map(|bytes| scaled(bytes, 2 * program));
    }
    mock
}
