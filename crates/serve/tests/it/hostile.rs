//! Clients that do not keep to the protocol, stall or vanish: another client's data stays right.

use crate::client::*;
use std::io::{Read, Write};
use std::net::Shutdown;

/// Writes and reads by another client.
fn serves(server: &Server, seed: u64) {
    let mut client = server.client();
    client.write(seed << 16, &pattern(seed, 65536));
    assert_eq!(client.read(seed << 16, 65536), pattern(seed, 65536));
}

#[test]
fn clients_of_other_protocols_and_half_frames_end_alone() {
    let server = Server::start(&[]);
    let mut http = server.connect();
    http.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    server.remark("the client begins with 0x47455420");
    let mut rest = Vec::new();
    // The greeting, and then the end: or a reset, since what was sent is not read.
    let _ = http.read_to_end(&mut rest);
    serves(&server, 1);

    let mut client = server.client();
    client.stream.write_all(&[0xee; 28]).unwrap();
    server.remark("a request begins with 0xeeeeeeee");
    serves(&server, 2);

    let mut half = server.client();
    half.stream.write_all(&frame(0, WRITE, 1, 0, 4096)).unwrap();
    half.stream.write_all(&[7; 1000]).unwrap();
    half.stream.shutdown(Shutdown::Both).unwrap();
    serves(&server, 3);
    let mut client = server.client();
    assert_eq!(client.read(0, 4096), vec![0; 4096], "a write whose data has not come is not done");
    server.stop();
}

#[test]
fn a_client_that_reads_no_replies_is_stopped_and_others_go_on() {
    let server = Server::start(&["state.precondition=fill"]);
    let mut stalled = server.client();
    stalled.stream.set_nonblocking(true).unwrap();
    let request = frame(0, READ, 1, 0, 1 << 20);
    let mut sent = 0;
    // As many requests as the sockets take: their replies are not read.
    while stalled.stream.write(&request).is_ok() && sent < 100_000 {
        sent += 1;
    }
    for seed in 1..4 {
        serves(&server, seed);
    }
    let found = server.ask(r#"{"do":"stats"}"#).unwrap();
    let taken = found["server"]["requests"]["read"].as_u64().unwrap();
    assert!(taken < 3 + 256, "{taken} of {sent} requests are taken: their replies are bounded");
    drop(stalled);
    serves(&server, 4);
    server.stop();
}

#[test]
fn a_client_that_vanishes_with_requests_in_flight_costs_nothing() {
    let server = Server::start(BUFFERED);
    for round in 0..20 {
        let mut client = server.client();
        for index in 0..32 {
            client.send(0, WRITE, (8 << 20) + 4096 * index, 4096, &pattern(round, 4096));
            client.send(0, READ, (8 << 20) + 4096 * index, 4096, &[]);
        }
    }
    serves(&server, 1);
    let mut client = server.client();
    for index in 0..32 {
        let found = client.read((8 << 20) + 4096 * index, 4096);
        assert!((0..20).any(|round| found == pattern(round, 4096)) || found == [0; 4096], "whole writes or none");
    }
    let ended = server.stop();
    assert!(ended.complaint.is_none());
}

#[test]
fn connections_are_limited_and_places_are_given_again() {
    let server = Server::start(&[]);
    let all: Vec<_> = (0..40).map(|_| server.connect()).collect();
    server.remark("a connection is refused");
    drop(all);
    // The places are free once the server has seen the ends.
    let is_refused = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.client())).is_err();
    for _ in 0..1000 {
        if !is_refused() {
            break;
        }
    }
    serves(&server, 1);
    server.stop();
}

#[test]
fn requests_for_control_that_are_wrong_are_refused_by_name() {
    let server = Server::start(&[]);
    assert!(server.ask("GET / HTTP/1.1").unwrap_err().contains("not JSON"));
    assert!(server.ask(r#"{"do":"explode"}"#).unwrap_err().contains("do = `explode`: expected stats"));
    assert!(server.ask(r#"{"do":"restore","name":"x"}"#).unwrap_err().contains("no state `x` is kept"));
    let refused = server.ask(r#"{"do":"faults","name":"f.toml","text":""}"#).unwrap_err();
    assert!(refused.contains("f.toml: the drive has no section [faults]"), "{refused}");
    let refused = server.ask(r#"{"do":"save","file":"/no/such/folder/d"}"#).unwrap_err();
    assert!(refused.starts_with("/no/such/folder/d: "), "{refused}");
    serves(&server, 1);
    server.stop();
}
