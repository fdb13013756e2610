//! Requests of clients that keep to the protocol.

use crate::client::*;
use kit::Nanos;
use serve::Clock;
use std::collections::BTreeMap;
use std::io::Write;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;

#[test]
fn what_is_written_is_read_in_parts_of_units_and_across_them() {
    let server = Server::start(BUFFERED);
    let mut client = server.client();
    let mut expected = vec![0; 1 << 20];
    for (seed, offset, length) in [(1, 0, 4096), (2, 512, 512), (3, 3584, 9216), (4, 65536, 1 << 18), (5, 1024, 512)] {
        let data = pattern(seed, length);
        client.write(offset, &data);
        expected[offset as usize..offset as usize + length].copy_from_slice(&data);
        assert_eq!(client.read(0, 1 << 20), expected, "{seed}");
    }
    let end = client.size;
    client.write(end - 512, &pattern(9, 512));
    assert_eq!(client.read(end - 512, 512), pattern(9, 512));
    let summary = server.stop().summary;
    assert_eq!((summary["commands"]["write"].clone(), summary["server"]["requests"]["write"].clone()), (6.into(), 6.into()));
    assert_eq!(summary["status"], "complete");
}

#[test]
fn many_requests_of_several_clients_are_in_flight_and_none_gets_anothers_data() {
    let server = Server::start(BUFFERED);
    let run = |number: u64| {
        let mut client = server.client();
        let base = number << 22;
        let mut sent = BTreeMap::new();
        for round in 0..4 {
            for index in 0..64 {
                let data = pattern(number << 32 | round << 16 | index, 4096);
                client.send(0, WRITE, base + 4096 * index, 4096, &data);
            }
            (0..64).for_each(|_| assert_eq!(client.reply().error, 0));
            for index in (0..64).rev() {
                let cookie = client.send(0, READ, base + 4096 * index, 4096, &[]);
                sent.insert(cookie, pattern(number << 32 | round << 16 | index, 4096));
            }
            for _ in 0..64 {
                let reply = client.reply();
                assert_eq!(Some(reply.data), sent.remove(&reply.cookie));
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|number| drop(scope.spawn(move || run(number)))));
    let summary = server.stop().summary;
    assert_eq!(summary["server"]["requests"]["read"], 1024);
    assert!(summary["max_in_flight"].as_u64().is_none_or(|most| most > 1), "requests are in flight together");
}

#[test]
fn replies_come_in_the_order_of_completion() {
    let server = Server::start(&["buffer.policy=none"]);
    let mut client = server.client();
    // A write takes longer than a read of what was never written. Both are in the socket together.
    let write = [frame(0, WRITE, 1, 0, 4096), pattern(1, 4096)].concat();
    client.stream.write_all(&[write, frame(0, READ, 2, 8 << 20, 512)].concat()).unwrap();
    assert_eq!((client.reply().cookie, client.reply().cookie), (2, 1));
    server.stop();
}

#[test]
fn zeroes_trims_and_extents_agree() {
    let server = Server::start(&["buffer.policy=none"]);
    let mut client = server.client();
    assert_eq!(client.extents(0, 1 << 20), [(1 << 20, 3)]);
    client.write(8192, &pattern(1, 32768));
    assert_eq!(client.extents(0, 65536), [(8192, 3), (32768, 0), (24576, 3)]);
    // Parts of two units, and whole ones between them.
    assert_eq!(client.call(FUA, ZEROES, 8704, 20480, &[]).error, 0);
    let mut expected = pattern(1, 32768);
    expected[512..20992].fill(0);
    assert_eq!(client.read(8192, 32768), expected);
    assert_eq!(client.extents(8192, 32768), [(4096, 0), (16384, 3), (12288, 0)]);
    assert_eq!(client.call(FUA, TRIM, 28672, 4096, &[]).error, 0);
    expected[20480..24576].fill(0);
    assert_eq!(client.read(8192, 32768), expected);
    client.write(1 << 20, &pattern(2, 3 << 20));
    assert_eq!(client.call(NO_HOLE, ZEROES, (1 << 20) + 512, (3 << 20) - 1024, &[]).error, 0);
    let found = client.read(1 << 20, 3 << 20);
    assert_eq!(
        (&found[..512], &found[found.len() - 512..]),
        (&pattern(2, 3 << 20)[..512], &pattern(2, 3 << 20)[(3 << 20) - 512..])
    );
    assert!(found[512..(3 << 20) - 512].iter().all(|byte| *byte == 0));
    let before = server.ask(r#"{"do":"stats"}"#).unwrap()["commands"]["flush"].clone();
    assert_eq!(before, 2, "a trim and zeroes with FUA are flushed");
    server.stop();
}

#[test]
fn requests_past_the_end_change_nothing_and_are_refused_by_number() {
    let server = Server::start(&[]);
    let mut client = server.client();
    let end = client.size;
    client.write(end - 4096, &pattern(1, 4096));
    assert_eq!(client.call(0, READ, end, 512, &[]).error, 22);
    assert_eq!(client.call(0, WRITE, end - 512, 1024, &[7; 1024]).error, 28);
    assert_eq!(client.call(0, WRITE, end - 100, 512, &[7; 512]).error, 22);
    assert_eq!(client.call(0, TRIM, end - 512, 1024, &[]).error, 22);
    assert_eq!(client.call(0, ZEROES, u64::MAX - 511, 512, &[]).error, 28);
    assert_eq!(client.read(end - 4096, 4096), pattern(1, 4096));
    server.stop();
}

#[test]
fn a_full_store_refuses_writes_and_keeps_what_it_has() {
    let limit = builder(&[]).contents(64 << 10);
    let server = Server::of(limit, Clock::Simulated { think: Nanos(0), depth: 1 });
    let mut client = server.client();
    client.write(0, &pattern(1, 64 << 10));
    assert_eq!(client.call(0, WRITE, 1 << 20, 4096, &pattern(2, 4096)).error, 28);
    assert_eq!(client.read(0, 64 << 10), pattern(1, 64 << 10));
    assert_eq!(client.read(1 << 20, 4096), vec![0; 4096]);
    assert_eq!(server.stop().summary["server"]["requests_failed"], 1);
}

#[test]
fn a_drive_without_contents_is_refused_before_it_listens() {
    struct Silent;
    impl serve::server::Host for Silent {
        fn goes_on(&mut self) -> bool {
            false
        }

        fn remark(&mut self, text: &str) {
            panic!("{text}");
        }
    }
    let socket = std::env::temp_dir().join(format!("ssdlab-none-{}", std::process::id()));
    let drive = drive::embed::Builder::preset("tiny").unwrap().build().unwrap();
    let load = Box::new(|_: &str, _: &mut dyn std::io::Read| unreachable!("nothing is restored"));
    let clock = Clock::Simulated { think: Nanos(0), depth: 1 };
    let options = serve::Options { socket: socket.clone(), tcp: None, clock, record: None, load };
    let complaint = serve::serve(drive, options, &mut Silent).err();
    assert_eq!(complaint.as_deref(), Some("the drive keeps no contents: expected one that was built with contents"));
    assert!(!socket.exists());
}
