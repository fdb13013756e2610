//! Sorts records by time, within a window over the order of the file.

use super::reader::{Reader, Record};
use kit::Problems;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Number of records held back, so that late ones can be put in order. The largest displacement in a known trace is
/// 21,066 (Tencent).
pub const WINDOW: usize = 65_536;

/// Reader of records in the order of `(time, line)`.
///
/// Records that come in order wait in a queue, late ones in a heap. Once the window is full or the trace has ended, the
/// earlier of the two heads is returned.
pub struct Reorder {
    reader: Reader,
    name: String,
    strict: bool,
    in_order: VecDeque<Record>,
    late: BinaryHeap<Reverse<Late>>,
    latest_ns: u64,
    out_ns: u64,
    ended: bool,
    reordered: u64,
}

/// Late record, ordered by time and line.
struct Late(Record);

impl Late {
    fn key(&self) -> (u64, u64) {
        (self.0.at_ns, self.0.line)
    }
}

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Late {}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Late {
    fn cmp(&self, other: &Late) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl Reorder {
    /// Returns the records of `reader` in the order of time; if `strict`, any step back is an error.
    pub fn new(name: &str, reader: Reader, strict: bool) -> Reorder {
        Reorder {
            reader,
            name: name.to_owned(),
            strict,
            in_order: VecDeque::with_capacity(WINDOW + 1),
            late: BinaryHeap::new(),
            latest_ns: 0,
            out_ns: 0,
            ended: false,
            reordered: 0,
        }
    }

    /// Returns the next record in the order of time.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Record>, Problems> {
        while !self.ended && self.in_order.len() + self.late.len() <= WINDOW {
            match self.reader.next()? {
                None => self.ended = true,
                Some(record) if record.at_ns >= self.latest_ns => {
                    self.latest_ns = record.at_ns;
                    self.in_order.push_back(record);
                }
                Some(record) => self.hold(record)?,
            }
        }
        let record = match (self.in_order.front(), self.late.peek()) {
            (Some(first), Some(Reverse(late))) if late.key() < (first.at_ns, first.line) => {
                self.late.pop().map(|Reverse(late)| late.0)
            }
            (None, Some(_)) => self.late.pop().map(|Reverse(late)| late.0),
            _ => self.in_order.pop_front(),
        };
        if let Some(record) = &record {
            self.out_ns = record.at_ns;
        }
        Ok(record)
    }

    /// Holds back a record that is earlier than one before it.
    #[cold]
    fn hold(&mut self, record: Record) -> Result<(), Problems> {
        self.reordered += 1;
        let back_ns = self.latest_ns - record.at_ns;
        let back = format!("time goes back by {}.{:09} s", back_ns / 1_000_000_000, back_ns % 1_000_000_000);
        let place = || format!("{}:{}", self.name, record.line);
        if self.strict {
            return Err(Problems::one(place(), format!("{back}: refused by `strict_time`")));
        }
        if record.at_ns < self.out_ns {
            return Err(Problems::one(place(), format!("{back}, further than the reorder window of {WINDOW} records")));
        }
        self.late.push(Reverse(Late(record)));
        Ok(())
    }

    /// Returns the number of records so far that came after one of a later time.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Returns the underlying reader.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}
