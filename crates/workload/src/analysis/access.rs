//! Access characteristics (AGCR): which pages are only read, which are only written, and how accurately a short history
//! of accesses tells them apart.
//!
//! AGCR (Li et al., FAST'16, section 3.1) calls a logical page *read-only* if more than 95 % of its accesses over the
//! whole trace are reads, *write-only* if more than 95 % are writes, else *interleaved*. Its controller classifies a
//! page by a window of the upcoming request and the last ones to the page: all reads, all writes, or mixed. The paper
//! does not define the accuracy of its figure 6; here it is the share of accesses whose window gives the class of the
//! page. A window that is not yet full holds the accesses so far, so that the first access to a page is classified by
//! that access alone.

use super::pages::Pages;
use super::share;
use crate::trace::{Options, Visitor, Walk};
use crate::{Input, Request};
use kit::{Op, Problems, UNIT_BYTES};
use serde::Serialize;

/// Longest window \[accesses\].
pub const WINDOW_MAX: usize = 8;
/// Classes of pages, in the order of every table that is indexed by class.
const CLASSES: [&str; 3] = ["read_only", "write_only", "interleaved"];
const INTERLEAVED: usize = 2;

/// Access characteristics of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    /// The trace's format.
    pub format: String,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Page reads: each request counts once for every page that it touches.
    pub read_accesses: u64,
    /// Page writes, counted likewise.
    pub write_accesses: u64,
    /// Distinct 4 KiB pages.
    pub pages: u64,
    /// Statistics of each class of pages: `read_only`, `write_only`, `interleaved`.
    pub classes: Vec<ClassShares>,
    /// Accuracy with which windows of 1 to 8 accesses give a page's class.
    pub windows: Vec<Window>,
    /// Memory that the analysis used for pages \[bytes\].
    pub state_bytes: u64,
    /// Messages for the user about how the trace was read.
    pub notes: Vec<String>,
}

/// Accesses to the pages of one class. A share is absent if its total is zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassShares {
    /// `read_only`, `write_only` or `interleaved`.
    pub class: String,
    /// Number of pages of the class.
    pub pages: u64,
    /// Share of all pages.
    pub page_share: Option<f64>,
    /// Page reads of the class.
    pub read_accesses: u64,
    /// Share of all page reads.
    pub read_access_share: Option<f64>,
    /// Page writes of the class.
    pub write_accesses: u64,
    /// Share of all page writes.
    pub write_access_share: Option<f64>,
    /// Share of the read requests; a request that touches pages of several classes counts for each class in proportion
    /// to its pages.
    pub read_request_share: Option<f64>,
    /// Share of the write requests, counted likewise.
    pub write_request_share: Option<f64>,
}

/// Accuracy with which a window gives a page's class, as shares of page accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Number of accesses in the window, including the upcoming one.
    pub window: usize,
    /// Share of accesses whose window gives the class of the page.
    pub accuracy: Option<f64>,
    /// Like `accuracy`, among reads.
    pub read_accuracy: Option<f64>,
    /// Like `accuracy`, among writes.
    pub write_accuracy: Option<f64>,
    /// Share of accesses whose window was full.
    pub full_share: Option<f64>,
    /// Among accesses with a full window, share of those whose window gives the class of the page.
    pub full_accuracy: Option<f64>,
}

/// Analyses the access characteristics of the trace `input`.
pub fn access(input: &Input, options: &Options) -> Result<Access, Problems> {
    let mut count = Count::default();
    let walk = Walk::first(input, options, &mut count)?;
    let mut history = History::new(count);
    walk.again(&mut history)?;
    Ok(history.finish(&walk))
}

/// Returns the first and the last page that a request touches.
fn pages_of(request: &Request) -> (u64, u64) {
    (request.offset.0 / UNIT_BYTES, (request.offset.0 + request.length.0 - 1) / UNIT_BYTES)
}

/// State of the first walk: reads and writes of each page, in the lower and the upper half of its word.
#[derive(Default)]
struct Count {
    pages: Pages,
    /// Numbers of read and write requests.
    requests: [u64; 2],
    crowded: bool,
}

impl Visitor for Count {
    fn restart(&mut self) {
        *self = Count::default();
    }

    #[inline(always)]
    fn hint(&self, request: &Request) {
        if matches!(request.op, Op::Read | Op::Write) {
            let (first, last) = pages_of(request);
            std::hint::black_box(self.pages.word(request.stream, first) ^ self.pages.word(request.stream, last));
        }
    }

    #[inline(always)]
    fn visit(&mut self, request: &Request) -> Result<(), Problems> {
        let shift = match request.op {
            Op::Read => 0,
            Op::Write | Op::Append => 32,
            Op::Trim | Op::Flush | Op::Zone => return Ok(()),
        };
        self.requests[usize::from(shift > 0)] += 1;
        let (first, last) = pages_of(request);
        let crowded = &mut self.crowded;
        self.pages.update(request.stream, first, last, |_, word| {
            *crowded |= (*word >> shift) as u32 == u32::MAX;
            *word = word.wrapping_add(1 << shift);
        });
        if self.crowded {
            return Err(Problems::one("repeat", "a page is accessed more than 4,294,967,295 times: expected fewer passes"));
        }
        Ok(())
    }
}

/// Returns the class of a page with this many reads and writes.
fn class_of(reads: u64, writes: u64) -> usize {
    let all = reads + writes;
    if reads * 20 > all * 19 {
        0
    } else if writes * 20 > all * 19 {
        1
    } else {
        INTERLEAVED
    }
}

/// Number of entries of [`History::seen`], which is indexed by class, operation, length of the run of accesses of the
/// same operation up to this one, and number of accesses up to this one.
const PLACES: usize = CLASSES.len() * 2 * (WINDOW_MAX + 1) * (WINDOW_MAX + 1);

fn place(class: usize, op: usize, run: usize, known: usize) -> usize {
    ((class * 2 + op) * (WINDOW_MAX + 1) + run) * (WINDOW_MAX + 1) + known
}

/// State of the second walk: the class of each page is known, and its last accesses are remembered.
///
/// In the word of a page, bits 0 and 1 hold its class plus 1, bit 2 the operation of the last access, bits 4 to 7 the
/// number of consecutive accesses of that operation up to the last one, and bits 8 to 11 the number of accesses. Both
/// numbers are at most [`WINDOW_MAX`].
struct History {
    pages: Pages,
    requests: [u64; 2],
    class_pages: [u64; 3],
    /// Requests by operation and class; a request is divided among classes in proportion to its pages.
    parts: [[f64; 3]; 2],
    seen: Vec<u64>,
}

impl History {
    fn new(count: Count) -> History {
        let Count { mut pages, requests, .. } = count;
        let mut class_pages = [0; 3];
        for word in pages.words() {
            let class = class_of(*word & u64::from(u32::MAX), *word >> 32);
            class_pages[class] += 1;
            *word = class as u64 + 1;
        }
        History { pages, requests, class_pages, parts: [[0.0; 3]; 2], seen: vec![0; PLACES] }
    }

    /// Returns the number of accesses of operation `op` to pages of `class` for which `wanted` holds of the length of
    /// the run and the number of accesses, both up to this access.
    fn counted(&self, class: usize, op: usize, wanted: impl Fn(usize, usize) -> bool) -> u64 {
        let each = (1..=WINDOW_MAX).flat_map(|run| (run..=WINDOW_MAX).map(move |known| (run, known)));
        each.filter(|(run, known)| wanted(*run, *known)).map(|(run, known)| self.seen[place(class, op, run, known)]).sum()
    }

    fn finish(self, walk: &Walk) -> Access {
        let total = |op: usize| -> u64 { (0..3).map(|class| self.counted(class, op, |_, _| true)).sum() };
        let accesses = [total(0), total(1)];
        let pages: u64 = self.class_pages.iter().sum();
        let part = |op: usize, class: usize| (self.requests[op] > 0).then(|| self.parts[op][class] / self.requests[op] as f64);
        let classes = (0..3).map(|class| {
            let of = |op| self.counted(class, op, |_, _| true);
            ClassShares {
                class: CLASSES[class].to_owned(),
                pages: self.class_pages[class],
                page_share: share(self.class_pages[class], pages),
                read_accesses: of(0),
                read_access_share: share(of(0), accesses[0]),
                write_accesses: of(1),
                write_access_share: share(of(1), accesses[1]),
                read_request_share: part(0, class),
                write_request_share: part(1, class),
            }
        });
        let mut notes = walk.info().notes.clone();
        if pages == 0 {
            notes.push("there are no reads and no writes".to_owned());
        }
        Access {
            format: walk.info().format.clone(),
            reads: self.requests[0],
            writes: self.requests[1],
            read_accesses: accesses[0],
            write_accesses: accesses[1],
            pages,
            classes: classes.collect(),
            windows: (1..=WINDOW_MAX).map(|window| self.window(window, accesses)).collect(),
            state_bytes: self.pages.bytes(),
            notes,
        }
    }

    fn window(&self, window: usize, accesses: [u64; 2]) -> Window {
        let told = |op: usize, enough: usize| -> u64 {
            let one_kind = |run: usize, known: usize| run >= window.min(known);
            let right = |class: usize, run, known| one_kind(run, known) == (class == op) && (class == op || class == INTERLEAVED);
            (0..3).map(|class| self.counted(class, op, |run, known| known >= enough && right(class, run, known))).sum()
        };
        let full: u64 = (0..6).map(|pair| self.counted(pair / 2, pair % 2, |_, known| known >= window)).sum();
        let all = accesses[0] + accesses[1];
        Window {
            window,
            accuracy: share(told(0, 0) + told(1, 0), all),
            read_accuracy: share(told(0, 0), accesses[0]),
            write_accuracy: share(told(1, 0), accesses[1]),
            full_share: share(full, all),
            full_accuracy: share(told(0, window) + told(1, window), full),
        }
    }
}

impl Visitor for History {
    fn restart(&mut self) {
        unreachable!("a trace is misread the first time only");
    }

    #[inline(always)]
    fn hint(&self, request: &Request) {
        if matches!(request.op, Op::Read | Op::Write) {
            let (first, last) = pages_of(request);
            std::hint::black_box(self.pages.word(request.stream, first) ^ self.pages.word(request.stream, last));
        }
    }

    #[inline(always)]
    fn visit(&mut self, request: &Request) -> Result<(), Problems> {
        let op = match request.op {
            Op::Read => 0,
            Op::Write | Op::Append => 1,
            Op::Trim | Op::Flush | Op::Zone => return Ok(()),
        };
        let (first, last) = pages_of(request);
        let (mut classes, mut unknown) = ([0u64; 3], false);
        let seen = &mut self.seen;
        self.pages.update(request.stream, first, last, |_, word| {
            let Some(class) = (*word & 3).checked_sub(1) else {
                unknown = true;
                return;
            };
            let same = *word >> 2 & 1 == op;
            let run = if same { (*word >> 4 & 15) + 1 } else { 1 }.min(WINDOW_MAX as u64);
            let known = ((*word >> 8 & 15) + 1).min(WINDOW_MAX as u64);
            *word = (class + 1) | op << 2 | run << 4 | known << 8;
            classes[class as usize] += 1;
            seen[place(class as usize, op as usize, run as usize, known as usize)] += 1;
        });
        if unknown {
            return Err(Problems::one("trace", "the file has changed since it was scanned: expected it to stay as it is"));
        }
        let pages = (last - first + 1) as f64;
        for (part, count) in self.parts[op as usize].iter_mut().zip(classes) {
            *part += count as f64 / pages;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{Bytes, Rng, SimTime};
    use std::collections::BTreeMap;

    fn request(op: Op, page: u64, pages: u64) -> Request {
        Request::new(SimTime(0), op, Bytes(page * 4096 + 512), Bytes(pages * 4096 - 512))
    }

    fn analysed(requests: &[Request]) -> History {
        let mut count = Count::default();
        requests.iter().for_each(|request| count.visit(request).expect("few accesses"));
        let mut history = History::new(count);
        requests.iter().for_each(|request| history.visit(request).expect("the same pages"));
        history
    }

    #[test]
    fn more_than_ninety_five_per_cent_is_almost_all() {
        assert_eq!((class_of(1, 0), class_of(0, 1), class_of(1, 1)), (0, 1, 2));
        assert_eq!((class_of(95, 5), class_of(96, 4), class_of(5, 95), class_of(4, 96)), (2, 0, 2, 1));
    }

    #[test]
    fn windows_of_a_page_by_hand() {
        // Page 0: R W W R R R; interleaved. Windows of 2: R RW WW WR RR RR: right for RW and WR only.
        let order = [Op::Read, Op::Write, Op::Write, Op::Read, Op::Read, Op::Read];
        let history = analysed(&order.map(|op| request(op, 0, 1)));
        let accesses = [4, 2];
        let right: Vec<u64> =
            (1..=8).map(|window| (history.window(window, accesses).accuracy.expect("some") * 6.0).round() as u64).collect();
        // Windows of 3: R RW RWW WWR WRR RRR; of 4: the last is WRRR. The first access is never classified correctly.
        assert_eq!(right, [0, 2, 4, 5, 5, 5, 5, 5]);
        let full = history.window(3, accesses);
        assert_eq!((full.full_share, full.full_accuracy), (Some(4.0 / 6.0), Some(3.0 / 4.0)));
        assert_eq!((full.read_accuracy, full.write_accuracy), (Some(2.0 / 4.0), Some(1.0)));
    }

    #[test]
    fn random_accesses_are_told_as_by_the_definition() {
        for seed in 0..60 {
            let mut rng = Rng::stream(seed, "access");
            let bias: Vec<f64> = (0..60).map(|page| [0.0, 1.0, 0.97, 0.03, 0.5][page % 5]).collect();
            let requests: Vec<Request> = (0..2000)
                .map(|_| {
                    let page = rng.below(60);
                    let op = if rng.chance(bias[page as usize]) { Op::Read } else { Op::Write };
                    request(op, page, if rng.chance(0.1) { 1 + rng.below(40) } else { 1 })
                })
                .collect();
            let history = analysed(&requests);
            // Reference by the definition: all accesses of each page, in order.
            let mut lists: BTreeMap<u64, Vec<Op>> = BTreeMap::new();
            for request in &requests {
                (pages_of(request).0..=pages_of(request).1).for_each(|page| lists.entry(page).or_default().push(request.op));
            }
            let class = |ops: &[Op]| {
                let reads = ops.iter().filter(|op| **op == Op::Read).count() as f64 / ops.len() as f64;
                if reads > 0.95 {
                    0
                } else if reads < 0.05 {
                    1
                } else {
                    2
                }
            };
            let of_window = |ops: &[Op]| if ops.iter().all(|op| *op == ops[0]) { ops[0] as usize } else { 2 };
            let total = |op: Op| lists.values().flatten().filter(|other| **other == op).count() as u64;
            let accesses = [total(Op::Read), total(Op::Write)];
            for window in 1..=WINDOW_MAX {
                let mut right = [0u64; 2];
                for list in lists.values() {
                    for end in 1..=list.len() {
                        let told = of_window(&list[end.saturating_sub(window)..end]);
                        right[list[end - 1] as usize] += u64::from(told == class(list));
                    }
                }
                let found = history.window(window, accesses);
                let expected = [share(right[0], accesses[0]), share(right[1], accesses[1])];
                assert_eq!([found.read_accuracy, found.write_accuracy], expected, "seed {seed}, window {window}");
                assert_eq!(found.accuracy, share(right[0] + right[1], accesses[0] + accesses[1]));
            }
            for index in 0..3 {
                let of_class = |list: &&Vec<Op>| class(list) == index;
                assert_eq!(history.class_pages[index] as usize, lists.values().filter(of_class).count());
                let reads = lists.values().filter(of_class).flatten().filter(|op| **op == Op::Read).count() as u64;
                assert_eq!(history.counted(index, 0, |_, _| true), reads);
            }
            assert!((history.parts.iter().flatten().sum::<f64>() - 2000.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_request_counts_for_each_class_by_its_pages() {
        let requests = [request(Op::Write, 0, 1), request(Op::Read, 0, 4)];
        let history = analysed(&requests);
        assert_eq!(history.parts, [[0.75, 0.0, 0.25], [0.0, 0.0, 1.0]]);
    }

    #[test]
    fn pages_that_were_not_counted_are_refused() {
        let mut history = analysed(&[request(Op::Read, 0, 1)]);
        assert!(history.visit(&request(Op::Read, 1, 1)).is_err());
    }
}
