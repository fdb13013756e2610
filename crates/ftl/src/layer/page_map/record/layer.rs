//! The layer that a recorder has: the page map, or the page map whose decisions firmware makes.

use crate::layer::contract::{Pulled, Report, Translation, TurnEnd};
use crate::layer::page_map::executed::{Executed, Note};
use crate::layer::page_map::ftl::Ftl;
use crate::queue::Drain;
use kit::{CommandId, DieId, Ended, HostUnit, Lpn, Operation, Outbox, ReadyDies, SimTime, Timer};

/// The layer.
#[expect(clippy::large_enum_variant, reason = "a recorder has one, which is in a box")]
pub(super) enum Layer {
    Map(Ftl),
    Executed(Box<Executed>),
}

/// Calls a method that both layers have.
macro_rules! of_both {
    ($layer:expr, $name:ident => $call:expr) => {
        match $layer {
            Layer::Map($name) => $call,
            Layer::Executed($name) => $call,
        }
    };
}

impl Layer {
    pub fn map(&self) -> &Ftl {
        match self {
            Layer::Map(map) => map,
            Layer::Executed(layer) => layer.page_map(),
        }
    }

    pub fn map_mut(&mut self) -> &mut Ftl {
        match self {
            Layer::Map(map) => map,
            Layer::Executed(layer) => layer.page_map_mut(),
        }
    }

    pub fn executed(&self) -> Option<&Executed> {
        if let Layer::Executed(layer) = self { Some(layer) } else { None }
    }

    pub fn executed_mut(&mut self) -> Option<&mut Executed> {
        if let Layer::Executed(layer) = self { Some(layer) } else { None }
    }

    /// Takes what executed firmware has decided since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        self.executed_mut().map_or_else(Vec::new, Executed::take_notes)
    }

    pub fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        of_both!(self, layer => layer.begin(now, out));
    }

    pub fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        of_both!(self, layer => layer.read(command, first, count, now, out))
    }

    pub fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        of_both!(self, layer => layer.write(unit, now, out))
    }

    pub fn trim(&mut self, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) {
        of_both!(self, layer => layer.trim(first, count, now, out));
    }

    pub fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        of_both!(self, layer => layer.drain(what, ready));
    }

    pub fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool {
        of_both!(self, layer => layer.has_drained(now, out))
    }

    pub fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        match self {
            Layer::Map(map) if may_program => map.next(die, now, out).map_or(Pulled::Nothing, Pulled::Operation),
            Layer::Map(map) => map.next_without_buffer(die, now, out),
            Layer::Executed(layer) => layer.next(die, may_program, now, out),
        }
    }

    pub fn turn_ended(&mut self, die: DieId, end: TurnEnd, now: SimTime, out: &mut Outbox) {
        match (self, end) {
            (Layer::Executed(layer), _) => layer.turn_ended(die, end, now, out),
            (Layer::Map(map), TurnEnd::Idle) => map.set_idle(die, now, &mut out.events),
            (Layer::Map(map), TurnEnd::Started) => map.die_started(die, &mut out.ready),
            (Layer::Map(map), TurnEnd::Starved) => map.die_starved(die, &mut out.ready),
        }
    }

    pub fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        of_both!(self, layer => layer.operation_done(ended, operation, now, out));
    }

    pub fn collection_encoded(&mut self, die: DieId, now: SimTime, ready: &mut ReadyDies) {
        of_both!(self, layer => layer.collection_encoded(die, now, ready));
    }

    pub fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        of_both!(self, layer => layer.timer(timer, now, out));
    }

    pub fn report(&self) -> Report<'_> {
        of_both!(self, layer => layer.report())
    }
}
