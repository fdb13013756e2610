//! Between host and flash: the [`route`]s of commands and data through the controller, the resources on them, and the
//! [`transaction`]s under way.
//!
//! A route holds the steps that take time, by the description. A drive whose controller costs nothing has empty routes,
//! and what follows is done at once: neither a transaction nor an event is made for it.

pub mod encoder;
pub mod route;
pub mod transaction;

use encoder::Encoders;
use kit::queue::Class;
use kit::{Cause, Event, Outbox, Rate, SimTime, Slab, TransactionId};
use route::{Routes, Step};
use transaction::{Then, Transaction, Way};

/// The description of a controller.
#[derive(Clone, Debug, Default)]
pub struct ControllerConfig {
    /// Rate of each encoder; `None` if it takes no time.
    pub encoders: Vec<Option<Rate>>,
    /// Index of the encoder of each write mode; `None` for a mode without a code.
    pub encoder_of_mode: Vec<Option<usize>>,
    /// Largest number of mapping units that one program writes.
    pub units_per_program: u32,
}

/// The controller of a drive: its resources, the routes over them, and the transactions under way.
pub struct Controller {
    encoders: Encoders,
    routes: Routes,
    transactions: Slab<Transaction>,
}

impl Controller {
    /// Returns the controller of a validated description, with nothing under way.
    pub fn new(config: &ControllerConfig) -> Controller {
        Controller {
            encoders: Encoders::new(&config.encoders, config.units_per_program),
            routes: Routes::new(config),
            transactions: Slab::default(),
        }
    }

    /// Returns true if a way has steps that take time.
    #[inline]
    pub fn takes_time(&self, way: Way) -> bool {
        !self.routes.steps(way).is_empty()
    }

    /// Sends data on its way; [`Event::Step`] follows. Returns what is to be done now if the way takes no time.
    pub fn send(&mut self, way: Way, then: Then, account: Option<u32>, now: SimTime, out: &mut Outbox) -> Option<Then> {
        if !self.takes_time(way) {
            return Some(then);
        }
        let id = TransactionId(self.transactions.put(Transaction { way, step: 0, then, account }));
        self.advance(id, now, out)
    }

    /// Handles the end of a step of a transaction ([`Event::Step`]). Returns what follows if that was its last one.
    pub fn step_done(&mut self, id: TransactionId, now: SimTime, out: &mut Outbox) -> Option<Then> {
        let transaction = &mut self.transactions[id.0];
        let step = self.routes.steps(transaction.way)[usize::from(transaction.step)];
        if let Some(slot) = transaction.account {
            out.operations.account_mut(slot).charge_to(cause_of(step), now);
        }
        transaction.step += 1;
        self.advance(id, now, out)
    }

    /// Takes a transaction through its next steps, up to one that takes time. Returns what follows if there is none.
    fn advance(&mut self, id: TransactionId, now: SimTime, out: &mut Outbox) -> Option<Then> {
        loop {
            let transaction = &mut self.transactions[id.0];
            let Some(&step) = self.routes.steps(transaction.way).get(usize::from(transaction.step)) else {
                let then = transaction.then;
                self.transactions.release(id.0);
                return Some(then);
            };
            let end = match step {
                Step::Encode(encoder) => self.encoders.accept(encoder, transaction.way.units(), now),
            };
            if end > now {
                out.events.push(end, Class::Done, Event::Step(id));
                return None;
            }
            transaction.step += 1;
        }
    }

    /// Returns true if nothing is under way.
    pub fn is_at_rest(&self) -> bool {
        self.transactions.in_use() == 0
    }

    /// Returns the encoders, for reports.
    pub fn encoders(&self) -> &Encoders {
        &self.encoders
    }
}

/// Returns the cause to which a step and the wait for its resource are charged.
fn cause_of(step: Step) -> Cause {
    match step {
        Step::Encode(_) => Cause::EccWait,
    }
}

#[cfg(test)]
mod tests;
