//! Zones: their states, write pointers and limits, by the rules of the NVMe Zoned Namespace Command Set.

use kit::archive::{Archive, Archived, require};
use kit::{Status, ZoneAction};
use serde::{Deserialize, Serialize};

/// State of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ZoneState {
    /// Nothing is written.
    #[default]
    Empty,
    /// A write opened it; the drive closes it when it needs its place.
    ImplicitlyOpen,
    /// The host opened it.
    ExplicitlyOpen,
    /// Partly written, and not open.
    Closed,
    /// Nothing more can be written.
    Full,
    /// It can be read only.
    ReadOnly,
    /// It can be neither read nor written.
    Offline,
}

impl ZoneState {
    /// All states.
    pub const ALL: [ZoneState; 7] = [
        ZoneState::Empty,
        ZoneState::ImplicitlyOpen,
        ZoneState::ExplicitlyOpen,
        ZoneState::Closed,
        ZoneState::Full,
        ZoneState::ReadOnly,
        ZoneState::Offline,
    ];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            ZoneState::Empty => "empty",
            ZoneState::ImplicitlyOpen => "implicitly_open",
            ZoneState::ExplicitlyOpen => "explicitly_open",
            ZoneState::Closed => "closed",
            ZoneState::Full => "full",
            ZoneState::ReadOnly => "read_only",
            ZoneState::Offline => "offline",
        }
    }

    /// Returns the value of the field Zone State in a zone descriptor of NVMe.
    pub fn code(self) -> u8 {
        match self {
            ZoneState::Empty => 0x1,
            ZoneState::ImplicitlyOpen => 0x2,
            ZoneState::ExplicitlyOpen => 0x3,
            ZoneState::Closed => 0x4,
            ZoneState::ReadOnly => 0xd,
            ZoneState::Full => 0xe,
            ZoneState::Offline => 0xf,
        }
    }

    /// Returns true if the zone has one of the open resources.
    pub fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen)
    }

    /// Returns true if the zone has one of the active resources.
    pub fn is_active(self) -> bool {
        self.is_open() || self == ZoneState::Closed
    }
}

/// A zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Its state.
    pub state: ZoneState,
    /// Mapping units written, from its beginning: the write pointer, as long as more can be written.
    pub written: u32,
    /// Number of its latest write or opening, for the choice of the zone that is closed.
    touched: u64,
}

/// Sizes and limits of the zones of a drive, in mapping units and zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Addresses of each zone.
    pub size: u32,
    /// Addresses of each zone that can be written, the first ones.
    pub capacity: u32,
    /// Most zones that are open at a time; 0 for no limit.
    pub open: u32,
    /// Most zones that are active at a time; 0 for no limit.
    pub active: u32,
    /// Most mapping units in one append; 0 for no limit.
    pub append: u32,
    /// True if a read may cross the boundary between two zones.
    pub reads_across: bool,
}

/// Consequence of a change of state for the data of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// None.
    Nothing,
    /// Nothing more is written to it.
    Finished,
    /// Its data is discarded.
    Emptied,
}

/// The zones of a drive.
#[derive(Clone, Debug)]
pub struct Table {
    limits: Limits,
    zones: Vec<Zone>,
    /// Zones in each state, in the order of [`ZoneState::ALL`].
    counts: [u32; 7],
    /// Implicitly open zones, in no order.
    implicit: Vec<u32>,
    touches: u64,
    /// Zones that the drive closed to open another.
    pub implicit_closes: u64,
}

impl Table {
    /// Returns the table of `count` zones, the first `full` of them full and the others empty.
    pub fn new(limits: Limits, count: u32, full: u32) -> Table {
        let zone = |index: u32| match index < full {
            true => Zone { state: ZoneState::Full, written: limits.capacity, touched: 0 },
            false => Zone::default(),
        };
        let mut counts = [0; 7];
        counts[ZoneState::Empty as usize] = count - full;
        counts[ZoneState::Full as usize] = full;
        Table { limits, zones: (0..count).map(zone).collect(), counts, implicit: Vec::new(), touches: 0, implicit_closes: 0 }
    }

    /// Saves, or loads and checks, the zones.
    pub(super) fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
        archive.list(&mut self.zones, "zones")?;
        archive.value(&mut self.implicit)?;
        archive.value(&mut self.touches)?;
        archive.value(&mut self.implicit_closes)?;
        if archive.is_loading() {
            let fits = |zone: &Zone| {
                zone.written <= self.limits.capacity
                    && zone.touched <= self.touches
                    && (zone.state != ZoneState::Empty || zone.written == 0)
            };
            let odd = self.zones.iter().position(|zone| !fits(zone));
            require(odd.is_none(), || format!("zone {odd:?} is in no state that a zone can have"))?;
            let of_state =
                |state: ZoneState| (0..).zip(&self.zones).filter(move |(_, zone)| zone.state == state).map(|(at, _)| at);
            let mut listed = self.implicit.clone();
            listed.sort_unstable();
            let is_listed = listed.into_iter().eq(of_state(ZoneState::ImplicitlyOpen));
            require(is_listed, || format!("its implicitly open zones are not those that it lists: {:?}", self.implicit))?;
            self.counts = ZoneState::ALL.map(|state| of_state(state).count() as u32);
        }
        Ok(())
    }

    /// Returns the sizes and limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the zones.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Returns the number of zones in a state.
    pub fn count(&self, state: ZoneState) -> u32 {
        self.counts[state as usize]
    }

    /// Checks a read of `count` units from `first` on.
    pub fn read(&self, first: u32, count: u32) -> Result<(), Status> {
        let zones = first / self.limits.size..=(first + count - 1) / self.limits.size;
        if zones.start() != zones.end() && !self.limits.reads_across {
            return Err(Status::ZoneBoundary);
        }
        let offline = |zone: u32| self.zones[zone as usize].state == ZoneState::Offline;
        if zones.into_iter().any(offline) { Err(Status::ZoneOffline) } else { Ok(()) }
    }

    /// Checks a write of `count` units from `first` on, and advances the write pointer.
    pub fn write(&mut self, first: u32, count: u32) -> Result<(), Status> {
        let (zone, offset) = (first / self.limits.size, first % self.limits.size);
        self.check_writable(zone)?;
        if offset != self.zones[zone as usize].written {
            return Err(Status::ZoneInvalidWrite);
        }
        self.accept(zone, count)
    }

    /// Checks an append of `count` units to the zone that begins at `first`, and advances the write pointer. Returns
    /// the first unit written.
    pub fn append(&mut self, first: u32, count: u32) -> Result<u32, Status> {
        let (zone, offset) = (first / self.limits.size, first % self.limits.size);
        if offset != 0 || (self.limits.append > 0 && count > self.limits.append) {
            return Err(Status::InvalidField);
        }
        self.check_writable(zone)?;
        let place = first + self.zones[zone as usize].written;
        self.accept(zone, count)?;
        Ok(place)
    }

    fn check_writable(&self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::Full => Err(Status::ZoneFull),
            ZoneState::ReadOnly => Err(Status::ZoneReadOnly),
            ZoneState::Offline => Err(Status::ZoneOffline),
            ZoneState::Empty | ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen | ZoneState::Closed => Ok(()),
        }
    }

    /// Advances the write pointer of a writable zone.
    fn accept(&mut self, zone: u32, count: u32) -> Result<(), Status> {
        let left = self.limits.capacity - self.zones[zone as usize].written;
        if count > left {
            return Err(Status::ZoneBoundary);
        }
        if !self.zones[zone as usize].state.is_open() {
            self.open(zone, ZoneState::ImplicitlyOpen)?;
        }
        self.touch(zone);
        self.zones[zone as usize].written += count;
        if count == left {
            self.set(zone, ZoneState::Full);
        }
        Ok(())
    }

    /// Changes the state of a zone by an action of the host.
    pub fn manage(&mut self, zone: u32, action: ZoneAction) -> Result<Change, Status> {
        use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};
        let state = self.zones[zone as usize].state;
        match (action, state) {
            (ZoneAction::Open, Empty | Closed) => self.open(zone, ExplicitlyOpen).map(|()| Change::Nothing),
            (ZoneAction::Open, ImplicitlyOpen) => Ok(self.becomes(zone, ExplicitlyOpen)),
            (ZoneAction::Close, ImplicitlyOpen | ExplicitlyOpen) => Ok(self.becomes(zone, Closed)),
            (ZoneAction::Finish, Empty | ImplicitlyOpen | ExplicitlyOpen | Closed) => {
                self.set(zone, Full);
                Ok(Change::Finished)
            }
            (ZoneAction::Reset, ImplicitlyOpen | ExplicitlyOpen | Closed | Full) => {
                self.set(zone, Empty);
                self.zones[zone as usize].written = 0;
                Ok(Change::Emptied)
            }
            (ZoneAction::Offline, ReadOnly) => Ok(self.becomes(zone, Offline)),
            (ZoneAction::Open, ExplicitlyOpen)
            | (ZoneAction::Close, Closed)
            | (ZoneAction::Finish, Full)
            | (ZoneAction::Reset, Empty)
            | (ZoneAction::Offline, Offline) => Ok(Change::Nothing),
            _ => Err(Status::ZoneTransition),
        }
    }

    /// Changes the state of all zones for which the action does something, as Select All of NVMe does: closed zones are
    /// opened, open ones closed, active ones finished, active and full ones reset, and read-only ones taken out of
    /// service. Zones are opened only if there are resources for all. `done` is told what follows for each.
    pub fn manage_all(&mut self, action: ZoneAction, mut done: impl FnMut(u32, Change)) -> Result<(), Status> {
        let applies = |state: ZoneState| match action {
            ZoneAction::Open => state == ZoneState::Closed,
            ZoneAction::Close => state.is_open(),
            ZoneAction::Finish => state.is_active(),
            ZoneAction::Reset => state.is_active() || state == ZoneState::Full,
            ZoneAction::Offline => state == ZoneState::ReadOnly,
        };
        let open = self.open_zones() + self.count(ZoneState::Closed);
        if action == ZoneAction::Open && self.limits.open > 0 && open > self.limits.open {
            return Err(Status::TooManyOpen);
        }
        for zone in 0..self.zones.len() as u32 {
            if applies(self.zones[zone as usize].state) {
                done(zone, self.manage(zone, action)?);
            }
        }
        Ok(())
    }

    /// Sets the state of a zone that has failed: read-only, or out of service.
    pub fn fail(&mut self, zone: u32, state: ZoneState) {
        debug_assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline));
        self.set(zone, state);
    }

    fn open_zones(&self) -> u32 {
        self.count(ZoneState::ImplicitlyOpen) + self.count(ZoneState::ExplicitlyOpen)
    }

    /// Opens a zone that is not open. If too many are, the implicitly open zone that was not written for longest is
    /// closed.
    fn open(&mut self, zone: u32, state: ZoneState) -> Result<(), Status> {
        let active = self.open_zones() + self.count(ZoneState::Closed);
        let is_new = !self.zones[zone as usize].state.is_active();
        if is_new && self.limits.active > 0 && active >= self.limits.active {
            return Err(Status::TooManyActive);
        }
        if self.limits.open > 0 && self.open_zones() >= self.limits.open {
            let oldest = self.implicit.iter().copied().min_by_key(|&other| self.zones[other as usize].touched);
            let closed = oldest.ok_or(Status::TooManyOpen)?;
            self.implicit_closes += 1;
            self.set(closed, ZoneState::Closed);
        }
        self.touch(zone);
        self.set(zone, state);
        Ok(())
    }

    fn touch(&mut self, zone: u32) {
        self.touches += 1;
        self.zones[zone as usize].touched = self.touches;
    }

    fn becomes(&mut self, zone: u32, state: ZoneState) -> Change {
        self.set(zone, state);
        Change::Nothing
    }

    fn set(&mut self, zone: u32, state: ZoneState) {
        let old = std::mem::replace(&mut self.zones[zone as usize].state, state);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        if old == ZoneState::ImplicitlyOpen {
            self.implicit.retain(|&other| other != zone);
        }
        if state == ZoneState::ImplicitlyOpen {
            self.implicit.push(zone);
        }
    }
}

#[cfg(test)]
mod tests;
