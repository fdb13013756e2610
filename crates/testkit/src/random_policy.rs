//! A policy that gives random answers within the contract, as a user's policy might.

use drive::Description;
use ftl::policy::checked::Checked;
use ftl::policy::{
    Candidate, Collection, Dispatch, Facts, Idle, ModePolicy, Moving, Needs, PageMove, Placed, ReadAnswer, Relocation, UnitRead,
    View, WriteAnswer,
};
use kit::{BlockId, Lpn, ModeId, Nanos, Ppn, Reason, Rng, SimTime};
use std::sync::Mutex;

const REASONS: [Reason; 4] = [Reason::Gc, Reason::Rewrite, Reason::Reprogram, Reason::Scrub];

/// Mode policy with random answers.
pub struct RandomPolicy {
    facts: Facts,
    needs: Needs,
    old_mode: ModeId,
    move_after: Vec<Option<Nanos>>,
    /// Probability with which the policy requests a move when it may, 0 to 1.
    eager: f64,
    /// Number of moves that the policy may still request, and the instant of the last host activity (arrival or
    /// completion), at which that number is renewed. Unlimited requests would starve the host commands that wait.
    wishes: (u64, SimTime),
    shutting_down: bool,
    // In a mutex because some calls take `&self`.
    rng: Mutex<Rng>,
}

impl RandomPolicy {
    /// Returns a policy for the drive of a description, with answers drawn from `seed`. The answers are checked, like
    /// those of any guest policy.
    pub fn checked(description: &Description, seed: u64) -> Box<dyn ModePolicy> {
        let facts = description.policy_facts();
        let policy = RandomPolicy::new(&facts, Rng::stream(seed, "testkit.random_policy"));
        Box::new(Checked::new(Box::new(policy), &facts).unwrap_or_else(|problems| panic!("{problems}")))
    }

    fn new(facts: &Facts, mut rng: Rng) -> RandomPolicy {
        let modes = facts.write_modes.len() as u64;
        let flag = |rng: &mut Rng| rng.chance(0.5);
        let needs = Needs {
            host_streams: 1 + rng.below(3) as u8,
            bits_per_unit: [0, 1, 2, 4, 8][rng.below(5) as usize],
            bytes_per_block: rng.below(3) as u8,
            placed: flag(&mut rng),
            dropped: flag(&mut rng),
            blocks: flag(&mut rng),
            reads: flag(&mut rng),
            reads_done: flag(&mut rng),
            scores: flag(&mut rng),
            moves: rng.chance(0.7),
            idle_only: rng.chance(0.2),
            idle_after: if flag(&mut rng) { Nanos::ZERO } else { Nanos(rng.below(3_000_000)) },
            relocations_apart: flag(&mut rng),
            page_scope: rng.chance(0.2),
            moving: flag(&mut rng),
            erases: true,
            ages: true,
            requests: true,
            relocation_streams: if flag(&mut rng) { rng.below(4) as u8 } else { 0 },
        };
        // `normal` is preferred: its retention is unlimited or long, so that old data can stay in it.
        let old_mode = if rng.chance(0.8) { facts.normal_mode() } else { ModeId(rng.below(modes) as u8) };
        let mut after = || rng.chance(0.3).then(|| Nanos(1 + rng.below(50_000_000)));
        let move_after = (0..modes).map(|_| after()).collect();
        RandomPolicy {
            facts: facts.clone(),
            needs,
            old_mode,
            move_after,
            eager: [0.02, 0.3, 0.9][rng.below(3) as usize],
            wishes: (0, SimTime::ZERO),
            shutting_down: false,
            rng: Mutex::new(rng),
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.rng.lock().expect("one thread").below(bound)
    }

    fn chance(&self, p: f64) -> bool {
        self.rng.lock().expect("one thread").chance(p)
    }

    fn write_mode(&self) -> ModeId {
        ModeId(self.below(self.facts.write_modes.len() as u64) as u8)
    }

    /// Returns a request to move a page, in most cases one that can be moved.
    fn page(&mut self, view: &View<'_>) -> Option<PageMove> {
        let activity = view.signals.last_host_activity;
        if activity != self.wishes.1 && !self.shutting_down {
            self.wishes = (view.user_units().min(50), activity);
        }
        if !self.chance(self.eager) || self.wishes.0 == 0 {
            return None;
        }
        self.wishes.0 -= 1;
        let lpn = Lpn(self.below(view.user_units()) as u32);
        let anywhere = Ppn(self.below(view.medium.geometry.unit_count()) as u32);
        let from = if self.chance(0.1) { anywhere } else { view.place_of(lpn)? };
        let deadline = self.chance(0.3).then(|| view.now + Nanos(self.below(20_000_000)));
        let reason = REASONS[self.below(REASONS.len() as u64) as usize];
        Some(PageMove { lpn, from, reason, mode: self.write_mode(), deadline })
    }

    /// Writes random values into the declared state, so that saving and loading it is tested.
    fn scribble(&self, view: &mut View<'_>) {
        if self.needs.bits_per_unit > 0 {
            let lpn = Lpn(self.below(view.user_units()) as u32);
            view.bits.set(lpn, self.below(1 << self.needs.bits_per_unit) as u8);
        }
        if self.needs.bytes_per_block > 0 {
            let block = BlockId(self.below(u64::from(view.medium.geometry.block_count)) as u32);
            view.block_bytes.get_mut(block)[0] = self.below(256) as u8;
        }
    }
}

impl ModePolicy for RandomPolicy {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, view: &mut View<'_>) -> WriteAnswer {
        self.scribble(view);
        WriteAnswer { mode: self.write_mode(), stream: self.below(u64::from(self.needs.host_streams)) as u8 }
    }

    fn collecting(&mut self, _: &Collection, view: &mut View<'_>) {
        self.scribble(view);
    }

    fn relocate_to(&mut self, moving: &Moving<'_>, _: &mut View<'_>) -> WriteAnswer {
        assert_eq!(moving.units.len(), 1, "a stream is chosen for each unit");
        WriteAnswer { mode: self.write_mode(), stream: self.below(u64::from(self.needs.relocation_streams)) as u8 }
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        self.write_mode()
    }

    fn placed(&mut self, _: &Placed, view: &mut View<'_>) {
        self.scribble(view);
    }

    fn read_issued(&mut self, _: &UnitRead, _: &mut View<'_>) -> ReadAnswer {
        let modes = self.facts.read_modes.len() as u64;
        ReadAnswer { mode: self.chance(0.5).then(|| ModeId(self.below(modes) as u8)) }
    }

    fn score(&self, _: &Candidate, _: &mut View<'_>) -> f64 {
        self.below(100) as f64 - 50.0
    }

    fn erase(&mut self, _: &Collection, _: &mut View<'_>) -> ModeId {
        ModeId(self.below(self.facts.erase_modes.len() as u64) as u8)
    }

    fn free_list(&mut self, _: u8, lists: &[u32], _: &mut View<'_>) -> u8 {
        let some: Vec<usize> = (0..lists.len()).filter(|&level| lists[level] > 0).collect();
        some[self.below(some.len() as u64) as usize] as u8
    }

    fn lazy_erase(&mut self, _: BlockId, level: u8, _: &mut View<'_>) -> ModeId {
        let deep = |mode: &usize| self.facts.erase_levels[*mode] <= level;
        let some: Vec<usize> = (0..self.facts.erase_modes.len()).filter(deep).collect();
        ModeId(some[self.below(some.len() as u64) as usize] as u8)
    }

    fn urgent(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if self.chance(0.05) { self.page(view) } else { None }
    }

    fn forced(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        if self.chance(0.1) { self.page(view) } else { None }
    }

    fn idle(&mut self, _: &Idle, view: &mut View<'_>) -> Option<Relocation> {
        if self.chance(0.3) {
            let block = BlockId(self.below(u64::from(view.medium.geometry.block_count)) as u32);
            let reason = REASONS[self.below(REASONS.len() as u64) as usize];
            return self.chance(self.eager).then_some(Relocation::Block { block, reason });
        }
        self.page(view).map(Relocation::Page)
    }

    fn drain(&mut self, view: &mut View<'_>) -> Option<PageMove> {
        self.shutting_down = true;
        self.page(view)
    }

    fn wake_at(&self, view: &mut View<'_>) -> Option<SimTime> {
        self.chance(0.2).then(|| view.now + Nanos(1_000 + self.below(5_000_000)))
    }

    fn move_after(&self, mode: ModeId) -> Option<Nanos> {
        self.move_after[mode.index()]
    }

    fn mode_of_old_data(&self) -> ModeId {
        self.old_mode
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("eager", self.eager)]
    }
}
