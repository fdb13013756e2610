//! Units that are refused the mode that their policy chose.

use crate::common::{ONE_DIE, Rig, with};
use ftl::policy::{Collection, Dispatch, ModePolicy, Moving, Needs, View, WriteAnswer};
use kit::{ModeId, Op, SimTime};

const SECOND: u64 = 1_000_000_000;

/// Policy that writes everything in mode 1, and moves and erases in a mode each.
struct Fast {
    moves: ModeId,
    erase: ModeId,
}

impl ModePolicy for Fast {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer { mode: ModeId(1), stream: 0 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.moves
    }

    fn erase(&mut self, _: &Collection, _: &mut View<'_>) -> ModeId {
        self.erase
    }

    fn uses(&self) -> Vec<ModeId> {
        vec![ModeId(0), ModeId(1)]
    }

    fn mode_of_old_data(&self) -> ModeId {
        ModeId(0)
    }
}

/// Every unit that is not in the mode of the policy was refused it once, although its program is put off: of one that
/// is moved, because its code is computed first, and of one that is written, because the block that it goes to is
/// erased further first.
#[test]
fn a_unit_that_is_refused_its_mode_counts_once() {
    let encoded: &[&str] = &[
        "flash.write_mode[1].program_scale=1.0",
        "flash.encoder=[{code = 'ldpc', throughput = '100KB/s'}]",
        "flash.write_mode[0].code=ldpc",
        "flash.write_mode[1].retention=4s",
        "ftl.retention_margin=1s",
    ];
    let erased: &[&str] = &[
        "flash.erase_mode=[{name = 'deep', level = 0}, {name = 'shallow', level = 1, wear = 0.5}]",
        "flash.write_mode[0].erase_level=0",
        "flash.write_mode[1].erase_level=1",
        "flash.write_mode[1].retention=30ms",
        "ftl.retention_margin=0ns",
        "ftl.overprovisioning=0.6",
        "flash.blocks_per_plane=32",
        "flash.pages_per_block=16",
    ];
    for (sets, passes, moves, erase) in [(encoded, 2, ModeId(1), ModeId(0)), (erased, 20, ModeId(0), ModeId(1))] {
        let mut rig = Rig::run_by(Box::new(Fast { moves, erase }), &with(ONE_DIE, sets));
        rig.drive.journal().enable(false);
        let mut draws = kit::Rng::stream(1, "refusals");
        let units = (rig.drive.user_bytes() / kit::UNIT_BYTES).min(400);
        for unit in (0..units).chain((0..passes * units).map(|_| draws.below(units))) {
            rig.one(Op::Write, unit, 1);
        }
        rig.run_until(SimTime(rig.drive.now().0 + 20 * SECOND));
        let counters = &rig.drive.translator().report().counters;
        let moved = counters.units_by_mode[0] - counters.host_units_by_mode[0];
        assert!(counters.host_units_by_mode[0] > 100 && moved > 20, "{counters:?}");
        assert!(counters.lazy_erases > 50 || erase == ModeId(0), "{counters:?}");
        let refused = counters.host_units_by_mode[0] + if moves == ModeId(1) { moved } else { 0 };
        assert_eq!(counters.retention_refusals, refused, "{counters:?}");
    }
}
