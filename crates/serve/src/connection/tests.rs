//! Clients of every kind: those that know the protocol, and those that do not.

use super::*;
use crate::wire::{OPTION_MAGIC, OPTION_REPLY_MAGIC, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC, option, reply, transmission};

const SIZE: u64 = 64 << 20;

fn connection() -> Connection {
    Connection::new(Arc::new(Export { name: "tiny".to_owned(), size: SIZE, block: 512, preferred: 4096 }))
}

/// Gives bytes to a connection, at most `step` at a time, and returns the requests with their payloads.
fn feed_in(connection: &mut Connection, mut bytes: &[u8], step: usize) -> Vec<(Request, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let space = connection.space();
        let count = space.len().min(bytes.len()).min(step);
        space[..count].copy_from_slice(&bytes[..count]);
        connection.received(count);
        bytes = &bytes[count..];
        while let Some(request) = connection.next_request() {
            let payload = connection.payload(&request).to_vec();
            found.push((request, payload));
        }
    }
    found
}

fn feed(connection: &mut Connection, bytes: &[u8]) -> Vec<(Request, Vec<u8>)> {
    feed_in(connection, bytes, usize::MAX)
}

fn drained(connection: &mut Connection) -> Vec<u8> {
    let bytes = connection.unsent().to_vec();
    connection.sent(bytes.len());
    bytes
}

fn an_option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &length, data].concat()
}

fn a_request(flags: u16, code: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let (magic, flags, code) = (REQUEST_MAGIC.to_be_bytes(), flags.to_be_bytes(), code.to_be_bytes());
    [&magic[..], &flags, &code, &cookie.to_be_bytes(), &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn named(name: &[u8], rest: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name, rest].concat()
}

/// Returns the replies to options: number, type and data.
fn replies(bytes: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        assert_eq!(u64_at(bytes, at), OPTION_REPLY_MAGIC);
        let length = u32_at(bytes, at + 16) as usize;
        found.push((u32_at(bytes, at + 8), u32_at(bytes, at + 12), bytes[at + 20..at + 20 + length].to_vec()));
        at += 20 + length;
    }
    found
}

/// Returns a connection whose negotiation is over, with nothing to be sent.
fn negotiated(structured: bool) -> Connection {
    let mut connection = connection();
    let mut bytes = 3u32.to_be_bytes().to_vec();
    if structured {
        bytes.extend(an_option(option::STRUCTURED_REPLY, &[]));
        let query = named(b"tiny", &[&1u32.to_be_bytes()[..], &named(b"base:allocation", &[])].concat());
        bytes.extend(an_option(option::SET_META_CONTEXT, &query));
    }
    bytes.extend(an_option(option::GO, &named(b"", &[0, 0])));
    assert_eq!(feed(&mut connection, &bytes), []);
    assert!(connection.is_negotiated());
    drained(&mut connection);
    connection
}

fn simple(cookie: u64, error: u32) -> Vec<u8> {
    [&SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()].concat()
}

#[test]
fn the_negotiation_states_size_flags_and_blocks_and_what_is_asked_for() {
    let mut connection = connection();
    let greeting = drained(&mut connection);
    assert_eq!((&greeting[..8], &greeting[8..16], u16_at(&greeting, 16)), (&b"NBDMAGIC"[..], &b"IHAVEOPT"[..], 3));
    let mut bytes = 3u32.to_be_bytes().to_vec();
    bytes.extend(an_option(option::LIST, &[]));
    bytes.extend(an_option(99, b"anything"));
    bytes.extend(an_option(option::INFO, &named(b"other", &[0, 0])));
    bytes.extend(an_option(option::GO, &named(b"tiny", &[0, 1, 0, 1])));
    assert_eq!(feed(&mut connection, &bytes), []);
    let found = replies(&drained(&mut connection));
    assert_eq!(found[0], (option::LIST, reply::SERVER, named(b"tiny", &[])));
    assert_eq!((found[1].1, found[2].1, found[3].1), (reply::ACK, reply::ERR_UNSUP, reply::ERR_UNKNOWN));
    let facts: Vec<&[u8]> = found[4..].iter().filter(|one| one.1 == reply::INFO).map(|one| &one.2[..]).collect();
    assert_eq!(u64_at(facts[0], 2), SIZE);
    let flags = u16_at(facts[0], 10);
    let all = transmission::SEND_FLUSH | transmission::SEND_FUA | transmission::SEND_TRIM | transmission::SEND_WRITE_ZEROES;
    assert_eq!(flags & all, all);
    assert_eq!([2, 6, 10].map(|at| u32_at(facts[1], at)), [512, 4096, MAX_LENGTH]);
    assert_eq!(facts[2], b"\0\x01tiny");
    assert_eq!(found.last().map(|one| one.1), Some(reply::ACK));
    assert!(connection.is_negotiated());
}

#[test]
fn contexts_need_structured_replies_and_only_the_known_one_is_selected() {
    let mut connection = connection();
    drained(&mut connection);
    let query = |name: &[u8]| named(b"", &[&1u32.to_be_bytes()[..], &named(name, &[])].concat());
    let mut bytes = 1u32.to_be_bytes().to_vec();
    bytes.extend(an_option(option::SET_META_CONTEXT, &query(b"base:allocation")));
    bytes.extend(an_option(option::STRUCTURED_REPLY, &[]));
    bytes.extend(an_option(option::LIST_META_CONTEXT, &query(b"base:")));
    bytes.extend(an_option(option::SET_META_CONTEXT, &query(b"other:x")));
    bytes.extend(an_option(option::SET_META_CONTEXT, &query(b"base:allocation")));
    feed(&mut connection, &bytes);
    let kinds: Vec<u32> = replies(&drained(&mut connection)).iter().map(|one| one.1).collect();
    let (context, ack) = (reply::META_CONTEXT, reply::ACK);
    assert_eq!(kinds, [reply::ERR_INVALID, ack, context, ack, ack, context, ack]);
}

#[test]
fn the_old_end_of_the_negotiation_has_zeroes_unless_they_are_left_out() {
    for (flags, length) in [(1u32, 134), (3, 10)] {
        let mut connection = connection();
        drained(&mut connection);
        let bytes = [&flags.to_be_bytes()[..], &an_option(option::EXPORT_NAME, b"")].concat();
        feed(&mut connection, &bytes);
        assert_eq!(drained(&mut connection).len(), length);
        assert!(connection.is_negotiated());
    }
    let mut connection = connection();
    feed(&mut connection, &[&3u32.to_be_bytes()[..], &an_option(option::EXPORT_NAME, b"x\n")].concat());
    assert_eq!(connection.complaint(), Some("the client asks for the export `x\\n`: expected `tiny`"));
}

#[test]
fn requests_come_out_as_they_went_in_whatever_the_parts_they_come_in() {
    let payload: Vec<u8> = (0..8192u32).map(|number| number as u8).collect();
    let mut bytes = Vec::new();
    bytes.extend([a_request(flag::FUA, command::WRITE, 7, 4096, 8192), payload.clone()].concat());
    bytes.extend(a_request(0, command::READ, 8, SIZE - 512, 512));
    bytes.extend(a_request(0, command::FLUSH, 9, 0, 0));
    bytes.extend(a_request(flag::NO_HOLE, command::WRITE_ZEROES, 10, 0, SIZE as u32));
    bytes.extend(a_request(flag::REQ_ONE, command::BLOCK_STATUS, 11, 512, 512));
    for step in [1, 3, 27, 28, 29, 4096, usize::MAX] {
        let mut connection = negotiated(true);
        let found = feed_in(&mut connection, &bytes, step);
        let cookies: Vec<u64> = found.iter().map(|one| one.0.cookie).collect();
        assert_eq!(cookies, [7, 8, 9, 10, 11], "{step}");
        assert_eq!(found[0].1, payload);
        assert!(found[0].0.has(flag::FUA) && found[3].0.has(flag::NO_HOLE) && found[1].0.offset == SIZE - 512);
        assert!(drained(&mut connection).is_empty());
    }
}

#[test]
fn requests_that_are_not_valid_are_refused_each_by_its_number_and_those_after_them_served() {
    let cases: [(u16, u16, u64, u32, Errno); 11] = [
        (0, command::READ, SIZE, 512, Errno::Inval),
        (0, command::READ, SIZE - 512, 1024, Errno::Inval),
        (0, command::READ, u64::MAX - 511, 512, Errno::Inval),
        (0, command::READ, 1, 512, Errno::Inval),
        (0, command::READ, 0, 100, Errno::Inval),
        (0, command::READ, 0, 0, Errno::Inval),
        (0, command::READ, 0, MAX_LENGTH + 512, Errno::Overflow),
        (flag::NO_HOLE, command::TRIM, 0, 512, Errno::Inval),
        (0, command::WRITE_ZEROES, SIZE, 512, Errno::NoSpc),
        (0, command::FLUSH, 512, 512, Errno::Inval),
        (0, command::BLOCK_STATUS, 0, 512, Errno::Inval),
    ];
    for (flags, code, offset, length, error) in cases {
        let mut connection = negotiated(false);
        let bytes = [a_request(flags, code, 5, offset, length), a_request(0, command::READ, 6, 0, 512)].concat();
        let found = feed(&mut connection, &bytes);
        assert_eq!(found.iter().map(|one| one.0.cookie).collect::<Vec<_>>(), [6], "{code} at {offset}");
        assert_eq!(drained(&mut connection), simple(5, error as u32), "{code} at {offset}, {length} bytes");
    }
    let mut connection = negotiated(false);
    let past = [a_request(0, command::WRITE, 3, SIZE, 512), vec![1; 512], a_request(0, 8, 4, 0, 0)].concat();
    assert_eq!(feed(&mut connection, &past), []);
    assert_eq!(drained(&mut connection), [simple(3, Errno::NoSpc as u32), simple(4, Errno::NotSup as u32)].concat());
}

#[test]
fn oversized_options_and_writes_are_thrown_away_as_they_come_and_refused() {
    let mut connection = connection();
    drained(&mut connection);
    let large = an_option(option::INFO, &vec![0; 1 << 20]);
    feed(&mut connection, &[&3u32.to_be_bytes()[..], &large, &an_option(option::LIST, &[])].concat());
    let kinds: Vec<u32> = replies(&drained(&mut connection)).iter().map(|one| one.1).collect();
    assert_eq!(kinds, [reply::ERR_TOO_BIG, reply::SERVER, reply::ACK]);

    let mut connection = negotiated(false);
    let length = MAX_LENGTH + 512;
    let bytes = [a_request(0, command::WRITE, 1, 0, length), vec![9; length as usize], a_request(0, command::READ, 2, 0, 512)];
    let found = feed(&mut connection, &bytes.concat());
    assert_eq!(found.iter().map(|one| one.0.cookie).collect::<Vec<_>>(), [2]);
    assert_eq!(drained(&mut connection), simple(1, Errno::Overflow as u32));
    assert!(connection.input.len() <= BUFFER, "{} bytes are kept", connection.input.len());
}

#[test]
fn what_a_client_makes_it_keep_is_bounded_by_one_request() {
    let mut connection = negotiated(false);
    feed(&mut connection, &a_request(0, command::WRITE, 1, 0, MAX_LENGTH));
    let length = connection.space().len() + 28;
    assert!(length <= MAX_LENGTH as usize + 2 * BUFFER, "{length}");
    let found = feed_in(&mut connection, &vec![3; MAX_LENGTH as usize], 1 << 20);
    assert_eq!(found[0].1.len(), MAX_LENGTH as usize);
    assert!(connection.space().len() <= BUFFER, "the large buffer is given back");
}

#[test]
fn a_client_that_only_asks_makes_no_replies_without_end() {
    let mut connection = connection();
    drained(&mut connection);
    feed(&mut connection, &3u32.to_be_bytes());
    let many: Vec<u8> = (0..10_000).flat_map(|_| an_option(option::LIST, &[])).collect();
    let space = connection.space();
    let count = space.len().min(many.len());
    space[..count].copy_from_slice(&many[..count]);
    connection.received(count);
    while connection.next_request().is_some() {}
    assert!(connection.unsent().len() < 66 << 10, "{} bytes", connection.unsent().len());
    let mut all = 0;
    while !connection.unsent().is_empty() {
        all += drained(&mut connection).len();
        while connection.next_request().is_some() {}
    }
    assert_eq!(all, count / 16 * (28 + 20), "each option is answered in the end");
}

#[test]
fn clients_of_other_protocols_are_named() {
    let mut connection = connection();
    feed(&mut connection, b"GET / HTTP/1.1\r\n\r\n");
    assert!(connection.has_ended());
    let complaint = "the client begins with 0x47455420: expected the flags of fixed newstyle NBD, 1 or 3";
    assert_eq!(connection.complaint(), Some(complaint));

    let mut connection = negotiated(false);
    feed(&mut connection, &[0; 28]);
    assert_eq!(connection.complaint(), Some("a request begins with 0x00000000: expected 0x25609513, as NBD has it"));
    assert_eq!(feed(&mut connection, &a_request(0, command::READ, 1, 0, 512)), [], "nothing more is taken");
}

#[test]
fn replies_have_the_form_that_was_negotiated() {
    let mut connection = negotiated(false);
    connection.reply_data(1, 512, b"abc");
    assert_eq!(drained(&mut connection), [simple(1, 0), b"abc".to_vec()].concat());

    let mut connection = negotiated(true);
    connection.reply_data(1, 512, b"abc");
    let found = drained(&mut connection);
    assert_eq!((u32_at(&found, 0), u16_at(&found, 4), u16_at(&found, 6)), (0x668e_33ef, 1, 1));
    assert_eq!((u64_at(&found, 8), u32_at(&found, 16), u64_at(&found, 20), &found[28..]), (1, 11, 512, &b"abc"[..]));
    connection.reply_error(Kind::Read, 2, Errno::Io);
    let found = drained(&mut connection);
    assert_eq!((u16_at(&found, 6), u32_at(&found, 16), u32_at(&found, 20), found.len()), (0x8001, 6, 5, 26));
    connection.reply_error(Kind::Write, 3, Errno::NoSpc);
    assert_eq!(drained(&mut connection), simple(3, 28));
    connection.reply_extents(4, &[Extent { length: 4096, is_hole: true }, Extent { length: 512, is_hole: false }]);
    let found = drained(&mut connection);
    let words: Vec<u32> = (20..40).step_by(4).map(|at| u32_at(&found, at)).collect();
    assert_eq!((u16_at(&found, 6), words), (5, vec![1, 4096, 3, 512, 0]));
}
