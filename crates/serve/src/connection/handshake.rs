//! Negotiation: flags and options, until the client has chosen the export.

use super::{Connection, Discard, Discarded, State, u16_at, u32_at, u64_at};
use crate::wire::{self, info, option, reply, transmission};

/// Bytes of an option before its data.
const HEADER: usize = 16;
/// Largest data of an option: names have at most 4,096 bytes, and a query for contexts has some of them.
const DATA: usize = 16 << 10;
/// Largest option.
pub(super) const LARGEST: usize = HEADER + DATA;
/// The metadata context that is known, and the beginning of all names in its namespace.
const CONTEXT: &[u8] = b"base:allocation";
/// Number of the context in replies.
pub(super) const CONTEXT_ID: u32 = 1;
/// Largest number of bytes that wait to be sent before another option is looked at.
const UNSENT: usize = 64 << 10;

impl Connection {
    /// Handles the flags of the client, or its next option. Returns false if more bytes are needed.
    pub(super) fn negotiate(&mut self) -> bool {
        if self.unsent().len() > UNSENT {
            return false;
        }
        let bytes = self.peek();
        if self.state == State::Flags {
            if bytes.len() < 4 {
                return false;
            }
            let flags = u32_at(bytes, 0);
            self.waiting.start += 4;
            let known = u32::from(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES);
            if flags & !known != 0 || flags & u32::from(wire::FLAG_FIXED_NEWSTYLE) == 0 {
                self.end(format!("the client begins with {flags:#010x}: expected the flags of fixed newstyle NBD, 1 or 3"));
                return true;
            }
            self.no_zeroes = flags & u32::from(wire::FLAG_NO_ZEROES) != 0;
            self.state = State::Options;
            return true;
        }
        if bytes.len() < HEADER {
            return false;
        }
        let (magic, number, length) = (u64_at(bytes, 0), u32_at(bytes, 8), u32_at(bytes, 12) as usize);
        if magic != wire::OPTION_MAGIC {
            self.end(format!("an option begins with {magic:#018x}: expected {:#018x}, as NBD has it", wire::OPTION_MAGIC));
            return true;
        }
        if length > DATA {
            self.waiting.start += HEADER;
            self.discard = Some(Discard { left: length as u64, then: Discarded::Option(number) });
            return true;
        }
        if bytes.len() < HEADER + length {
            return false;
        }
        let data = bytes[HEADER..HEADER + length].to_vec();
        self.waiting.start += HEADER + length;
        self.answer(number, &data);
        true
    }

    fn answer(&mut self, number: u32, data: &[u8]) {
        match number {
            option::EXPORT_NAME => self.export_name(data),
            option::ABORT => {
                self.option_reply(number, reply::ACK, &[]);
                self.state = State::Ended;
            }
            option::LIST if data.is_empty() => {
                let name = self.export.name.clone();
                let mut entry = (name.len() as u32).to_be_bytes().to_vec();
                entry.extend_from_slice(name.as_bytes());
                self.option_reply(number, reply::SERVER, &entry);
                self.option_reply(number, reply::ACK, &[]);
            }
            option::INFO | option::GO => self.go(number, data),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.is_structured = true;
                self.option_reply(number, reply::ACK, &[]);
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(number, data),
            option::LIST | option::STRUCTURED_REPLY => {
                self.option_reply(number, reply::ERR_INVALID, b"expected an option without data");
            }
            _ => self.option_reply(number, reply::ERR_UNSUP, b"the option is not known"),
        }
    }

    fn is_name(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    fn transmission_flags(&self) -> u16 {
        use transmission::{CAN_MULTI_CONN, HAS_FLAGS, SEND_DF, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_WRITE_ZEROES};
        let of_replies = if self.is_structured { SEND_DF } else { 0 };
        HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | CAN_MULTI_CONN | of_replies
    }

    /// Ends the negotiation the old way, which has no reply for a name that is not known.
    fn export_name(&mut self, name: &[u8]) {
        if !self.is_name(name) {
            let text = format!(
                "the client asks for the export `{}`: expected `{}`",
                String::from_utf8_lossy(name).escape_debug(),
                self.export.name
            );
            self.end(text);
            return;
        }
        self.output.extend_from_slice(&self.export.size.to_be_bytes());
        let flags = self.transmission_flags();
        self.output.extend_from_slice(&flags.to_be_bytes());
        if !self.no_zeroes {
            self.output.extend_from_slice(&[0; 124]);
        }
        self.state = State::Requests;
    }

    fn go(&mut self, number: u32, data: &[u8]) {
        let Some((name, asked)) = name_and_infos(data) else {
            self.option_reply(number, reply::ERR_INVALID, b"expected a name, and a list of facts");
            return;
        };
        if !self.is_name(name) {
            let text = format!("there is no such export: expected \"\" or \"{}\"", self.export.name);
            self.option_reply(number, reply::ERR_UNKNOWN, text.as_bytes());
            return;
        }
        let export = std::sync::Arc::clone(&self.export);
        let mut fact = info::EXPORT.to_be_bytes().to_vec();
        fact.extend_from_slice(&export.size.to_be_bytes());
        fact.extend_from_slice(&self.transmission_flags().to_be_bytes());
        self.option_reply(number, reply::INFO, &fact);
        let mut fact = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [export.block, export.preferred, super::MAX_LENGTH] {
            fact.extend_from_slice(&size.to_be_bytes());
        }
        self.option_reply(number, reply::INFO, &fact);
        for (kind, text) in [(info::NAME, export.name.as_str()), (info::DESCRIPTION, "a drive simulated by ssdlab")] {
            if asked.chunks_exact(2).any(|one| u16_at(one, 0) == kind) {
                let mut fact = kind.to_be_bytes().to_vec();
                fact.extend_from_slice(text.as_bytes());
                self.option_reply(number, reply::INFO, &fact);
            }
        }
        self.option_reply(number, reply::ACK, &[]);
        if number == option::GO {
            self.state = State::Requests;
        }
    }

    fn contexts(&mut self, number: u32, data: &[u8]) {
        let sets = number == option::SET_META_CONTEXT;
        let Some((name, queries)) = name_and_queries(data).filter(|_| self.is_structured) else {
            self.option_reply(number, reply::ERR_INVALID, b"expected structured replies, a name, and a list of queries");
            return;
        };
        if !self.is_name(name) {
            self.option_reply(number, reply::ERR_UNKNOWN, b"there is no such export");
            return;
        }
        let is_whole = |query: &&[u8]| *query == CONTEXT;
        let is_asked = queries.iter().any(|query| is_whole(query) || !sets && *query == b"base:") || !sets && queries.is_empty();
        if sets {
            self.has_status = is_asked;
        }
        if is_asked {
            let mut found = if sets { CONTEXT_ID } else { 0 }.to_be_bytes().to_vec();
            found.extend_from_slice(CONTEXT);
            self.option_reply(number, reply::META_CONTEXT, &found);
        }
        self.option_reply(number, reply::ACK, &[]);
    }

    pub(super) fn option_reply(&mut self, option: u32, kind: u32, data: &[u8]) {
        self.output.extend_from_slice(&wire::OPTION_REPLY_MAGIC.to_be_bytes());
        self.output.extend_from_slice(&option.to_be_bytes());
        self.output.extend_from_slice(&kind.to_be_bytes());
        self.output.extend_from_slice(&(data.len() as u32).to_be_bytes());
        self.output.extend_from_slice(data);
    }
}

/// Takes a text that its length precedes. Returns it and the remainder.
fn text(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32_at(data.get(..4)?, 0) as usize;
    data[4..].split_at_checked(length)
}

/// Returns the name, and the kinds of the facts that are asked for, two bytes each.
fn name_and_infos(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = text(data)?;
    let count = u16_at(rest.get(..2)?, 0) as usize;
    let asked = &rest[2..];
    (asked.len() == 2 * count).then_some((name, asked))
}

fn name_and_queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (name, rest) = text(data)?;
    let count = u32_at(rest.get(..4)?, 0);
    let (mut rest, mut queries) = (&rest[4..], Vec::new());
    for _ in 0..count {
        let (query, others) = text(rest)?;
        queries.push(query);
        rest = others;
    }
    rest.is_empty().then_some((name, queries))
}
