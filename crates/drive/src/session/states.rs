//! Starting states that a session keeps in memory, and those that it shares with other processes.

use ftl::{Ftl, StartingKey, StartingState};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Starting states that the sessions of several processes of one build share.
pub trait SharedStates: Send + Sync {
    /// Looks up the state with a key. While another process makes it, the caller waits.
    ///
    /// # Errors
    /// The place where the states are kept cannot be used.
    fn claim(&self, key: &str) -> Result<Claim, String>;
}

/// Answer to a process that needs a state.
pub enum Claim {
    /// Nobody else needs it.
    Alone,
    /// It is there, to be read.
    Saved(Box<dyn Read>),
    /// The process is the one that makes it. Others wait until this is dropped, or the process ends. If it has ended
    /// before, one of them makes the state; if nothing has been kept, each of them makes it for itself.
    Make(Box<dyn KeepShared>),
}

/// The right to make a state that others wait for.
pub trait KeepShared {
    /// Keeps what `write` writes for the others, unless that fails.
    fn keep(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>);
}

/// Starting states that a session keeps, within a limit in bytes. The state that was used least recently gives way to a
/// new one.
#[derive(Default)]
pub(crate) struct KeptStates {
    /// Limit of the sum of their sizes \[bytes\]; 0: none is kept.
    limit: u64,
    kept: Mutex<Kept>,
}

/// The states, and what is known of them.
#[derive(Default)]
struct Kept {
    states: BTreeMap<StartingKey, Entry>,
    /// Sum of the sizes of the states, those that are being copied included.
    bytes: u64,
    hits: u64,
    /// Number of states looked up or kept so far.
    turn: u64,
}

struct Entry {
    /// Absent while it is being copied.
    state: Option<Arc<StartingState>>,
    bytes: u64,
    /// Turn of its last use.
    used: u64,
}

/// Figures of the starting states that a session keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatesReport {
    /// Number of states kept.
    pub count: u64,
    /// Runs so far that began with a kept state.
    pub hits: u64,
    /// Sum of the sizes of the states, in bytes.
    pub bytes: u64,
    /// Limit of this sum, in bytes.
    pub limit: u64,
}

impl Kept {
    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    /// Drops states, least recently used first, until there is room for `bytes` more. Returns false if there is not, as
    /// the remaining states are being copied.
    fn make_room(&mut self, bytes: u64, limit: u64) -> bool {
        while self.bytes + bytes > limit {
            let complete = self.states.iter().filter(|(_, entry)| entry.state.is_some());
            let Some((key, _)) = complete.min_by_key(|(_, entry)| entry.used) else { return false };
            let key = key.clone();
            self.drop_state(&key);
        }
        true
    }

    fn drop_state(&mut self, key: &StartingKey) {
        self.bytes -= self.states.remove(key).map_or(0, |entry| entry.bytes);
    }
}

impl KeptStates {
    /// Returns an empty store for at most `limit` bytes.
    pub fn new(limit: u64) -> KeptStates {
        KeptStates { limit, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if states are kept at all.
    pub fn are_kept(&self) -> bool {
        self.limit > 0
    }

    /// Returns the state with a key, if it is kept.
    pub fn find(&self, key: &StartingKey) -> Option<Arc<StartingState>> {
        let mut kept = self.kept();
        let turn = kept.next_turn();
        let entry = kept.states.get_mut(key)?;
        let state = Arc::clone(entry.state.as_ref()?);
        entry.used = turn;
        kept.hits += 1;
        Some(state)
    }

    /// Keeps a copy of the state to which `ftl` has been brought, unless it is larger than the limit, or another run is
    /// copying the same.
    pub fn keep(&self, key: StartingKey, ftl: &Ftl) {
        let bytes = ftl.starting_state_bytes();
        {
            let mut kept = self.kept();
            if bytes > self.limit || kept.states.contains_key(&key) || !kept.make_room(bytes, self.limit) {
                return;
            }
            let used = kept.next_turn();
            kept.bytes += bytes;
            kept.states.insert(key.clone(), Entry { state: None, bytes, used });
        }
        // Copied while others may look their states up.
        let state = ftl.starting_state();
        let mut kept = self.kept();
        match state {
            Ok(state) => {
                if let Some(entry) = kept.states.get_mut(&key) {
                    entry.state = Some(Arc::new(state));
                }
            }
            // The run goes on without a copy.
            Err(_) => kept.drop_state(&key),
        }
    }

    /// Returns the figures of the states.
    pub fn report(&self) -> StatesReport {
        let kept = self.kept();
        let count = kept.states.values().filter(|entry| entry.state.is_some()).count() as u64;
        StatesReport { count, hits: kept.hits, bytes: kept.bytes, limit: self.limit }
    }
}
