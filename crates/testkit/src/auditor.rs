//! Auditor of retention: keeps the write time of every page in a shadow of its own, and reports data that is read, or
//! is still mapped, past the retention limit of its write mode. It does not use the drive's own retention deadlines.

use drive::{Description, Drive};
use kit::{BlockId, Geometry, Lpn, ModeId, Nanos, Owner, Ppn, Record, wear_class};

/// Data of a page.
#[derive(Clone, Copy, Debug)]
struct Page {
    lpn: Lpn,
    /// Instant at which the page was written \[ns; negative: before the run\].
    written: i64,
    limit: Option<Nanos>,
    /// True if the page was past its limit when power came back: the drive could not prevent that.
    excused: bool,
}

/// Shadow of the ages of all pages.
pub struct Auditor {
    geometry: Geometry,
    limits: Vec<Vec<Nanos>>,
    rated: u32,
    pages: Vec<Option<Page>>,
    /// Place of each unit's current copy on flash.
    places: Vec<Option<Ppn>>,
    erases: Vec<u32>,
    /// Instant at which the first page of each block was written since its last erase \[ns\].
    first: Vec<Option<i64>>,
    /// Number of pages written with a retention limit; relocations and the data of the starting state are counted, too.
    pub limited: u64,
    /// Number of host reads of data with a limit.
    pub reads: u64,
}

impl Auditor {
    /// Creates the shadow of a drive in its starting state, whose pages are as old as their blocks.
    pub fn attach(drive: &Drive, description: &Description) -> Auditor {
        let geometry = description.geometry();
        let medium = drive.medium();
        let limits = description.flash.write_modes.iter();
        let mut auditor = Auditor {
            limits: limits.map(|mode| mode.retention.as_ref().map_or(Vec::new(), |limits| limits.all().to_vec())).collect(),
            rated: description.flash.rated_pe_cycles,
            pages: vec![None; geometry.unit_count() as usize],
            places: vec![None; drive.map().user_units() as usize],
            erases: (0..geometry.block_count).map(|block| medium.erase_count(BlockId(block))).collect(),
            first: vec![None; geometry.block_count as usize],
            limited: 0,
            reads: 0,
            geometry,
        };
        for lpn in (0..drive.map().user_units() as u32).map(Lpn) {
            let Some(ppn) = drive.map().place_of(lpn) else { continue };
            let block = geometry.block_of(ppn);
            auditor.write(lpn, ppn, ModeId(medium.block(block).mode()), medium.first_program(block));
        }
        auditor
    }

    fn write(&mut self, lpn: Lpn, ppn: Ppn, mode: ModeId, written: i64) {
        let limits = &self.limits[mode.index()];
        let block = self.geometry.block_of(ppn).index();
        let erases = self.erases[block];
        self.first[block].get_or_insert(written);
        let limit = (!limits.is_empty()).then(|| limits[wear_class(erases, self.rated, limits.len())]);
        self.limited += u64::from(limit.is_some());
        self.pages[ppn.index()] = Some(Page { lpn, written, limit, excused: false });
        self.places[lpn.index()] = Some(ppn);
    }

    /// Follows a record of the instant `now` \[ns\]. The error says which data was read past its limit.
    pub fn follow(&mut self, record: &Record, now: u64) -> Result<(), String> {
        match *record {
            Record::Bound { lpn, ppn, mode, .. } | Record::BoundFromBuffer { lpn, ppn, mode, .. } => {
                self.write(lpn, ppn, mode, now as i64)
            }
            Record::Relocated { lpn, to, mode, .. } => self.write(lpn, to, mode, now as i64),
            Record::BoundAgain { lpn, from, to, mode } if self.places.get(lpn.index()) == Some(&Some(from)) => {
                self.write(lpn, to, mode, now as i64);
            }
            Record::Trimmed { lpn } => self.places[lpn.index()] = None,
            Record::Buffered { lpn, .. } => self.places[lpn.index()] = None,
            Record::Erased { block } => {
                self.erases[block.index()] += 1;
                self.first[block.index()] = None;
                let first = self.geometry.first_of(block).index();
                self.pages[first..first + self.geometry.units_per_block as usize].fill(None);
            }
            Record::ReadSensed { ppn, owner: Owner::Command(_) } => {
                self.reads += u64::from(self.pages[ppn.index()].is_some_and(|page| page.limit.is_some()));
                return self.in_time(ppn, now).map_err(|why| format!("a host read senses {why}"));
            }
            _ => {}
        }
        Ok(())
    }

    fn in_time(&self, ppn: Ppn, now: u64) -> Result<(), String> {
        let Some(Page { lpn, written, limit: Some(limit), excused: false }) = self.pages[ppn.index()] else { return Ok(()) };
        let age = (now as i64).saturating_sub(written);
        if age <= limit.0 as i64 {
            return Ok(());
        }
        Err(format!("{lpn:?} at {ppn:?}, written at {written} ns, {} ns past its limit of {limit}", age - limit.0 as i64))
    }

    /// Follows the return of power at `now` \[ns\]: mapped pages that are past their limit by then are excused until
    /// they are moved. Returns the number of mapped pages in blocks whose first page is past the limit, because the
    /// drive keeps ages by block.
    pub fn power_is_back(&mut self, now: u64) -> u64 {
        let mut at_risk = 0;
        for ppn in self.places.iter().flatten() {
            let Some(page) = &mut self.pages[ppn.index()] else { continue };
            let Some(limit) = page.limit else { continue };
            let first = self.first[self.geometry.block_of(*ppn).index()].expect("a block with a page has a first");
            at_risk += u64::from((now as i64).saturating_sub(first) > limit.0 as i64);
            page.excused |= (now as i64).saturating_sub(page.written) > limit.0 as i64;
        }
        at_risk
    }

    /// Checks that no mapped page is past its limit at `now` \[ns\].
    pub fn check(&self, now: u64) -> Result<(), String> {
        let mut mapped = self.places.iter().flatten();
        mapped.try_for_each(|&ppn| self.in_time(ppn, now).map_err(|why| format!("still mapped: {why}")))
    }

    /// Returns the number of mapped pages that are past their limit at `now` \[ns\].
    pub fn past_limit(&self, now: u64) -> u64 {
        self.places.iter().flatten().filter(|&&ppn| self.in_time(ppn, now).is_err()).count() as u64
    }
}
