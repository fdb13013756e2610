//! Between host and flash: the [`route`]s of commands and data through the controller, the resources on them, and the
//! [`transaction`]s under way; and the [`reads`] whose data has [`errors`].
//!
//! A route holds the steps that take time, by the description. A drive whose controller costs nothing has empty routes,
//! and what follows is done at once: neither a transaction nor an event is made for it.

pub mod cards;
pub mod credits;
pub mod decoder;
pub mod delivery;
pub mod dma;
pub mod dram;
pub mod ecc;
pub mod energy;
pub mod errors;
pub mod firmware;
pub mod interconnect;
pub mod link_errors;
pub mod memory;
pub mod page_buffers;
pub mod power_states;
pub mod precedence;
pub mod reads;
pub mod resource;
pub mod route;
pub mod section;
pub mod sequencer;
pub mod target_queues;
pub mod transaction;
pub mod usage;

pub use ecc::EccConfig;
pub use section::ControllerSection;

use credits::Tags;
use decoder::Decoders;
use delivery::InOrder;
use ecc::ReadLevels;
use kit::queue::Class;
use kit::{
    AccountId, BlockId, Bytes, Cause, Event, Events, ModeId, Nanos, Op, Operation, Outbox, Owner, Protocol, Rate, SimTime, Slab,
    Stored, TransactionId, UnitSize,
};
use link_errors::{LinkErrorConfig, LinkErrors};
use memory::Model;
use memory::channels::{Ask, Channels};
use precedence::{Granted, Lines, Precedence};
use reads::{Decoding, ReadConfig, Reads, SensedRead, Verdict};
use resource::Server;
use route::{Action, Ending, Route, Routes, Servers, Step};
use sequencer::Sequencer;
use target_queues::TargetQueues;
use transaction::{Continuation, Place, Transaction, Transfer};
use usage::{Amount, Usage};

/// An encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Name of its code.
    pub code: String,
    /// Data rate; `None` if encoding takes no time.
    pub rate: Option<Rate>,
}

/// The description of a controller.
#[derive(Clone, Debug, Default)]
pub struct ControllerConfig {
    /// Protocol of the host interface.
    pub protocol: Protocol,
    /// The encoders, which data passes before it is programmed. An encoder serves one request at a time, in order of
    /// arrival. A request is the data of a program, or units gathered by a collection, without the padding.
    pub encoders: Vec<EncoderConfig>,
    /// Index of the encoder of each write mode; `None` for a mode without a code.
    pub encoder_of_mode: Vec<Option<usize>>,
    /// The reads, if stored data has errors.
    pub reads: Option<ReadConfig>,
    /// Firmware, interconnect and memory.
    pub section: ControllerSection,
    /// Number of data buffers, each with a memory of its own.
    pub buffers: u32,
    /// Size of a mapping unit.
    pub unit: UnitSize,
    /// Number of mapping units that the user sees.
    pub user_units: u64,
    /// Location of the map.
    pub map: MapPlace,
    /// Channel of each die.
    pub channel_of: Vec<u16>,
    /// True: each route has a step, also where none takes time. For tests.
    pub keeps_free_steps: bool,
    /// Errors of the host link; `None` if it has none.
    pub link_errors: Option<LinkErrorConfig>,
}

/// Location of the map, or of the part of it that is not on flash alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapPlace {
    /// All of it is in the controller's memory.
    #[default]
    Memory,
    /// A part of it is in the controller's memory; its pages are read from flash and written there.
    CachedInMemory,
    /// A part of it is in static memory, of which accesses take no time.
    CachedOnChip,
    /// A part of it is in a buffer of the host.
    CachedInHost,
}

/// A resource of a controller, and the time for which it was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy<'a> {
    /// Name in results.
    pub name: &'a str,
    /// Number of its group: resources of a kind that share the work. `None` for a part of another resource, the data
    /// bus of a memory.
    pub group: Option<u16>,
    /// The time.
    pub time: Nanos,
}

/// The controller of a drive: its resources, the routes over them, and the transactions under way.
pub struct Controller {
    servers: Servers,
    routes: Routes,
    /// Tags of requests for data in host memory.
    tags: Tags,
    memories: Channels,
    /// Queues of the targets, if they hold up commands.
    targets: Option<Box<TargetQueues>>,
    /// The order in which host reads are issued, if it is not that in which the translation produces them.
    sequencer: Option<Box<Sequencer>>,
    transactions: Slab<Transaction>,
    /// Reads of data with errors; `None` if stored data has none.
    reads: Option<Box<Reads>>,
    chooses_levels: bool,
    /// Reads that are delivered in order; `None` if each is delivered once it is decoded.
    in_order: Option<InOrder>,
    /// Channel of each die.
    channel_of: Vec<u16>,
    /// True if the arrival of data in the controller's memory matters: it takes steps on its way, or a page buffer is
    /// then free.
    receives_reads: bool,
    /// True if the mapping unit of data chooses a resource or an address.
    chooses_by_unit: bool,
    unit: UnitSize,
    keeps_free_steps: bool,
}

impl Controller {
    /// Returns the controller of a validated description, with nothing under way.
    pub fn new(config: &ControllerConfig) -> Controller {
        let (routes, servers) = Routes::new(config);
        let memories = match config.section.dram.build(()).model() {
            Model::Ddr(params) => Channels::new(&params, config.buffers.max(1), config.unit, config.user_units),
            Model::Ideal | Model::Bandwidth { .. } => Channels::default(),
        };
        let chooses_by_unit = !routes.selections.is_empty() || !memories.is_empty();
        let targets = config.section.target_queues.as_ref();
        let targets = targets.map(|targets| TargetQueues::new(targets, config.channel_of.len()));
        let sequencer = config.section.sequencer.as_ref();
        let sequencer = sequencer.map(|sequencer| Sequencer::new(sequencer, config.channel_of.len()));
        let on_the_way = [Route::Read, Route::Gather, Route::MapIn].iter().any(|route| routes.start(*route).is_some());
        let receives_reads = config.reads.is_some() || config.section.page_buffers.is_some() || on_the_way;
        Controller {
            servers,
            routes,
            tags: Tags::new(config.protocol.read_tags, config.protocol.read_request),
            memories,
            targets: targets.map(Box::new),
            sequencer: sequencer.map(Box::new),
            transactions: Slab::default(),
            reads: config.reads.as_ref().map(|reads| Box::new(Reads::new(reads))),
            chooses_levels: config.reads.as_ref().is_some_and(|reads| reads.levels != ReadLevels::ByWriteMode),
            in_order: config.reads.as_ref().filter(|reads| reads.in_order).map(|reads| InOrder::new(reads.geometry.die_count)),
            channel_of: config.channel_of.clone(),
            receives_reads,
            chooses_by_unit,
            unit: config.unit,
            keeps_free_steps: config.keeps_free_steps,
        }
    }

    /// Returns true if a route has steps.
    #[inline]
    pub fn takes_time(&self, route: Route) -> bool {
        self.routes.start(route).is_some()
    }

    /// Sends a command or data along a route; [`Event::Step`] follows. Returns what is to be done now if it takes no
    /// time.
    #[inline(always)]
    pub fn send(&mut self, route: Route, transfer: Transfer, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        match self.routes.start(route) {
            Some(step) => self.set_out(step, &transfer, now, out),
            None => Some(transfer.continuation),
        }
    }

    #[inline(never)]
    fn set_out(&mut self, step: u32, transfer: &Transfer, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let id = self.begin(step, transfer);
        self.advance(id, now, out)
    }

    /// Adds a transaction at a step of its route.
    #[inline(always)]
    fn begin(&mut self, step: u32, transfer: &Transfer) -> TransactionId {
        let id = self.transactions.take();
        // Field by field: copied as a whole it would be read with wide loads right after its narrow stores.
        let transaction = &mut self.transactions[id];
        transaction.step = step;
        transaction.continuation = transfer.continuation;
        transaction.data = transfer.data;
        transaction.place = transfer.place;
        transaction.account = transfer.account;
        TransactionId(id)
    }

    /// Handles the end of a step of a transaction ([`Event::Step`]). Returns what follows if that was its last one.
    // One function with all of it: the calls cost more than the work of most steps.
    #[inline(never)]
    pub fn step_done(&mut self, id: TransactionId, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let transaction = &mut self.transactions[id.0];
        let step = self.routes.step(transaction.step);
        if step.ending == Ending::Check {
            if let Continuation::Codeword { arrival } = transaction.continuation {
                return self.codeword_arrived(id, arrival, now, out);
            }
            if goes_on_later((id, transaction), step, (&mut self.memories, &self.servers.lines), now, &mut out.events) {
                return None;
            }
        }
        if let Some(account) = transaction.account {
            out.account_mut(account).charge_up_to(step.work, now);
        }
        if step.is_last {
            let continuation = transaction.continuation;
            self.transactions.release(id.0);
            return Some(continuation);
        }
        transaction.step += 1;
        self.advance(id, now, out)
    }

    /// Takes a transaction through its next steps, up to one that takes time. Returns what follows if there is none.
    #[inline(always)]
    fn advance(&mut self, id: TransactionId, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let mut transaction = &mut self.transactions[id.0];
        // Later than now behind a step that goes on before its end.
        let mut at = now;
        loop {
            let step = self.routes.step(transaction.step);
            let (place, data) = (transaction.place, transaction.data);
            let (begins, ends) = match step.action {
                _ if step.precedence != Precedence::InOrder => {
                    let chosen = step.action.pool(&self.routes.selections, place);
                    transaction.pool = chosen.0.first;
                    if step.precedence == Precedence::First
                        && let Some(granted) = self.servers.take_turn(chosen.0, now)
                    {
                        schedule(&granted, &self.transactions, &self.routes, out);
                        transaction = &mut self.transactions[id.0];
                    }
                    self.servers.serve_by_precedence(step.precedence, chosen, (id, data), now, &mut out.events)?
                }
                Action::End => {
                    let continuation = transaction.continuation;
                    self.transactions.release(id.0);
                    return Some(continuation);
                }
                Action::Access { kind, class } => {
                    let ask = Ask { transaction: id, unit: place.unit, bytes: data, kind, class };
                    let (channel, granted) = self.memories.ask(&ask, now);
                    self.memory_granted(channel, &granted, now, out);
                    return None;
                }
                Action::Wait(time) => (at, at + time),
                Action::Poll(interval) => (now, SimTime(now.0.next_multiple_of(interval.0))),
                Action::TakeTags => {
                    if !self.tags.take(self.tags.needed(data), id) {
                        return None;
                    }
                    (now, now)
                }
                Action::ReturnTags => {
                    let granted = |id| out.events.push(now, Class::Done, Event::Step(id));
                    self.tags.give_back(self.tags.needed(data), granted);
                    (now, now)
                }
                Action::Decode => (now, now),
                service => self.servers.work(service, &self.routes.selections, (place, data), at),
            };
            if let Some(account) = transaction.account
                && step.wait != step.work
            {
                out.account_mut(account).charge_up_to(step.wait, begins);
            }
            if step.goes_on {
                if let Some(account) = transaction.account {
                    out.account_mut(account).charge_up_to(step.work, ends);
                }
                at = ends;
                transaction.step += 1;
                continue;
            }
            if ends > now || self.keeps_free_steps {
                out.events.push(ends, step.class, Event::Step(id));
                return None;
            }
            transaction.step += 1;
        }
    }

    /// Handles the instant at which a server may take work that waits for it ([`Event::Server`]).
    pub fn server_grants(&mut self, server: u16, now: SimTime, out: &mut Outbox) {
        while let Some(granted) = self.servers.lines.grant(&mut self.servers.all, server, now, &mut out.events) {
            schedule(&granted, &self.transactions, &self.routes, out);
        }
    }

    /// Handles the instant at which a memory grants a piece of an access ([`Event::Memory`]).
    pub fn memory_grants(&mut self, channel: u8, now: SimTime, out: &mut Outbox) {
        let granted = self.memories.grant(channel, now);
        self.memory_granted(channel, &granted, now, out);
    }

    /// Charges the wait of an access that a memory grants now, and schedules its end and the next grant.
    #[inline]
    fn memory_granted(&mut self, channel: u8, granted: &dram::Granted, now: SimTime, out: &mut Outbox) {
        let dram::Granted { begun, done, next } = *granted;
        if let Some(id) = begun {
            let transaction = &self.transactions[id.0];
            if let Some(account) = transaction.account {
                out.account_mut(account).charge_up_to(self.routes.step(transaction.step).wait, now);
            }
        }
        if let Some((id, at)) = done {
            out.events.push(at, Class::Done, Event::Step(id));
        }
        if let Some(at) = next {
            out.events.push(at, Class::Dispatch, Event::Memory(channel));
        }
    }

    /// Brings the memories of a controller with nothing under way to rest.
    pub fn rest(&mut self, now: SimTime) {
        self.memories.rest(now);
    }

    /// Takes over the measurements of a controller that lost power at `now`, in whose place this one comes.
    pub fn take_measurements(&mut self, other: Controller, now: SimTime) {
        let Controller { servers, memories, targets, sequencer, reads, .. } = other;
        for (server, before) in self.servers.all.iter_mut().zip(&servers.all) {
            server.take_measurements(before, now);
        }
        self.servers.link_errors = servers.link_errors;
        self.memories = memories;
        self.memories.lose_power(now);
        if let (Some(own), Some(before)) = (&mut self.targets, targets) {
            own.take_measurements(&before);
        }
        if let (Some(own), Some(before)) = (&mut self.sequencer, sequencer) {
            own.take_measurements(&before);
        }
        if let (Some(own), Some(before)) = (&mut self.reads, reads) {
            own.take_measurements(*before);
        }
    }

    /// Returns the resources that are busy or idle as a whole, servers and memories, each with the time for which it
    /// was busy until `now`.
    pub fn busy(&self, now: SimTime) -> impl Iterator<Item = Busy<'_>> {
        let servers = self.servers.all.iter();
        let servers = servers.map(move |server| Busy { name: &server.name, group: Some(server.group), time: server.busy(now) });
        let memories = self.servers.all.len() as u16;
        let of = move |group: Option<u16>| move |(name, time)| Busy { name, group, time };
        servers.chain(self.memories.busy(now).map(of(Some(memories)))).chain(self.memories.data_buses(now).map(of(None)))
    }

    /// Returns the amounts of work until `now` from which energy is computed.
    pub fn usage(&self, now: SimTime) -> Usage {
        let mut usage = Usage::default();
        for server in &self.servers.all {
            server.part.add(server.busy(now), server.bytes(), &mut usage);
        }
        self.memories.count(now, &mut usage);
        if let Some(reads) = &self.reads {
            let [hard, soft] = reads.statistics.decoded;
            usage.add(Amount::DecodedHard, hard);
            usage.add(Amount::DecodedSoft, soft);
            usage.add(Amount::Decoding, reads.decoders().map_or(0, Decoders::work_ns));
        }
        usage
    }

    /// Returns the queues of the targets, if they hold up commands.
    #[inline]
    pub fn targets(&mut self) -> Option<&mut TargetQueues> {
        self.targets.as_deref_mut()
    }

    /// Returns true if there are queues of the targets that hold up commands.
    #[inline]
    pub fn has_targets(&self) -> bool {
        self.targets.is_some()
    }

    /// Returns the I/O sequencer, if there is one.
    #[inline]
    pub fn sequencer(&mut self) -> Option<&mut Sequencer> {
        self.sequencer.as_deref_mut()
    }

    /// Returns the number of reads that the sequencer has issued out of turn; 0 if there is none.
    pub fn reads_out_of_turn(&self) -> u64 {
        self.sequencer.as_ref().map_or(0, |sequencer| sequencer.out_of_turn())
    }

    /// Returns true if the number of host reads at each die matters here: to the queues of the targets, or to the
    /// sequencer.
    #[inline]
    pub fn counts_reads(&self) -> bool {
        self.targets.is_some() | self.sequencer.is_some()
    }

    /// Returns the largest depth of a target's queue so far; 0 if depths do not matter.
    pub fn deepest_target_queue(&self) -> u32 {
        self.targets.as_ref().map_or(0, |targets| targets.deepest_ever())
    }

    /// Occupies the resources of a route for which neither side waits.
    pub fn occupy(&mut self, route: Route, now: SimTime) {
        let Some(mut at) = self.routes.start(route) else { return };
        loop {
            let step = self.routes.step(at);
            match step.action {
                Action::Wait(_) => {}
                Action::End => return,
                _ => self.servers.occupy(step, now),
            }
            at += 1;
        }
    }

    /// Returns true if commands or their completions take steps between application and device.
    pub fn takes_time_for_commands(&self) -> bool {
        let routes = [Route::Submit, Route::List, Route::Take]
            .into_iter()
            .chain(Op::ALL.map(Route::Command))
            .chain(Op::ALL.map(Route::Admit));
        routes.into_iter().any(|route| self.takes_time(route)) || self.takes_time_for_completions()
    }

    /// Returns true if completions take steps on their way to the application.
    pub fn takes_time_for_completions(&self) -> bool {
        let routes = [Route::Interrupt, Route::Reap].into_iter().chain(Op::ALL.map(Route::Complete));
        routes.into_iter().any(|route| self.takes_time(route))
    }

    /// Returns true if data that has been read passes through here on its way to the controller's memory, errors or not
    /// ([`Controller::receive`], [`Controller::sensed`]).
    #[inline]
    pub fn receives_reads(&self) -> bool {
        self.receives_reads
    }

    /// Returns true if the mapping unit of data chooses a resource or an address. Otherwise it need not be looked up.
    #[inline]
    pub fn chooses_by_unit(&self) -> bool {
        self.chooses_by_unit
    }

    /// Returns the place of the data of a flash operation, whose first mapping unit is `unit`.
    #[inline]
    pub fn place_of(&self, operation: &Operation, unit: u32) -> Place {
        Place { unit, queue: 0, channel: self.channel_of[operation.die.index()] }
    }

    /// Sends the data of a read, which has no errors, on its way to the controller's memory.
    pub fn receive(&mut self, slot: u32, unit: u32, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let (route, transfer) = self.transfer_of_read(slot, unit, None, out);
        self.send(route, transfer, now, out)
    }

    /// Returns the route of the data of a read, and the data with what follows.
    fn transfer_of_read(&self, slot: u32, unit: u32, recovery: Option<u32>, out: &Outbox) -> (Route, Transfer) {
        let operation = &out.operations[slot];
        let route = match operation.owner {
            Owner::Command(_) | Owner::ReadAhead(_) | Owner::Retry(_) => Route::Read,
            Owner::MapPage(_) => Route::MapIn,
            _ => Route::Gather,
        };
        let transfer = Transfer {
            data: operation.data(self.unit),
            place: self.place_of(operation, unit),
            continuation: Continuation::TransferDone { slot, recovery },
            account: Some(AccountId::Operation(slot)),
        };
        (route, transfer)
    }

    /// Returns true if the data of reads passes through here, because stored data has errors.
    #[inline]
    pub fn corrects_reads(&self) -> bool {
        self.reads.is_some()
    }

    /// Returns true if data is decoded as it arrives, at decoders that all channels share ([`Controller::arrives`]).
    pub fn shares_decoders(&self) -> bool {
        let decoders = self.reads.as_ref().and_then(|reads| reads.decoders());
        decoders.is_some_and(|decoders| decoders.sharing() == ecc::Sharing::Drive)
    }

    /// Returns the host reads that are to be delivered in order; `None` if each is delivered once it is decoded.
    #[inline]
    pub fn in_order(&mut self) -> Option<&mut InOrder> {
        self.in_order.as_mut()
    }

    /// Returns true if the read mode of a read is chosen here, and not by the FTL.
    #[inline]
    pub fn chooses_levels(&self) -> bool {
        self.chooses_levels
    }

    /// Prefetches what is known of a block whose data is about to be read. The value only keeps the load from being
    /// optimised away.
    #[inline]
    pub fn look_ahead(&self, block: BlockId) -> u32 {
        self.reads.as_ref().map_or(0, |reads| reads.look_ahead(block))
    }

    /// Returns the read mode of the first attempt at the data of an operation, where it is chosen here.
    pub fn first_mode(&mut self, operation: &Operation, stored: &Stored) -> ModeId {
        self.reads.as_mut().map_or(operation.mode, |reads| reads.first_mode(operation, stored))
    }

    /// Returns the reads of data with errors; `None` if stored data has none.
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_deref()
    }

    /// Restores the instants at which the servers of a saved drive, whose clock stands at `now`, are free. Returns
    /// false if the servers are others, or one is busy that could not be: at rest only messages for which neither side
    /// waits are under way.
    pub fn restore_servers(&mut self, free_at: &[SimTime], now: SimTime) -> bool {
        let mut is_strange: Vec<bool> = free_at.iter().map(|at| *at > now).collect();
        let mut next = self.routes.start(Route::Acknowledge);
        while let Some(at) = next {
            match self.routes.step(at).action {
                Action::Serve { server, .. } => is_strange.iter_mut().skip(server.into()).take(1).for_each(|one| *one = false),
                Action::End => break,
                _ => {}
            }
            next = Some(at + 1);
        }
        self.servers.all.iter_mut().zip(free_at).for_each(|(server, at)| server.occupy_until(*at));
        self.servers.lines.restore(&self.servers.all);
        free_at.len() == self.servers.all.len() && !is_strange.contains(&true)
    }

    /// Restores the read levels that a saved drive kept for its blocks. Returns false if they are not of this drive's
    /// plan.
    pub fn restore_read_levels(&mut self, saved: &[(u32, u8)]) -> bool {
        match &mut self.reads {
            Some(reads) => reads.restore_calibrated(saved),
            None => saved.is_empty(),
        }
    }

    /// Decodes the data of a read that the flash has delivered. Returns what follows if that takes no time; otherwise
    /// [`Event::Step`] follows.
    #[inline(always)]
    pub fn sensed(&mut self, read: &SensedRead<'_>, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let reads = self.reads.as_mut().expect("only data with errors is decoded");
        let decoding = reads.sensed(read, out);
        self.decode(read.slot, read.unit, decoding, now, out)
    }

    /// Sends the data of a read that the decoders have accepted on its way.
    #[inline(always)]
    fn decode(&mut self, slot: u32, unit: u32, decoding: Decoding, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let Decoding { until, alone, recovery } = decoding;
        let (route, transfer) = self.transfer_of_read(slot, unit, recovery, out);
        if until == now {
            return self.send(route, transfer, now, out);
        }
        // The wait for a decoder; the step, whose end is known, charges the decoding.
        let begins = SimTime(until.0 - alone.0);
        if begins > now {
            out.operations.account_mut(slot).charge_to(Cause::EccWait, begins);
        }
        let step = self.routes.start(route).expect("decoding takes time");
        let id = self.begin(step, &transfer);
        out.events.push(until, Class::Done, Event::Step(id));
        None
    }

    /// Begins to decode the data of a read, whose last transfer begins, at decoders that all channels share.
    /// [`Event::Step`] follows at the end of each codeword, the last at the end of the transfer.
    pub fn arrives(&mut self, read: &SensedRead<'_>, out: &mut Outbox) {
        let reads = self.reads.as_mut().expect("only data with errors is decoded");
        let (arrival, first) = reads.arrives(read, out);
        let id = self.begin(
            route::CODEWORDS,
            &Transfer {
                data: Bytes(0),
                place: Place { unit: read.unit, ..Place::default() },
                continuation: Continuation::Codeword { arrival },
                account: None,
            },
        );
        out.events.push(first, Class::Done, Event::Step(id));
    }

    /// Handles the arrival of a codeword at decoders that all channels share. Returns what follows if that was the last
    /// one of its read, and decoding takes no more time.
    fn codeword_arrived(&mut self, id: TransactionId, arrival: u32, now: SimTime, out: &mut Outbox) -> Option<Continuation> {
        let reads = self.reads.as_mut().expect("only data with errors is decoded");
        if let Some(next) = reads.codeword_arrived(arrival, now) {
            out.events.push(next, Class::Done, Event::Step(id));
            return None;
        }
        let (slot, decoding) = reads.all_arrived(arrival, now);
        let unit = self.transactions[id.0].place.unit;
        self.transactions.release(id.0);
        self.decode(slot, unit, decoding, now, out)
    }

    /// Handles the end of the decoding of a read.
    pub fn decoded(&mut self, slot: u32, recovery: Option<u32>, now: SimTime, out: &mut Outbox) -> Verdict {
        self.reads.as_mut().expect("only data with errors is decoded").decoded(slot, recovery, now, out)
    }

    /// Returns true if nothing is under way.
    pub fn is_at_rest(&self) -> bool {
        self.transactions.in_use() == 0
            && self.reads.as_ref().is_none_or(|reads| reads.is_at_rest())
            && self.sequencer.as_ref().is_none_or(|sequencer| sequencer.is_at_rest())
    }

    /// Returns the errors of the host link; `None` if there is no link, or it has none.
    pub fn link_errors(&self) -> Option<&LinkErrors> {
        self.servers.link_errors.as_deref()
    }

    /// Returns the errors of the host link for scripts and the state of a saved drive.
    pub fn link_errors_mut(&mut self) -> Option<&mut LinkErrors> {
        self.servers.link_errors.as_deref_mut()
    }

    /// Returns the servers, for reports.
    pub fn servers(&self) -> &[Server] {
        &self.servers.all
    }
}

/// Schedules the end of work that waited and is accepted.
#[inline(never)]
fn schedule(granted: &Granted, transactions: &Slab<Transaction>, routes: &Routes, out: &mut Outbox) {
    let &Granted { id, begins, ends } = granted;
    let transaction = &transactions[id.0];
    let step = routes.step(transaction.step);
    if let Some(account) = transaction.account
        && step.wait != step.work
    {
        out.account_mut(account).charge_up_to(step.wait, begins);
    }
    out.events.push(ends, step.class, Event::Step(id));
}

/// Handles the end of an access, or of work that yields. Returns true if it is not done yet: another access has come
/// between, or work that went first has delayed it. [`Event::Step`] follows.
#[inline(always)]
fn goes_on_later(
    (id, transaction): (TransactionId, &Transaction),
    step: &Step,
    (memories, lines): (&mut Channels, &Lines),
    now: SimTime,
    events: &mut Events,
) -> bool {
    if step.precedence == Precedence::InOrder {
        return memories.is_stale(transaction.place.unit, id, now);
    }
    let delayed = lines.delayed_until(transaction.pool, now);
    delayed.inspect(|until| events.push(*until, step.class, Event::Step(id))).is_some()
}

#[cfg(test)]
mod tests;
