//! MOST, the mobile storage analyser's annotated blkparse (Lee and Won, EMSOFT 2012). Its columns are separated by TABs
//! and padded with blanks: seconds, action, RWBS, sector, sectors, pid, process, block class and, in some lines, a
//! file's name.
//!
//! A request of size 0 is a flush.

use super::block_layer::{Arrival, EventParser, EventText, operation, sectors};
use super::{Format, Line, Parser, Raw, Reading};
use crate::Flags;
use crate::trace::fields::{self, Fault};
use kit::Op::{self, Flush, Read, Write};

/// The MOST format.
pub struct Most;

impl EventText for Most {
    const ONLY_ISSUED: &'static str = <super::blkparse::Blkparse as EventText>::ONLY_ISSUED;

    fn line(state: &mut Arrival, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let mut columns = line.split(|byte| *byte == b'\t').map(<[u8]>::trim_ascii);
        let mut next = || columns.next().unwrap_or_default();
        let (time, action, flags, sector, count, pid) = (next(), next(), next(), next(), next(), next());
        raw.at_ns = fields::decimal(time, 9).ok_or_else(|| Fault::new("time", time, "seconds"))?;
        let arrival = state.is(action)?;
        let rwbs = operation(flags)?;
        raw.offset = sectors(sector).ok_or_else(|| Fault::new("sector", sector, "a sector number"))?;
        raw.length = sectors(count).ok_or_else(|| Fault::new("sectors", count, "a number of sectors"))?;
        fields::integer(pid).ok_or_else(|| Fault::new("pid", pid, "a process number"))?;
        if columns.next().is_none() {
            return Err(Fault::new("line", line, "at least 7 columns between TABs"));
        }
        raw.stream = (0, 0);
        if raw.length == 0 {
            (raw.op, raw.flags, raw.offset) = (Flush, Flags::NONE, 0);
        } else if let Some(op) = rwbs.op {
            (raw.op, raw.flags) = (op, rwbs.flags);
        }
        Ok(if arrival && (rwbs.op.is_some() || raw.length == 0) { Line::Request } else { Line::Other })
    }
}

impl Format for Most {
    fn name(&self) -> &'static str {
        "most"
    }
    fn about(&self) -> &'static str {
        "MOST annotated blkparse (Lee and Won, EMSOFT 2012): Q lines are the requests, or D lines where there is no Q; size 0 is a flush."
    }
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }
    fn has_arrivals(&self) -> bool {
        true
    }
    fn parser(&self, head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser> {
        let actions = head.iter().filter_map(|line| line.split(|byte| *byte == b'\t').nth(1)).map(<[u8]>::trim_ascii);
        let actions = actions.filter(|action| action.len() == 1).map(|action| action[0]);
        EventParser::<Most>::boxed(Arrival::guessed(reading.arrival, actions))
    }
    fn sample(&self) -> &'static str {
        "    0.000000000\tA\tWS\t23004888\t   8\t4767\t     IntentService[]\tM\n\
         \x20   0.000111615\tQ\tWS\t23004888\t   8\t4767\t     IntentService[]\tM\n\
         \x20   0.000204740\tQ\tWBS\t       0\t   0\t 135\t         flush-179:0\tM\n\
         \x20   0.000304740\tQ\tRA\t 4800240\t  24\t 135\t         flush-179:0\tD\t/data/cache/data_1\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[(0, Write, 11_778_502_656, 4096, "0"), (93_125, Flush, 0, 0, "0"), (193_125, Read, 2_457_722_880, 12_288, "0")]
    }
}
