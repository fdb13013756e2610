//! Base of several members: one fixed mode for host data and one for relocations.

use super::{Dispatch, Facts, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::{Archive, Archived, ModeId};

/// Policy that makes no decisions.
pub(super) struct Fixed {
    /// Write mode of host data.
    host: ModeId,
    /// Write mode of relocations, and of data older than the run.
    moved: ModeId,
}

impl Fixed {
    /// Builds a policy with one mode for host data and another for relocations.
    pub fn modes(host: ModeId, moved: ModeId) -> Box<dyn ModePolicy> {
        Box::new(Fixed { host, moved })
    }

    /// Builds a policy with the mode called `name` for all data.
    pub fn one(name: &str, facts: &Facts) -> Box<dyn ModePolicy> {
        Fixed::modes(facts.write_mode(name), facts.write_mode(name))
    }
}

impl ModePolicy for Fixed {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, relocations_apart: self.host != self.moved, ..Needs::default() }
    }

    fn state(&mut self, _: &mut Archive<'_>) -> Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: self.host, stream: 0 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.moved
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![self.host, self.moved]
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.moved
    }
}
