//! Reader of firmware traces. Every line is checked; the first problem is reported.

use super::{
    Action, Answer, Asked, Command, Entry, FIRST_LINE, FIRST_LINE_WITH_CYCLES, Fate, Header, MAX_CORES, NOWHERE, Processed,
    Processor, RoomAt, Sense, Taken, Trace, UnitName, place,
};
use kit::{DieId, Frequency, Geometry, Lpn, ModeId, Nanos, Operation, OperationKind, Owner, Problem, Problems, Reason};
use std::collections::BTreeMap;

/// Kinds of entries.
const KINDS: [&str; 16] = [
    "read",
    "sense",
    "write",
    "absorb",
    "fill",
    "trim",
    "program",
    "copyback",
    "gather",
    "erase",
    "lazy_erase",
    "encode",
    "drop",
    "hand_over",
    "room",
    "urgent",
];

/// Units of host writes that may wait at the end of a trace: 64 GiB of 4 KiB, more than a write buffer has. All others
/// are named behind their write, which takes several bytes each: the memory for a trace is bounded by its length.
const WAITING_MAX: usize = 1 << 24;

/// Reads the trace in `text`, the content of the file `name`, for a drive with this geometry and header.
pub fn parse(name: &str, text: &str, geometry: &Geometry, header: &Header) -> Result<Trace, Problems> {
    let mut reader = Reader::new(name, geometry, header);
    let found = reader.read(text);
    let line = reader.line;
    found.map_err(|complaint| Problems::from(Problem::new(format!("{name}:{line}"), complaint)))?;
    Ok(reader.trace)
}

/// State of a block, as far as the trace shows it.
#[derive(Clone, Copy)]
enum Filled {
    Unknown,
    /// Units programmed.
    To(u32),
}

struct Reader<'a> {
    geometry: &'a Geometry,
    header: &'a Header,
    trace: Trace,
    blocks: Vec<Filled>,
    line: u32,
    time: u64,
    entries: u64,
    /// Number of flash reads that still belong to the last read command.
    open_reads: u32,
    /// Most units of all writes together.
    units_max: usize,
    /// Numbers of questions to the processor, each with that of the command.
    questions: Vec<(u64, u32)>,
}

/// Words of a line that have not been read.
struct Words<'a>(std::str::Split<'a, char>);

type Found<T> = Result<T, String>;

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Found<&'a str> {
        self.0.next().filter(|word| !word.is_empty()).ok_or_else(|| format!("{what} is missing"))
    }

    fn number(&mut self, what: &str, most: u64) -> Found<u64> {
        number(self.next(what)?, what, most)
    }

    fn end(&mut self) -> Found<()> {
        self.0.next().map_or(Ok(()), |word| Err(format!("`{word}`: expected the end of the line")))
    }
}

fn number(word: &str, what: &str, most: u64) -> Found<u64> {
    let found = word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten();
    found.filter(|&number| number <= most).ok_or_else(|| format!("{what} `{word}`: expected 0..={most}"))
}

impl<'a> Reader<'a> {
    fn new(name: &str, geometry: &'a Geometry, header: &'a Header) -> Reader<'a> {
        let dies = geometry.die_count as usize;
        Reader {
            geometry,
            header,
            trace: Trace {
                name: name.to_owned(),
                processor: None,
                questions: Vec::new(),
                commands: Vec::new(),
                fates: Vec::new(),
                fills: BTreeMap::new(),
                dies: vec![Vec::new(); dies],
                has_room: vec![true; dies],
                urgency: vec![Vec::new(); dies],
            },
            blocks: vec![Filled::Unknown; geometry.block_count as usize],
            line: 0,
            time: 0,
            entries: 0,
            open_reads: 0,
            units_max: 0,
            questions: Vec::new(),
        }
    }

    fn read(&mut self, text: &str) -> Found<()> {
        self.units_max = text.len().saturating_add(WAITING_MAX);
        let expected = self.header.facts();
        let mut lines = text.lines();
        self.version(&mut lines)?;
        for expected in expected.lines() {
            self.line += 1;
            let found = lines.next().ok_or_else(|| format!("the file ends: expected `{expected}`"))?;
            if found != expected {
                return Err(format!("`{}`: expected `{expected}`, the header of this drive", short(found)));
            }
        }
        let mut has_ended = false;
        for line in lines {
            self.line += 1;
            if has_ended {
                return Err(format!("`{}`: expected nothing after the line `end`", short(line)));
            }
            if let Some(count) = line.strip_prefix("end ") {
                self.reads_are_complete()?;
                if number(count, "the number of entries", u64::MAX)? != self.entries {
                    return Err(format!("`end {}`: the file has {} entries", short(count), self.entries));
                }
                self.sort_questions()?;
                has_ended = true;
            } else {
                self.entry(line)?;
                self.entries += 1;
            }
        }
        if has_ended {
            return Ok(());
        }
        self.line += 1;
        Err("the file is truncated: expected `end` and the number of entries as its last line".to_owned())
    }

    /// Reads the version, and the processor of a trace with cycles.
    fn version(&mut self, lines: &mut std::str::Lines<'_>) -> Found<()> {
        let ends = |expected: &str| format!("the file ends: expected `{expected}`");
        self.line = 1;
        let first = lines.next().ok_or_else(|| ends(FIRST_LINE))?;
        if first == FIRST_LINE_WITH_CYCLES {
            self.line = 2;
            let line = lines.next().ok_or_else(|| ends("processor CORES HERTZ"))?;
            let mut words = Words(line.split(' '));
            if words.next("`processor`")? != "processor" {
                return Err(format!("`{}`: expected `processor CORES HERTZ`", short(line)));
            }
            let cores = words.number("the number of cores", u64::from(MAX_CORES))? as u32;
            let clock = words.number("the clock", 1_000_000_000_000_000)?;
            if cores == 0 || clock == 0 {
                return Err(format!("{cores} cores of {clock} Hz: expected at least one of each"));
            }
            words.end()?;
            self.trace.processor = Some(Processor { cores, clock: Frequency(clock) });
        } else if first != FIRST_LINE {
            return Err(format!("`{}`: expected `{FIRST_LINE}` or `{FIRST_LINE_WITH_CYCLES}`", short(first)));
        }
        Ok(())
    }

    /// Reads the core and the cycles of a decision, if the trace has them.
    fn processed(&self, words: &mut Words<'_>) -> Found<Option<Processed>> {
        let Some(Processor { cores, clock }) = self.trace.processor else { return Ok(None) };
        let core = words.number("the core", u64::from(cores) - 1)? as u32;
        let cycles = words.number("the cycles", u64::MAX / 2)?;
        let time = u128::from(cycles) * 1_000_000_000 / u128::from(clock.0);
        let time = u64::try_from(time).ok().filter(|&time| time <= kit::SimTime::LAST.0);
        let time = time.ok_or_else(|| format!("{cycles} cycles: expected at most {} ns", kit::SimTime::LAST.0))?;
        Ok(Some(Processed { core, time: Nanos(time) }))
    }

    /// Reads the question of a read or trim to the processor, if the trace has cycles and the command asks.
    fn asked(&mut self, words: &mut Words<'_>) -> Found<Option<Asked>> {
        if self.trace.processor.is_none() {
            return Ok(None);
        }
        let word = words.next("the question")?;
        let wait = Nanos(words.number("the processing time", kit::SimTime::LAST.0)?);
        let processed = self.processed(words)?.expect("the trace has cycles");
        if word == "-" {
            return Ok(None);
        }
        self.questions.push((number(word, "the question", u64::MAX)?, self.trace.commands.len() as u32));
        Ok(Some(Asked { wait, processed }))
    }

    /// Brings the questions to the processor into their order.
    fn sort_questions(&mut self) -> Found<()> {
        self.questions.sort_unstable();
        let wrong = self.questions.iter().zip(0..).find(|((found, _), expected)| found != expected);
        if let Some(((found, _), expected)) = wrong {
            return Err(format!("question {found}: expected {expected}, as questions are numbered in their order"));
        }
        self.trace.questions = self.questions.iter().map(|(_, command)| *command).collect();
        Ok(())
    }

    fn reads_are_complete(&self) -> Found<()> {
        if self.open_reads == 0 {
            return Ok(());
        }
        Err(format!("{} flash reads of the last read are missing: expected `sense` entries", self.open_reads))
    }

    fn entry(&mut self, line: &str) -> Found<()> {
        let mut words = Words(line.split(' '));
        let time = words.number("the instant", kit::SimTime::LAST.0)?;
        if time < self.time {
            return Err(format!("instant {time}: before the entry above, at {}; time must not run backwards", self.time));
        }
        self.time = time;
        let kind = words.next("the operation")?;
        if kind == "sense" {
            self.sense(&mut words)?;
        } else {
            self.reads_are_complete()?;
            match kind {
                "read" | "write" | "trim" => self.command(kind, &mut words)?,
                "absorb" => self.absorb(&mut words)?,
                "fill" => self.fill(&mut words)?,
                "room" => self.room(&mut words)?,
                "urgent" => self.urgency(&mut words)?,
                "program" => self.operation(OperationKind::Program, &mut words)?,
                "copyback" => self.operation(OperationKind::Copyback, &mut words)?,
                "gather" => self.operation(OperationKind::Read, &mut words)?,
                "erase" => self.operation(OperationKind::Erase, &mut words)?,
                "lazy_erase" => self.operation(OperationKind::LazyErase, &mut words)?,
                "encode" => self.encode(&mut words)?,
                "hand_over" => {
                    let (die, wait) = self.pulled(&mut words)?;
                    let to = self.die(&mut words)?;
                    let processed = self.processed(&mut words)?;
                    self.push(die, (wait, processed), Action::HandOver(to), Vec::new());
                }
                "drop" => self.drop_units(&mut words)?,
                _ => return Err(Problem::unknown("", "operation", &short(kind), KINDS).detail()),
            }
        }
        words.end()
    }

    fn command(&mut self, kind: &str, words: &mut Words<'_>) -> Found<()> {
        let next = self.trace.commands.len() as u64;
        let found = words.number("the number of the command", u64::from(u32::MAX - 1))?;
        if found != next {
            return Err(format!("command {found}: expected {next}, as commands are numbered in their order"));
        }
        let user_units = self.header.geometry.iter().find(|(name, _)| *name == "user_units").map_or(0, |(_, units)| *units);
        let first = words.number("the first unit", user_units.saturating_sub(1))?;
        let count = words.number("the number of units", user_units - first)? as u32;
        let answer = match kind {
            "read" => {
                let [buffered, in_flight, unmapped] = ["buffered", "in-flight", "unmapped"]
                    .map(|what| words.number(&format!("the number of {what} units"), u64::from(count)));
                let [buffered, in_flight, unmapped] = [buffered? as u32, in_flight? as u32, unmapped? as u32];
                self.open_reads = words.number("the number of flash reads", u64::from(count))? as u32;
                let away = u64::from(buffered) + u64::from(in_flight) + u64::from(unmapped);
                if away > u64::from(count) || self.open_reads == 0 && away < u64::from(count) {
                    return Err(format!("{away} units are not on flash: the command has {count}"));
                }
                Answer::Read {
                    // As many as there are lines for.
                    reads: Vec::new(),
                    at_once: count,
                    buffered,
                    in_flight,
                    unmapped,
                }
            }
            "write" => {
                let units = self.trace.fates.len();
                if units + count as usize > self.units_max {
                    let what =
                        "more units of writes than the file can name: expected each of them below, but for those that wait";
                    return Err(format!("{what} at its end, {WAITING_MAX} at most"));
                }
                self.trace.fates.resize(units + count as usize, Fate::Waits);
                Answer::Write { units }
            }
            _ => {
                let dies = words.next("the list of dies")?;
                let most = u64::from(self.geometry.die_count) - 1;
                let wakes = list(dies).map(|die| number(die, "die", most).map(|die| die as u32)).collect::<Found<_>>()?;
                Answer::Trim { wakes }
            }
        };
        let asked = if kind == "write" { None } else { self.asked(words)? };
        self.trace.commands.push(Command { first: Lpn(first as u32), count, answer, asked, line: self.line });
        Ok(())
    }

    fn sense(&mut self, words: &mut Words<'_>) -> Found<()> {
        if self.open_reads == 0 {
            return Err("a flash read without a read command: expected as many as the command says".to_owned());
        }
        let sense = self.flash_read(words, Reason::Host)?;
        self.open_reads -= 1;
        let is_last = self.open_reads == 0;
        let Some(Command { answer: Answer::Read { reads, at_once, buffered, in_flight, unmapped }, count, .. }) =
            self.trace.commands.last_mut()
        else {
            unreachable!("flash reads are open only for a read")
        };
        let units = sense.operation.units;
        *at_once = at_once.checked_sub(units).ok_or_else(|| format!("more units than the command has ({count})"))?;
        reads.push(sense);
        if is_last {
            let nowhere = reads.iter().filter(|read| !read.operation.reads_data()).count() as u32;
            let away = *buffered + *in_flight + *unmapped;
            if *at_once + nowhere != away {
                return Err(format!(
                    "the flash reads leave {} units of the read, of which {away} are not on flash",
                    *at_once + nowhere
                ));
            }
        }
        Ok(())
    }

    fn flash_read(&mut self, words: &mut Words<'_>, reason: Reason) -> Found<Sense> {
        let die = self.die(words)?;
        let first = self.place(die, words, true)?;
        let mut operation = self.sizes(OperationKind::Read, die, first, words)?;
        operation.reason = reason;
        let lpn = words.number("the logical unit", u64::from(u32::MAX))? as u32;
        Ok(Sense { operation, lpn })
    }

    fn die(&self, words: &mut Words<'_>) -> Found<DieId> {
        Ok(DieId(words.number("die", u64::from(self.geometry.die_count) - 1)? as u32))
    }

    /// Reads a place, `BLOCK:UNIT`, or `-` for that of a unit never written.
    fn place(&self, die: DieId, words: &mut Words<'_>, may_be_nowhere: bool) -> Found<u32> {
        let word = words.next("the place")?;
        if may_be_nowhere && word == "-" {
            return Ok(NOWHERE);
        }
        let (block, unit) = word.split_once(':').ok_or_else(|| format!("place `{}`: expected BLOCK:UNIT", short(word)))?;
        let block = number(block, "block", u64::from(self.geometry.block_count) - 1)? as u32;
        let blocks = self.geometry.blocks_of(die);
        if !blocks.contains(&block) {
            return Err(format!("block {block}: expected {}..={}, the blocks of die {}", blocks.start, blocks.end - 1, die.0));
        }
        let unit = number(unit, "unit", u64::from(self.geometry.units_per_block) - 1)? as u32;
        Ok(place(self.geometry, block, unit).0)
    }

    /// Reads units, pages, page type and mode of an operation.
    fn sizes(&self, kind: OperationKind, die: DieId, first: u32, words: &mut Words<'_>) -> Found<Operation> {
        let geometry = self.geometry;
        let unit = if first == NOWHERE { 0 } else { geometry.split(kit::Ppn(first)).1 };
        let units = words.number("the number of units", u64::from(geometry.units_per_block - unit))? as u32;
        let max_pages = (geometry.shape.planes_per_program * geometry.shape.pages_per_program * geometry.shape.superblock).max(1);
        let pages = words.number("the number of pages", u64::from(max_pages))? as u32;
        let page_type = words.number("the page type", u64::from(geometry.shape.bits_per_cell.max(1)) - 1)? as u32;
        let modes = match kind {
            OperationKind::Program | OperationKind::Copyback => &self.header.modes[0],
            OperationKind::Read => &self.header.modes[1],
            OperationKind::Erase | OperationKind::LazyErase => &self.header.modes[2],
        };
        let mode = words.number(modes.0, (modes.1.len() as u64).max(1) - 1)? as u8;
        if pages == 0 || units == 0 && matches!(kind, OperationKind::Read | OperationKind::Program) {
            return Err(format!("{units} units and {pages} pages: expected at least one of each"));
        }
        let first = kit::Ppn(first);
        Ok(Operation { kind, die, first, units, pages, page_type, mode: ModeId(mode), ..Operation::default() })
    }

    /// Reads the name of a unit of a write that the file has above.
    fn unit(&self, word: &str) -> Found<(UnitName, usize)> {
        let (command, index) = word.split_once('.').ok_or_else(|| format!("unit `{}`: expected COMMAND.INDEX", short(word)))?;
        let command = number(command, "the command of a unit", u64::from(u32::MAX))? as u32;
        let index = number(index, "the index of a unit", u64::from(u32::MAX))? as u32;
        let name = UnitName { command, index };
        let at = self.trace.unit(name).ok_or_else(|| match self.trace.commands.get(command as usize) {
            None => format!("unit {word}: there is no command {command} above"),
            Some(found) => format!("unit {word}: command {command} is {}", found.in_words()),
        })?;
        Ok((name, at))
    }

    /// Gives a unit its fate; each has one.
    fn decide(&mut self, word: &str, fate: Fate) -> Found<UnitName> {
        let (name, at) = self.unit(word)?;
        if self.trace.fates[at] != Fate::Waits {
            return Err(format!("unit {word}: an entry above has it already"));
        }
        self.trace.fates[at] = fate;
        Ok(name)
    }

    fn absorb(&mut self, words: &mut Words<'_>) -> Found<()> {
        let (one, by) = (words.next("the unit")?, words.next("the waiting unit")?);
        let (into, _) = self.unit(by)?;
        let name = self.decide(one, Fate::Absorbed(into))?;
        if name == into {
            return Err(format!("unit {one}: expected another unit that it replaces"));
        }
        Ok(())
    }

    fn fill(&mut self, words: &mut Words<'_>) -> Found<()> {
        let word = words.next("the unit")?;
        let (name, _) = self.unit(word)?;
        let sense = self.flash_read(words, Reason::Rmw)?;
        if !sense.operation.reads_data() || self.trace.fills.insert(name, sense).is_some() {
            return Err(format!("unit {word}: expected one read of stored data"));
        }
        Ok(())
    }

    fn room(&mut self, words: &mut Words<'_>) -> Found<()> {
        let die = self.die(words)?.index();
        let has_room = words.number("whether there is space", 1)? == 1;
        let when = words.next("`begun` or `done`")?;
        let at = self.room_at(when)?;
        let entries = &mut self.trace.dies[die];
        let is_operation = |entry: &&mut Entry| matches!(entry.action, Action::Operation { .. });
        let entry = match at {
            RoomAt::Begun(_) if entries.is_empty() => {
                self.trace.has_room[die] = has_room;
                return Ok(());
            }
            RoomAt::Begun(_) => entries.last_mut(),
            RoomAt::Done(_) => entries.iter_mut().rev().find(is_operation),
        };
        let entry = entry.ok_or_else(|| format!("`{}`: expected it after an operation of the die", short(when)))?;
        entry.room.push((at, has_room));
        Ok(())
    }

    /// Reads the instant of a change of a die's space: `begun` or `done`, or with cycles also times after them.
    fn room_at(&self, when: &str) -> Found<RoomAt> {
        let time = |word: &str| number(word, "the time", kit::SimTime::LAST.0).map(Nanos);
        match (when, when.strip_prefix("done+")) {
            ("begun", _) => Ok(RoomAt::Begun(Nanos::ZERO)),
            ("done", _) => Ok(RoomAt::Done(Nanos::ZERO)),
            (_, Some(after)) if self.trace.processor.is_some() => time(after).map(RoomAt::Done),
            _ if self.trace.processor.is_some() => time(when).map(RoomAt::Begun),
            _ => Err(format!("`{}`: expected `begun`, or `done` after an operation of the die", short(when))),
        }
    }

    fn urgency(&mut self, words: &mut Words<'_>) -> Found<()> {
        let die = self.die(words)?.index();
        let is_urgent = words.number("whether it is urgent", 1)? == 1;
        let when = words.next("`done` or a time")?;
        let changes = match self.trace.dies[die].last_mut() {
            Some(entry) => &mut entry.urgency,
            None if when == "done" => return Err("`done`: expected it after an operation of the die".to_owned()),
            None => &mut self.trace.urgency[die],
        };
        let after = if when == "done" { None } else { Some(Nanos(number(when, "the time", kit::SimTime::LAST.0)?)) };
        changes.push((after, is_urgent));
        Ok(())
    }

    /// Reads the die and the processing time.
    fn pulled(&self, words: &mut Words<'_>) -> Found<(DieId, Nanos)> {
        Ok((self.die(words)?, Nanos(words.number("the processing time", kit::SimTime::LAST.0)?)))
    }

    fn push(&mut self, die: DieId, (wait, processed): (Nanos, Option<Processed>), action: Action, units: Vec<Taken>) {
        let entry = Entry { action, wait, processed, units, room: Vec::new(), urgency: Vec::new(), line: self.line };
        self.trace.dies[die.index()].push(entry);
    }

    fn operation(&mut self, kind: OperationKind, words: &mut Words<'_>) -> Found<()> {
        let (die, wait) = self.pulled(words)?;
        let word = words.next("the reason")?;
        let names = || Reason::ALL.iter().map(|reason| reason.name());
        let reason = names().position(|name| name == word);
        let reason = Reason::ALL[reason.ok_or_else(|| Problem::unknown("", "reason", &short(word), names()).detail())?];
        let first = self.place(die, words, false)?;
        let mut operation = self.sizes(kind, die, first, words)?;
        let lpn = words.number("the logical unit", u64::from(u32::MAX))? as u32;
        let per_program = u64::from(self.geometry.units_per_program);
        operation.encode = words.number("the number of units to encode", per_program)? as u32;
        operation.reason = reason;
        operation.owner = match kind {
            OperationKind::Program | OperationKind::Copyback => Owner::ProgramUnit,
            OperationKind::LazyErase => Owner::FreeBlock,
            OperationKind::Read | OperationKind::Erase => Owner::Collector,
        };
        let moved = words.number("the number of relocated units", per_program)? as u32;
        let taken = words.next("the list of units")?;
        let units = self.taken(die, taken)?;
        self.check_block(&operation, units.len() + moved as usize)?;
        let processed = self.processed(words)?;
        self.push(die, (wait, processed), Action::Operation { operation, lpn, moved }, units);
        Ok(())
    }

    /// Reads a list of units, `COMMAND.INDEX` or `COMMAND.INDEX^BLOCK`.
    fn taken(&mut self, die: DieId, words: &str) -> Found<Vec<Taken>> {
        let mut units = Vec::new();
        for word in list(words) {
            let (name, block) = word.split_once('^').map_or((word, None), |(name, block)| (name, Some(block)));
            let most = u64::from(self.geometry.block_count) - 1;
            let supersedes = block.map(|block| number(block, "superseded block", most)).transpose()?.map(|block| block as u32);
            units.push(Taken { unit: self.decide(name, Fate::TakenBy(die.0))?, supersedes });
        }
        Ok(units)
    }

    /// Checks the number of units of an operation, and the order of programs in their block.
    fn check_block(&mut self, operation: &Operation, carried: usize) -> Found<()> {
        let (block, unit) = self.geometry.split(operation.first);
        let per_program = self.geometry.units_per_program;
        match operation.kind {
            OperationKind::Program | OperationKind::Copyback => {
                if operation.units != per_program || carried == 0 || carried > per_program as usize {
                    let units = operation.units;
                    return Err(format!("a program of {units} units with data for {carried}: expected {per_program}, with data"));
                }
                let expected = match self.blocks[block.index()] {
                    Filled::Unknown => unit - unit % per_program,
                    Filled::To(units) => units,
                };
                if unit != expected {
                    return Err(format!(
                        "a program of unit {unit} of block {}: expected unit {expected}, the next in order",
                        block.0
                    ));
                }
                self.blocks[block.index()] = Filled::To(unit + per_program);
            }
            OperationKind::Erase | OperationKind::LazyErase => {
                if unit != 0 || operation.units != 0 {
                    return Err(format!("an erase of {} units from unit {unit}: expected 0 units from unit 0", operation.units));
                }
                self.blocks[block.index()] = Filled::To(0);
            }
            OperationKind::Read => {}
        }
        let is_program = matches!(operation.kind, OperationKind::Program | OperationKind::Copyback);
        if !is_program && carried > 0 {
            return Err(format!("a {} carries {carried} units: expected 0 and `-`", operation.kind.name()));
        }
        Ok(())
    }

    fn encode(&mut self, words: &mut Words<'_>) -> Found<()> {
        let (die, wait) = self.pulled(words)?;
        let mode = ModeId(words.number("write_mode", (self.header.modes[0].1.len() as u64).max(1) - 1)? as u8);
        let units = words.number("the number of units", u64::from(self.geometry.units_per_block))? as u32;
        let processed = self.processed(words)?;
        self.push(die, (wait, processed), Action::Encode { mode, units }, Vec::new());
        Ok(())
    }

    fn drop_units(&mut self, words: &mut Words<'_>) -> Found<()> {
        let (die, wait) = self.pulled(words)?;
        let units = self.taken(die, words.next("the list of units")?)?;
        let processed = self.processed(words)?;
        self.push(die, (wait, processed), Action::Drop, units);
        Ok(())
    }
}

/// Returns the items of a list, which is `-` if it is empty.
fn list(words: &str) -> impl Iterator<Item = &str> {
    words.split(',').filter(|word| *word != "-")
}

/// Returns a text, shortened for a message.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
