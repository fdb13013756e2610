//! Servers with precedence against a model that works nanosecond by nanosecond.

use super::*;
use crate::usage::PartOfDrive;
use kit::Rng;

/// A piece of work: when it asks, how long it takes, and whether it goes first.
#[derive(Clone, Copy, Debug)]
struct Piece {
    asks: u64,
    time: u64,
    goes_first: bool,
}

/// Returns work on a server whose load is about as high as it can be.
fn random(seed: u64) -> Vec<Piece> {
    let mut rng = Rng::stream(seed, "precedence");
    let mut asks = 0;
    let mut piece = || {
        asks += rng.below(9);
        let goes_first = rng.chance(0.5);
        Piece { asks, time: 1 + if goes_first { rng.below(3) } else { rng.below(11) }, goes_first }
    };
    (0..30).map(|_| piece()).collect()
}

/// Lets a pool do the work. Returns the instant at which each piece is done.
fn serve(pieces: &[Piece], count: u16, packet: u64, alternates: bool) -> Vec<u64> {
    let mut servers: Vec<Server> = (0..count).map(|_| Server::new("server", 0, PartOfDrive::Cores)).collect();
    let (mut lines, mut events, pool) = (Lines::default(), Events::default(), Pool { first: 0, count });
    lines.resize(usize::from(count));
    if packet > 0 {
        lines.cut(0, Nanos(packet));
    }
    if alternates {
        lines.alternate(0..1);
    }
    let mut done = vec![0; pieces.len()];
    for (piece, index) in pieces.iter().zip(0..) {
        events.push(SimTime(piece.asks), Class::Arrival, Event::TransferBegins(index));
    }
    let ends = |events: &mut Events, id: TransactionId, at: SimTime| events.push(at, Class::Done, Event::Step(id));
    while let Some((now, _, event)) = events.pop() {
        match event {
            Event::TransferBegins(index) => {
                let (piece, id) = (&pieces[index as usize], TransactionId(index));
                let time = Nanos(piece.time);
                if piece.goes_first {
                    if let Some(granted) = lines.take_turn(&mut servers, pool, now) {
                        ends(&mut events, granted.id, granted.ends);
                    }
                    let (_, at) = lines.accept_first(&mut servers, pool, (time, 0), now, true);
                    ends(&mut events, id, at);
                } else if let Some((_, at)) = lines.ask(&mut servers, pool, (id, time, 0), now, &mut events) {
                    ends(&mut events, id, at);
                }
            }
            Event::Step(id) => match lines.delayed_until(pool.first, now).filter(|_| !pieces[id.0 as usize].goes_first) {
                Some(at) => ends(&mut events, id, at),
                None => done[id.0 as usize] = now.0,
            },
            Event::Server(first) => {
                while let Some(granted) = lines.grant(&mut servers, first, now, &mut events) {
                    ends(&mut events, granted.id, granted.ends);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    let busy: u64 = servers.iter().map(|server| server.busy(SimTime::LAST).0).sum();
    assert_eq!(busy, pieces.iter().map(|piece| piece.time).sum::<u64>());
    done
}

/// Work in progress: the piece, its time left, and the time done since its last packet boundary.
type Running = Option<(usize, u64, u64)>;

/// Returns the instants at which the pieces are done on a server that looks at all that waits in each nanosecond.
fn expected(pieces: &[Piece], count: usize, packet: u64) -> Vec<u64> {
    let mut done = vec![0; pieces.len()];
    let (mut first, mut others) = (VecDeque::new(), VecDeque::new());
    let mut running: Vec<Running> = vec![None; count];
    let mut interrupted: Running = None;
    let mut next = 0;
    for now in 0u64.. {
        if next == pieces.len()
            && interrupted.is_none()
            && first.is_empty()
            && others.is_empty()
            && running.iter().all(Option::is_none)
        {
            break;
        }

        while let Some(piece) = pieces.get(next).filter(|piece| piece.asks == now) {
            let line = if piece.goes_first { &mut first } else { &mut others };
            line.push_back(next);
            next += 1;
        }
        for server in &mut running {
            let at_boundary =
                server.is_some_and(|(piece, _, since)| packet > 0 && !pieces[piece].goes_first && since % packet == 0);
            if at_boundary && !first.is_empty() {
                interrupted = server.take();
            }
            if server.is_none() {
                let begin = |piece: usize| (piece, pieces[piece].time, 0);
                *server = first.pop_front().map(begin).or_else(|| interrupted.take()).or_else(|| others.pop_front().map(begin));
            }
            if let Some((piece, left, since)) = server {
                (*left, *since) = (*left - 1, *since + 1);
                if *left == 0 {
                    done[*piece] = now + 1;
                    *server = None;
                }
            }
        }
    }
    done
}

#[test]
fn packets_are_interrupted_by_work_that_goes_first() {
    for seed in 0..2000 {
        let pieces = random(seed);
        for packet in [1, 3, 4, 100] {
            assert_eq!(serve(&pieces, 1, packet, false), expected(&pieces, 1, packet), "seed {seed}, {packet}: {pieces:?}");
        }
    }
}

/// Without packets, an idle server takes the first piece that asks. Pieces that ask at one instant are left out here.
#[test]
fn a_pool_takes_work_that_goes_first_before_the_rest() {
    for seed in 0..2000 {
        let mut pieces = random(seed);
        pieces.dedup_by_key(|piece| piece.asks);
        for count in [1, 2, 3] {
            assert_eq!(
                serve(&pieces, count, 0, false),
                expected(&pieces, usize::from(count), 0),
                "seed {seed}, {count}: {pieces:?}"
            );
        }
    }
}

/// Nine pieces of each kind, all at once behind one that is under way: they take turns, work that goes first before.
#[test]
fn work_takes_turns() {
    let begun = Piece { asks: 0, time: 5, goes_first: false };
    let waits = |goes_first: bool| Piece { asks: 1, time: 1, goes_first };
    let pieces: Vec<Piece> = [begun].into_iter().chain([false; 9].map(waits)).chain([true; 9].map(waits)).collect();
    let done = serve(&pieces, 1, 0, true);
    let turns = |from: u64| (0..9).map(|turn| from + 2 * turn).collect::<Vec<u64>>();
    assert_eq!((&done[1..10], &done[10..]), (&turns(7)[..], &turns(6)[..]));
    // In strict precedence, the others come last.
    let strict = serve(&pieces, 1, 0, false);
    assert_eq!((strict[1], strict[18]), (15, 14));
}
