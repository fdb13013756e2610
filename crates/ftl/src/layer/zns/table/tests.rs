use super::*;
use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};
use kit::Rng;

const SIZE: u32 = 16;
const CAPACITY: u32 = 10;

fn limits() -> Limits {
    Limits { size: SIZE, capacity: CAPACITY, open: 0, active: 0, append: 0, reads_across: true }
}

/// Returns a table of three zones, of which zone 1 is in `state`.
fn in_state(state: ZoneState) -> Table {
    let mut table = Table::new(limits(), 3, 0);
    match state {
        Empty => {}
        ImplicitlyOpen => table.write(SIZE, 2).expect("it is empty"),
        ExplicitlyOpen => {
            table.write(SIZE, 2).expect("it is empty");
            table.manage(1, ZoneAction::Open).expect("it is open");
        }
        Closed => {
            table.write(SIZE, 2).expect("it is empty");
            table.manage(1, ZoneAction::Close).expect("it is open");
        }
        Full => table.write(SIZE, CAPACITY).expect("it is empty"),
        ReadOnly | Offline => table.fail(1, state),
    }
    assert_eq!(table.zones()[1].state, state);
    table
}

/// Every action in every state: the state that follows, or the refusal. The rows are those of the state machine of the
/// Zoned Namespace Command Set, written out again.
#[test]
fn every_action_in_every_state() {
    let error = Err(Status::ZoneTransition);
    let expected: [(ZoneAction, [Result<ZoneState, Status>; 7]); 5] = [
        (ZoneAction::Open, [Ok(ExplicitlyOpen), Ok(ExplicitlyOpen), Ok(ExplicitlyOpen), Ok(ExplicitlyOpen), error, error, error]),
        (ZoneAction::Close, [error, Ok(Closed), Ok(Closed), Ok(Closed), error, error, error]),
        (ZoneAction::Finish, [Ok(Full), Ok(Full), Ok(Full), Ok(Full), Ok(Full), error, error]),
        (ZoneAction::Reset, [Ok(Empty), Ok(Empty), Ok(Empty), Ok(Empty), Ok(Empty), error, error]),
        (ZoneAction::Offline, [error, error, error, error, error, Ok(Offline), Ok(Offline)]),
    ];
    for (action, row) in expected {
        for (state, expected) in ZoneState::ALL.into_iter().zip(row) {
            let mut table = in_state(state);
            let before = table.zones().to_vec();
            let found = table.manage(1, action).map(|_| table.zones()[1].state);
            assert_eq!(found, expected, "{} in {}", action.name(), state.name());
            if found.is_err() {
                assert_eq!(table.zones(), before, "a refused action changes nothing");
            }
        }
    }
}

#[test]
fn every_access_in_every_state() {
    for state in ZoneState::ALL {
        let written = in_state(state).zones()[1].written;
        let refusal = match state {
            Full => Some(Status::ZoneFull),
            ReadOnly => Some(Status::ZoneReadOnly),
            Offline => Some(Status::ZoneOffline),
            Empty | ImplicitlyOpen | ExplicitlyOpen | Closed => None,
        };
        let after = if state == ExplicitlyOpen { ExplicitlyOpen } else { ImplicitlyOpen };
        let mut table = in_state(state);
        assert_eq!(table.write(SIZE + written, 1), refusal.map_or(Ok(()), Err), "{}", state.name());
        assert!(refusal.is_some() || table.zones()[1].state == after);
        let mut table = in_state(state);
        assert_eq!(table.append(SIZE, 1), refusal.map_or(Ok(SIZE + written), Err), "{}", state.name());
        assert!(refusal.is_some() || (table.zones()[1].state, table.zones()[1].written) == (after, written + 1));
        let read = if state == Offline { Err(Status::ZoneOffline) } else { Ok(()) };
        assert_eq!(in_state(state).read(SIZE, CAPACITY), read);
        assert_eq!(in_state(state).read(0, SIZE), Ok(()), "another zone");
    }
}

#[test]
fn writes_must_begin_at_the_write_pointer_and_end_in_the_capacity() {
    let mut table = in_state(ImplicitlyOpen);
    for first in [SIZE, SIZE + 1, SIZE + 3, SIZE + CAPACITY] {
        assert_eq!(table.write(first, 1), Err(Status::ZoneInvalidWrite));
    }
    assert_eq!(table.write(SIZE + 2, CAPACITY - 1), Err(Status::ZoneBoundary));
    assert_eq!(table.append(SIZE, CAPACITY - 1), Err(Status::ZoneBoundary));
    assert_eq!(table.append(SIZE + 2, 1), Err(Status::InvalidField), "an append names the start of its zone");
    assert_eq!(table.zones()[1].written, 2);
    assert_eq!((table.write(SIZE + 2, CAPACITY - 2), table.zones()[1].state), (Ok(()), Full));
    let mut limited = Table::new(Limits { append: 4, reads_across: false, ..limits() }, 3, 1);
    assert_eq!((limited.append(SIZE, 5), limited.append(SIZE, 4)), (Err(Status::InvalidField), Ok(SIZE)));
    assert_eq!((limited.read(SIZE - 1, 2), limited.read(SIZE - 1, 1)), (Err(Status::ZoneBoundary), Ok(())));
    assert_eq!((limited.zones()[0].state, limited.zones()[0].written), (Full, CAPACITY));
}

#[test]
fn of_the_implicitly_open_zones_the_one_written_longest_ago_gives_way() {
    let mut table = Table::new(Limits { open: 2, active: 3, ..limits() }, 6, 0);
    for (zone, count) in [(0, 1), (1, 1), (0, 1)] {
        table.write(zone * SIZE + table.zones()[zone as usize].written, count).expect("there is room");
    }
    assert_eq!(table.write(2 * SIZE, 1), Ok(()));
    assert_eq!((table.zones()[1].state, table.zones()[0].state, table.implicit_closes), (Closed, ImplicitlyOpen, 1));
    assert_eq!(table.write(3 * SIZE, 1), Err(Status::TooManyActive));
    assert_eq!(table.manage(0, ZoneAction::Open), Ok(Change::Nothing));
    assert_eq!(table.manage(1, ZoneAction::Open), Ok(Change::Nothing), "zone 2 gives way");
    assert_eq!(table.zones()[2].state, Closed);
    assert_eq!(table.append(2 * SIZE, 1), Err(Status::TooManyOpen), "the host has opened both");
    assert_eq!(table.manage_all(ZoneAction::Open, |_, _| {}), Err(Status::TooManyOpen));
    let mut emptied = Vec::new();
    table.manage_all(ZoneAction::Reset, |zone, change| emptied.push((zone, change))).expect("a reset needs no resources");
    assert_eq!(emptied, [(0, Change::Emptied), (1, Change::Emptied), (2, Change::Emptied)]);
    assert_eq!(table.count(Empty), 6);
}

/// A plain model: states and write pointers in a list, every question answered by a walk over it.
#[derive(Clone)]
struct Plain {
    limits: Limits,
    zones: Vec<(ZoneState, u32, u64)>,
    clock: u64,
}

impl Plain {
    fn number(&self, of: &[ZoneState]) -> u32 {
        self.zones.iter().filter(|zone| of.contains(&zone.0)).count() as u32
    }

    fn make_open(&mut self, zone: usize, state: ZoneState) -> Result<(), Status> {
        let (open, active) = (self.limits.open, self.limits.active);
        let had = self.zones[zone].0;
        if had == Empty && active > 0 && self.number(&[ImplicitlyOpen, ExplicitlyOpen, Closed]) == active {
            return Err(Status::TooManyActive);
        }
        if open > 0 && self.number(&[ImplicitlyOpen, ExplicitlyOpen]) == open {
            let victim =
                (0..self.zones.len()).filter(|&at| self.zones[at].0 == ImplicitlyOpen).min_by_key(|&at| self.zones[at].2);
            self.zones[victim.ok_or(Status::TooManyOpen)?].0 = Closed;
        }
        self.clock += 1;
        (self.zones[zone].0, self.zones[zone].2) = (state, self.clock);
        Ok(())
    }

    fn write(&mut self, zone: usize, at: u32, count: u32) -> Result<(), Status> {
        match self.zones[zone].0 {
            Full => return Err(Status::ZoneFull),
            ReadOnly => return Err(Status::ZoneReadOnly),
            Offline => return Err(Status::ZoneOffline),
            _ => {}
        }
        if at != self.zones[zone].1 {
            return Err(Status::ZoneInvalidWrite);
        }
        if at + count > self.limits.capacity {
            return Err(Status::ZoneBoundary);
        }
        if matches!(self.zones[zone].0, Empty | Closed) {
            self.make_open(zone, ImplicitlyOpen)?;
        }
        self.clock += 1;
        (self.zones[zone].1, self.zones[zone].2) = (at + count, self.clock);
        if at + count == self.limits.capacity {
            self.zones[zone].0 = Full;
        }
        Ok(())
    }

    fn manage(&mut self, zone: usize, action: ZoneAction) -> Result<(), Status> {
        let state = self.zones[zone].0;
        match action {
            ZoneAction::Open if matches!(state, Empty | Closed) => return self.make_open(zone, ExplicitlyOpen),
            ZoneAction::Open if matches!(state, ImplicitlyOpen | ExplicitlyOpen) => self.zones[zone].0 = ExplicitlyOpen,
            ZoneAction::Close if matches!(state, ImplicitlyOpen | ExplicitlyOpen | Closed) => self.zones[zone].0 = Closed,
            ZoneAction::Finish if !matches!(state, ReadOnly | Offline) => self.zones[zone].0 = Full,
            ZoneAction::Reset if !matches!(state, ReadOnly | Offline) => (self.zones[zone].0, self.zones[zone].1) = (Empty, 0),
            ZoneAction::Offline if matches!(state, ReadOnly | Offline) => self.zones[zone].0 = Offline,
            _ => return Err(Status::ZoneTransition),
        }
        Ok(())
    }
}

/// 200,000 random commands against the plain model, with every pair of limits.
#[test]
fn random_commands_agree_with_a_plain_model_of_zones() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "zones");
        let (open, active) = (rng.below(4) as u32, rng.below(6) as u32);
        let limits = Limits { open, active, append: 3 * (seed as u32 % 2), ..limits() };
        let mut table = Table::new(limits, 8, 2);
        let mut plain = Plain { limits, zones: vec![(Empty, 0, 0); 8], clock: 0 };
        plain.zones[..2].fill((Full, CAPACITY, 0));
        for _ in 0..10_000 {
            let zone = rng.below(8) as usize;
            let (start, count) = (zone as u32 * SIZE, 1 + rng.below(4) as u32);
            let (found, expected) = match rng.below(10) {
                0..4 => {
                    let at = if rng.below(8) == 0 { rng.below(u64::from(SIZE)) as u32 } else { plain.zones[zone].1 };
                    let at = at.min(SIZE - 1);
                    (table.write(start + at, count).map(|()| at), plain.write(zone, at, count).map(|()| at))
                }
                4..7 => {
                    let at = plain.zones[zone].1;
                    let too_long = limits.append > 0 && count > limits.append;
                    let expected = if too_long { Err(Status::InvalidField) } else { plain.write(zone, at, count) };
                    (table.append(start, count).map(|place| place - start), expected.map(|()| at))
                }
                7 if rng.below(300) == 0 => {
                    let state = if rng.below(2) == 0 { ReadOnly } else { Offline };
                    table.fail(zone as u32, state);
                    plain.zones[zone].0 = state;
                    (Ok(0), Ok(0))
                }
                _ => {
                    let action = ZoneAction::ALL[rng.below(5) as usize];
                    (table.manage(zone as u32, action).map(|_| 0), plain.manage(zone, action).map(|()| 0))
                }
            };
            assert_eq!(found, expected);
            seen.extend(found.err());
            let states: Vec<_> = table.zones().iter().map(|zone| (zone.state, zone.written)).collect();
            assert_eq!(states, plain.zones.iter().map(|zone| (zone.0, zone.1)).collect::<Vec<_>>());
            for state in ZoneState::ALL {
                assert_eq!(table.count(state), plain.number(&[state]));
            }
        }
    }
    let statuses = [Status::ZoneBoundary, Status::ZoneFull, Status::ZoneReadOnly, Status::ZoneOffline, Status::ZoneInvalidWrite];
    let others = [Status::TooManyActive, Status::TooManyOpen, Status::ZoneTransition, Status::InvalidField];
    assert!(statuses.iter().chain(&others).all(|status| seen.contains(status)), "every refusal occurred: {seen:?}");
}
