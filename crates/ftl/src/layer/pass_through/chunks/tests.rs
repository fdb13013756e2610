//! Each transition and each refusal by a table written out, and random commands against a plain model of a chunk.

use super::*;
use kit::Rng;

const RULES: Rules = Rules {
    units: 8,
    chunks_per_die: 4,
    ws_min: 2,
    ws_opt: 4,
    mw_cunits: 0,
    open: 0,
    open_per_die: 0,
    multiple_resets: false,
    early_reset: false,
    offline_after: u32::MAX,
};

/// Returns chunks of two dies, of which number 0 is free, 1 open with four units, 2 closed and 3 offline.
fn one_of_each(rules: Rules) -> Chunks {
    let mut chunks = Chunks::new(Rules { early_reset: true, offline_after: 0, ..rules }, 2, 0, 0);
    chunks.write(24..32).expect("in order");
    chunks.reset(std::iter::once(24), |_| 8).expect("it is closed");
    chunks.rules = rules;
    chunks.write(8..12).expect("in order");
    chunks.write(16..24).expect("in order");
    let states: Vec<ChunkState> = chunks.all()[..4].iter().map(|chunk| chunk.state).collect();
    assert_eq!(states, [ChunkState::Free, ChunkState::Open, ChunkState::Closed, ChunkState::Offline]);
    chunks
}

/// Effects of each command on a chunk in each state: free, open, closed, offline.
#[test]
fn every_command_in_every_state() {
    use ChunkState::{Closed, Free, Open};
    use Status::{ChunkOffline, InvalidReset, OutOfOrderWrite, Unwritten};
    type Expected = [Result<(ChunkState, u32), Status>; 4];
    let table: [(&str, Expected); 5] = [
        ("write at the pointer", [Ok((Open, 2)), Ok((Open, 6)), Err(OutOfOrderWrite), Err(ChunkOffline)]),
        ("write the rest", [Ok((Closed, 8)), Ok((Closed, 8)), Err(OutOfOrderWrite), Err(ChunkOffline)]),
        ("write behind the pointer", [Err(OutOfOrderWrite), Err(OutOfOrderWrite), Err(OutOfOrderWrite), Err(ChunkOffline)]),
        ("read the first unit", [Err(Unwritten), Ok((Open, 4)), Ok((Closed, 8)), Err(ChunkOffline)]),
        ("reset", [Err(InvalidReset), Err(InvalidReset), Ok((Free, 0)), Err(ChunkOffline)]),
    ];
    for (what, expected) in table {
        for chunk in 0..4 {
            let mut chunks = one_of_each(RULES);
            let before = chunks.all().to_vec();
            let (first, written) = (chunk * 8, chunks.all()[chunk as usize].written.min(6));
            let result = match what {
                "write at the pointer" => chunks.write(first + written..first + written + 2),
                "write the rest" => chunks.write(first + written..first + 8),
                "write behind the pointer" => chunks.write(first + (written + 2).min(7)..first + (written + 3).min(8)),
                "read the first unit" => chunks.read(std::iter::once(first)),
                _ => chunks.reset(std::iter::once(first), |chunk| before[chunk as usize].written),
            };
            let found = result.map(|()| (chunks.all()[chunk as usize].state, chunks.all()[chunk as usize].written));
            assert_eq!(found, expected[chunk as usize], "{what}, {:?}", before[chunk as usize].state);
            assert!(found.is_ok() || chunks.all() == before, "{what}: a command that fails changes nothing");
        }
    }
}

#[test]
fn options_allow_further_resets() {
    let mut chunks = one_of_each(Rules { multiple_resets: true, early_reset: true, ..RULES });
    let written: Vec<u32> = chunks.all().iter().map(|chunk| chunk.written).collect();
    assert_eq!(chunks.reset([0, 8, 16].into_iter(), |chunk| written[chunk as usize]), Ok(()));
    assert_eq!(chunks.count(ChunkState::Free), 7);
    // Writes that are not programmed, a chunk named twice, and an address that is not the first of a chunk.
    chunks.write(0..4).expect("in order");
    assert_eq!(chunks.reset(std::iter::once(0), |_| 2), Err(Status::InvalidReset));
    assert_eq!(chunks.reset([8, 8].into_iter(), |_| 0), Err(Status::InvalidReset));
    assert_eq!(chunks.reset(std::iter::once(9), |_| 0), Err(Status::InvalidField));
}

#[test]
fn writes_are_multiples_of_ws_min_for_each_chunk() {
    let mut chunks = one_of_each(RULES);
    // Two units of one chunk, between them two of another.
    assert_eq!(chunks.write([0, 12, 1, 13].into_iter()), Ok(()));
    let before = chunks.all().to_vec();
    assert_eq!(chunks.write([2, 14, 3].into_iter()), Err(Status::InvalidField));
    assert_eq!(chunks.all(), before);
}

#[test]
fn open_chunks_are_limited() {
    let mut chunks = Chunks::new(Rules { open: 2, open_per_die: 1, ..RULES }, 3, 0, 0);
    assert_eq!(chunks.write(0..2), Ok(()));
    assert_eq!(chunks.write(8..10), Err(Status::TooManyOpen), "one for each die");
    assert_eq!(chunks.write(32..34), Ok(()));
    assert_eq!(chunks.write(64..66), Err(Status::TooManyOpen), "two in all");
    assert_eq!(chunks.write(2..8), Ok(()), "an open chunk");
    assert_eq!(chunks.write(64..66), Ok(()), "one was closed");
}

#[test]
fn the_last_units_of_an_open_chunk_cannot_be_read() {
    let mut chunks = Chunks::new(Rules { mw_cunits: 3, ..RULES }, 1, 0, 0);
    chunks.write(0..6).expect("in order");
    assert_eq!((chunks.read(0..3), chunks.read(0..4)), (Ok(()), Err(Status::Unwritten)));
    chunks.write(6..8).expect("in order");
    assert_eq!(chunks.read(0..8), Ok(()), "a closed chunk");
}

/// A chunk as the specification describes it, without limits.
#[derive(Clone, Debug, Default)]
struct Plain {
    written: u32,
    is_offline: bool,
    erases: u32,
}

/// Returns the result of a read.
fn plain_read(plain: &[Plain], addresses: &[u32]) -> Result<(), Status> {
    addresses.iter().try_for_each(|address| match &plain[(address / 8) as usize] {
        Plain { is_offline: true, .. } => Err(Status::ChunkOffline),
        chunk if address % 8 >= chunk.written => Err(Status::Unwritten),
        _ => Ok(()),
    })
}

/// Returns the result of a write, which takes effect if it is valid.
fn plain_write(plain: &mut Vec<Plain>, addresses: &[u32]) -> Result<(), Status> {
    let mut model = plain.clone();
    for address in addresses {
        match &mut model[(address / 8) as usize] {
            Plain { is_offline: true, .. } => return Err(Status::ChunkOffline),
            Plain { written, .. } if *written != address % 8 => return Err(Status::OutOfOrderWrite),
            chunk => chunk.written += 1,
        }
    }
    let is_even = |(before, after): (&Plain, &Plain)| (after.written - before.written).is_multiple_of(2);
    if !plain.iter().zip(&model).all(is_even) {
        return Err(Status::InvalidField);
    }
    *plain = model;
    Ok(())
}

/// Returns the result of a reset, which takes effect if it is valid.
fn plain_reset(chunk: &mut Plain) -> Result<(), Status> {
    match chunk {
        Plain { is_offline: true, .. } => Err(Status::ChunkOffline),
        Plain { written: 0, .. } => Err(Status::InvalidReset),
        _ => {
            (chunk.written, chunk.is_offline) = (0, chunk.erases >= 400);
            chunk.erases += 1;
            Ok(())
        }
    }
}

/// Returns addresses of a write to chunks: mostly in order and in pairs, sometimes not.
fn addresses(plain: &[Plain], targets: &[u32], rng: &mut Rng) -> Vec<u32> {
    let mut pointers: Vec<u32> = plain.iter().map(|chunk| chunk.written).collect();
    let mut found = Vec::new();
    for &chunk in targets {
        let (units, skipped) = (if rng.below(20) == 0 { 1 } else { 2 }, u32::from(rng.below(20) == 0));
        let from = pointers[chunk as usize] + skipped;
        found.extend((from..(from + units).min(8)).map(|place| chunk * 8 + place));
        pointers[chunk as usize] = (from + units).min(8);
    }
    found
}

/// 200,000 random commands on a few chunks, vectored ones among them.
#[test]
fn random_commands_agree_with_a_plain_model() {
    let mut chunks = Chunks::new(Rules { early_reset: true, offline_after: 400, ..RULES }, 2, 0, 0);
    let mut plain = vec![Plain::default(); 8];
    let mut rng = Rng::stream(3, "chunks");
    let mut refusals = std::collections::BTreeMap::new();
    for _ in 0..200_000 {
        let targets: Vec<u32> = (0..1 + rng.below(4)).map(|_| rng.below(8) as u32).collect();
        let (result, expected) = match rng.below(5) {
            0 => {
                let first = targets[0];
                let written: Vec<u32> = chunks.all().iter().map(|chunk| chunk.written).collect();
                let result = chunks.reset(std::iter::once(first * 8), |chunk| written[chunk as usize]);
                if result.is_ok() {
                    chunks.erased(first);
                }
                (result, plain_reset(&mut plain[first as usize]))
            }
            1 => {
                let read: Vec<u32> = targets.iter().map(|chunk| chunk * 8 + rng.below(8) as u32).collect();
                (chunks.read(read.iter().copied()), plain_read(&plain, &read))
            }
            _ => {
                let write = addresses(&plain, &targets, &mut rng);
                (chunks.write(write.iter().copied()), plain_write(&mut plain, &write))
            }
        };
        assert_eq!(result, expected);
        if let Err(status) = result {
            *refusals.entry(status).or_insert(0) += 1;
        }
        for (chunk, plain) in chunks.all().iter().zip(&plain) {
            assert_eq!((chunk.written, chunk.state == ChunkState::Offline), (plain.written, plain.is_offline));
        }
        for state in ChunkState::ALL {
            let counted = chunks.all().iter().filter(|chunk| chunk.state == state).count() as u32;
            assert_eq!(chunks.count(state), counted, "{state:?}");
        }
    }
    assert_eq!(refusals.len(), 5, "{refusals:?}");
}
