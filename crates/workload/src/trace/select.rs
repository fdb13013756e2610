//! Selects the part of a trace that is replayed: slice and limit, applied to records in the order of time.

use super::detect::Chosen;
use super::lines::Lines;
use super::options::{Plan, Slice};
use super::reader::{Reader, Record};
use super::reorder::Reorder;
use super::streams::Streams;
use crate::Input;
use kit::Problems;

/// Selected records; times are relative to the first record of the trace (of the selected streams).
pub struct Selection {
    reorder: Reorder,
    slice: Slice,
    first_ns: Option<u64>,
    index: u64,
    left: u64,
}

impl Selection {
    /// Opens `input` at its start.
    pub fn open(input: &Input, chosen: &Chosen, plan: &Plan) -> Result<Selection, Problems> {
        let (lines, streams) = (Lines::open(input, Some(chosen.name))?, Streams::new(&plan.streams));
        let reader = Reader::new(&input.name, lines, chosen.parser.restart(), streams, chosen.clock_set_ns, plan.strict_time);
        let reorder = Reorder::new(&input.name, reader, plan.strict_time);
        Ok(Selection { reorder, slice: plan.slice, first_ns: None, index: 0, left: plan.max_requests })
    }

    /// Returns the next selected record.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Record>, Problems> {
        while self.left > 0 {
            let Some(mut record) = self.reorder.next()? else { return Ok(None) };
            record.at_ns -= *self.first_ns.get_or_insert(record.at_ns);
            let (place, from, to) = match self.slice {
                Slice::All => (0, 0, u64::MAX),
                Slice::Requests(from, to) => (self.index, from, to),
                Slice::Times(from, to) => (record.at_ns, from, to),
            };
            record.index = self.index;
            self.index += 1;
            if place >= to {
                self.left = 0;
            } else if place >= from {
                self.left -= 1;
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads the remainder of the trace only to check it.
    pub fn check_rest(&mut self) -> Result<(), Problems> {
        while self.reorder.next()?.is_some() {
            self.index += 1;
        }
        Ok(())
    }

    /// Returns true if the trace had any record of the selected streams.
    pub fn any(&self) -> bool {
        self.index > 0
    }

    /// Returns the underlying reordering stage.
    pub fn reorder(&self) -> &Reorder {
        &self.reorder
    }
}
