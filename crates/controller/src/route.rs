//! Routes through the controller, as steps that are compiled once from the description. Steps that take no time
//! are not in them.

use crate::dram::{AccessClass, AccessKind};
use crate::link_errors::LinkErrors;
use crate::precedence::{Granted, Lines, Pool, Precedence};
use crate::resource::{Server, Timed};
use crate::transaction::Place;
use crate::usage::PartOfDrive;
use crate::{ControllerConfig, EncoderConfig};
use kit::{Bytes, Cause, Class, Events, Hop, ModeId, Nanos, Op, Protocol, Service, SimTime, TransactionId, UnitSize};

/// A route of a command or of data through the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The announcement of a command, from the application to the device.
    Submit,
    /// A command, or several that are fetched together, to the device.
    Command(Op),
    /// A command in the device: the firmware's work before it is served, and the data that came with it.
    Admit(Op),
    /// The list of addresses of a command, to the device.
    List,
    /// Data of a write for which there is space, to the controller's memory: the first piece of its command.
    Take,
    /// Data of a write like [`Route::Take`]: a further piece.
    TakeMore,
    /// A flash operation that was chosen for a die and transfers no data.
    Issue,
    /// Data to be written, from the controller's memory to the channel of its die.
    Out,
    /// A read, from the translation layer to the die of its card.
    ToDie,
    /// The completion of a program or an erase of a card. Nothing waits for it.
    Done,
    /// Data to be written, through the encoder for this write mode.
    Written(ModeId),
    /// Data that a host read has read, from a channel to the controller's memory.
    Read,
    /// Data that was read for a relocation or to complete a partial write, from a channel to the controller's memory.
    Gather,
    /// A page of the map that was read, from a channel to the memory that holds the map.
    MapIn,
    /// Pages of the map to be written, from the memory that holds the map to the channel of their die.
    MapOut,
    /// Data of a read, to the host.
    ToHost,
    /// The completion of a command, to the host; to the application, if interrupts do not announce several.
    Complete(Op),
    /// An interrupt for several completions.
    Interrupt,
    /// A completion that such an interrupt has announced, to the application.
    Reap,
    /// A message of the host for which neither side waits.
    Acknowledge,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The route ends.
    End,
    /// A server works on the data.
    Serve {
        /// Index of the server.
        server: u16,
        /// Index of the service.
        service: u8,
    },
    /// A server works on the data, which goes on before the work is done: the addresses of bursts go ahead of their
    /// data. The step that follows is work of servers that take data in the order of this one. It is given to them at
    /// once, so that the lead needs no event.
    Lead {
        /// Index of the server.
        server: u16,
        /// Index of its service.
        service: u8,
        /// Index of the service that is the time after which the data goes on.
        lead: u8,
    },
    /// One of several servers works on the data, by the place of the data.
    ServeAt {
        /// Index of the selection.
        selection: u8,
        /// Index of the service.
        service: u8,
    },
    /// The first of several servers that is free works on the data.
    ServeFirst {
        /// Index of the first server.
        first: u16,
        /// Number of servers.
        count: u16,
        /// Index of the service.
        service: u8,
    },
    /// The first of a cluster of servers that is free works on the data. The place of the data chooses the cluster.
    ServeFirstAt {
        /// Index of the selection, whose servers are the clusters.
        selection: u8,
        /// Number of servers of a cluster.
        count: u16,
        /// Index of the service.
        service: u8,
    },
    /// The memory reads or writes the data, or a part of the map.
    Access {
        /// Direction.
        kind: AccessKind,
        /// Class.
        class: AccessClass,
    },
    /// Some time passes.
    Wait(Nanos),
    /// The next multiple of a span is waited for.
    Poll(Nanos),
    /// Tags for reading the data in host memory are taken.
    TakeTags,
    /// The tags are given back.
    ReturnTags,
    /// The decoders work on the data, which they have accepted. The instant of their end is known before.
    Decode,
}

/// A step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The cause to which the wait for its resource is charged.
    pub wait: Cause,
    /// The cause to which the action is charged.
    pub work: Cause,
    /// Class of the event at its end. A command arrives together with those that the host submits at that instant.
    pub class: Class,
    /// Place of the work among that of others at its servers.
    pub precedence: Precedence,
    /// Meaning of the event at its end.
    pub ending: Ending,
    /// True if no step follows.
    pub is_last: bool,
    /// True if the next step begins without an event at the end of this one: it uses no resource, the same link, or
    /// servers that take data in the order of this step.
    pub goes_on: bool,
}

/// Meaning of the event at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The step is done.
    Done,
    /// It may be done: an access may have been interrupted, work that yields may have been delayed.
    Check,
}

impl Step {
    /// Returns a step whose wait has the cause of its work.
    fn new(action: Action, cause: Cause) -> Step {
        Step {
            action,
            wait: cause,
            work: cause,
            class: Class::Done,
            precedence: Precedence::InOrder,
            ending: Ending::Done,
            is_last: false,
            goes_on: false,
        }
    }

    /// Returns true if the end of the step is known when it begins.
    fn is_certain(&self) -> bool {
        self.precedence != Precedence::Yields && !matches!(self.action, Action::Access { .. })
    }

    /// Returns true if `next` can be begun as soon as this step is: it uses no resource, or one that takes its work
    /// right behind that of this step.
    fn needs_no_event_before(&self, next: &Step) -> bool {
        let message = |step: &Step| match step.action {
            Action::Serve { server, .. } if step.precedence == Precedence::First && step.work == Cause::Link => Some(server),
            _ => None,
        };
        matches!(self.action, Action::Lead { .. })
            || matches!(next.action, Action::Wait(_)) && self.action.is_service() && self.is_certain()
            || message(self).is_some() && message(self) == message(next)
    }
}

impl Action {
    /// Returns true if it is work of a server.
    fn is_service(&self) -> bool {
        matches!(self, Action::Serve { .. } | Action::ServeAt { .. } | Action::ServeFirst { .. } | Action::ServeFirstAt { .. })
    }

    /// Returns the servers that can do the work on data at a place, and the service.
    #[inline(always)]
    pub fn pool(&self, selections: &[Selection], place: Place) -> (Pool, u8) {
        let selected = |selection: u8| &selections[usize::from(selection)];
        match *self {
            Action::Serve { server, service } | Action::Lead { server, service, .. } => {
                (Pool { first: server, count: 1 }, service)
            }
            Action::ServeAt { selection, service } => (Pool { first: selected(selection).server(place), count: 1 }, service),
            Action::ServeFirst { first, count, service } => (Pool { first, count }, service),
            Action::ServeFirstAt { selection, count, service } => {
                (Pool { first: selected(selection).cluster(place, count), count }, service)
            }
            other => unreachable!("no server does {other:?}"),
        }
    }
}

/// Rule by which one of several servers is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Index of the first server.
    pub first: u16,
    /// Rule.
    pub by: By,
}

/// Part of a place that chooses a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The channel and the memory, each times its factor.
    Port {
        /// Factor of the channel.
        channel: u16,
        /// Factor of the memory.
        buffer: u16,
        /// Number of memories: the mapping unit, modulo this, is the memory.
        buffers: u16,
    },
    /// The channel, modulo the number of servers.
    Channel(u16),
    /// The channel, in groups of this number of neighbours.
    ChannelGroup(u16),
    /// The submission queue, modulo the number of servers.
    Queue(u16),
    /// The mapping unit, modulo the number of servers.
    Unit(u16),
}

impl Selection {
    /// Returns the server for a place.
    #[inline]
    pub fn server(&self, place: Place) -> u16 {
        self.first + self.chosen(place)
    }

    /// Returns the first server of the cluster for a place, in which each cluster has `count` servers.
    #[inline]
    pub fn cluster(&self, place: Place, count: u16) -> u16 {
        self.first + self.chosen(place) * count
    }

    #[inline]
    fn chosen(&self, place: Place) -> u16 {
        match self.by {
            By::Port { channel, buffer, buffers } => {
                let memory = if buffers > 1 { (place.unit % u32::from(buffers)) as u16 } else { 0 };
                place.channel * channel + memory * buffer
            }
            By::Channel(count) => place.channel % count,
            By::ChannelGroup(size) => place.channel / size,
            By::Queue(count) => place.queue % count,
            By::Unit(count) => (place.unit % u32::from(count)) as u16,
        }
    }
}

/// Position of the first step of a route.
type Start = u32;

/// The start of every route without steps: the first step is an end.
const EMPTY: Start = 0;

/// Position of the step that data takes codeword by codeword, to decoders that all channels share.
pub const CODEWORDS: Start = 1;

/// The routes of a controller.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The steps of all routes, one route after another, each with its end.
    steps: Vec<Step>,
    /// Rules by which steps choose among several servers.
    pub selections: Vec<Selection>,
    starts: Starts,
    /// Routes of data to be written, by write mode.
    written: Vec<Start>,
}

/// Starts of the routes that every drive has.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    submit: Start,
    command: [Start; Op::COUNT],
    admit: [Start; Op::COUNT],
    list: Start,
    take: Start,
    take_more: Start,
    issue: Start,
    out: Start,
    to_die: Start,
    done: Start,
    read: Start,
    gather: Start,
    map_in: Start,
    map_out: Start,
    to_host: Start,
    complete: [Start; Op::COUNT],
    interrupt: Start,
    reap: Start,
    acknowledge: Start,
}

/// The servers on the routes of a controller, and the services that they render.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// The servers.
    pub all: Vec<Server>,
    /// The services.
    pub services: Vec<Timed>,
    /// The work that yields at each server.
    pub lines: Lines,
    /// Errors of the host link; `None` if there are none.
    pub link_errors: Option<Box<LinkErrors>>,
}

impl Servers {
    /// Adds a server. Returns its index.
    fn add(&mut self, name: &str, part: PartOfDrive) -> u16 {
        self.add_group([name], part)
    }

    /// Adds a group of servers. Returns the index of the first.
    fn add_group(&mut self, names: impl IntoIterator<Item: AsRef<str>>, part: PartOfDrive) -> u16 {
        let first = self.all.len() as u16;
        self.all.extend(names.into_iter().map(|name| Server::new(name.as_ref(), first, part)));
        first
    }

    /// Returns the time of work on `data` at a server, with that of packets that are sent again, and the bytes that are
    /// carried.
    #[inline(always)]
    fn time(&mut self, server: u16, service: u8, data: Bytes) -> (Nanos, u64) {
        let timed = &mut self.services[usize::from(service)];
        let (mut time, carried) = (timed.time(data), timed.carried(data));
        if let Some(errors) = &mut self.link_errors {
            time += errors.delay(server, timed.service(), data);
        }
        (time, carried)
    }

    /// Gives work on `data` to a server. Returns the instants at which it begins and is done.
    #[inline]
    pub fn serve(&mut self, server: u16, service: u8, data: Bytes, now: SimTime) -> (SimTime, SimTime) {
        let (time, carried) = self.time(server, service, data);
        let server = &mut self.all[usize::from(server)];
        server.count(carried);
        server.accept(time, now)
    }

    /// Gives work without precedence to its server. Returns the instants at which it begins, and at which the data goes
    /// on.
    #[inline(always)]
    pub fn work(
        &mut self,
        action: Action,
        selections: &[Selection],
        (place, data): (Place, Bytes),
        at: SimTime,
    ) -> (SimTime, SimTime) {
        match action {
            Action::Serve { server, service } => self.serve(server, service, data, at),
            Action::Lead { server, service, lead } => {
                let (begins, _) = self.serve(server, service, data, at);
                (begins, begins + self.services[usize::from(lead)].time(data))
            }
            Action::ServeAt { selection, service } => {
                self.serve(selections[usize::from(selection)].server(place), service, data, at)
            }
            Action::ServeFirst { first, count, service } => self.serve(self.first_free(first, count), service, data, at),
            Action::ServeFirstAt { selection, count, service } => {
                let first = selections[usize::from(selection)].cluster(place, count);
                self.serve(self.first_free(first, count), service, data, at)
            }
            other => unreachable!("no server does {other:?}"),
        }
    }

    /// Returns the one of `count` servers that is free first.
    #[inline]
    pub fn first_free(&self, first: u16, count: u16) -> u16 {
        Pool { first, count }.first_free(&self.all)
    }

    /// Accepts the work that waits first, if it is its turn before more work that goes first.
    #[inline]
    pub fn take_turn(&mut self, pool: Pool, now: SimTime) -> Option<Granted> {
        self.lines.take_turn(&mut self.all, pool, now)
    }

    /// Gives the work of a step with a precedence to its servers. Returns the instants at which it begins and is done;
    /// `None` if it waits, until it is granted.
    #[inline(always)]
    pub fn serve_by_precedence(
        &mut self,
        precedence: Precedence,
        (pool, service): (Pool, u8),
        (id, data): (TransactionId, Bytes),
        now: SimTime,
        events: &mut Events,
    ) -> Option<(SimTime, SimTime)> {
        let (time, carried) = self.time(pool.first, service, data);
        match precedence {
            Precedence::Yields => self.lines.ask(&mut self.all, pool, (id, time, carried), now, events),
            Precedence::First | Precedence::InOrder => {
                Some(self.lines.accept_first(&mut self.all, pool, (time, carried), now, true))
            }
        }
    }

    /// Gives work for which neither side waits to its server.
    pub fn occupy(&mut self, step: &Step, now: SimTime) {
        let Action::Serve { server, service } = step.action else { unreachable!("{:?} is waited for", step.action) };
        if step.precedence == Precedence::InOrder {
            self.serve(server, service, Bytes(0), now);
            return;
        }
        let (time, _) = self.time(server, service, Bytes(0));
        self.lines.accept_first(&mut self.all, Pool { first: server, count: 1 }, (time, 0), now, false);
    }

    fn service(&mut self, service: Service) -> u8 {
        self.services.push(Timed::new(service));
        index(self.services.len() - 1)
    }
}

fn index(index: usize) -> u8 {
    u8::try_from(index).expect("a controller has fewer than 256 services and selections")
}

mod device;

use device::DeviceSide;

impl Routes {
    /// Compiles the routes of a validated description. Returns them with the servers on them, at rest.
    pub fn new(config: &ControllerConfig) -> (Routes, Servers) {
        let mut compiler = Compiler {
            routes: Routes {
                steps: vec![
                    Step::new(Action::End, Cause::Order),
                    Step { ending: Ending::Check, ..Step::new(Action::End, Cause::Order) },
                ],
                selections: Vec::new(),
                starts: Starts::default(),
                written: Vec::new(),
            },
            servers: Servers::default(),
            unit: config.unit,
            keeps_free_steps: config.keeps_free_steps,
        };
        let side = compiler.host_side(config);
        let parts = compiler.device_side(config);
        compiler.host_routes(&side, &parts, config);
        compiler.device_routes(&side, &parts, config);
        compiler.written(config);
        compiler.servers.lines.resize(compiler.servers.all.len());
        (compiler.routes, compiler.servers)
    }

    /// Returns the position of the first step of a route; `None` if it has none.
    #[inline]
    pub fn start(&self, route: Route) -> Option<u32> {
        let starts = &self.starts;
        let start = match route {
            Route::Submit => starts.submit,
            Route::Command(op) => starts.command[op as usize],
            Route::Admit(op) => starts.admit[op as usize],
            Route::List => starts.list,
            Route::Take => starts.take,
            Route::TakeMore => starts.take_more,
            Route::Written(mode) => self.written[mode.index()],
            Route::Issue => starts.issue,
            Route::Out => starts.out,
            Route::ToDie => starts.to_die,
            Route::Done => starts.done,
            Route::Read => starts.read,
            Route::Gather => starts.gather,
            Route::MapIn => starts.map_in,
            Route::MapOut => starts.map_out,
            Route::ToHost => starts.to_host,
            Route::Complete(op) => starts.complete[op as usize],
            Route::Interrupt => starts.interrupt,
            Route::Reap => starts.reap,
            Route::Acknowledge => starts.acknowledge,
        };
        (start != EMPTY).then_some(start)
    }

    /// Returns the step at a position.
    #[inline]
    pub fn step(&self, at: u32) -> &Step {
        &self.steps[at as usize]
    }
}

/// The host's side of the routes: the servers of the link and of the host's processor.
struct HostSide {
    to_device: u16,
    to_host: u16,
    /// Precedence of data on the link.
    data: Precedence,
    first_core: u16,
    cores: u16,
    serial: u16,
}

/// Routes and servers that are being compiled.
struct Compiler {
    routes: Routes,
    servers: Servers,
    unit: UnitSize,
    keeps_free_steps: bool,
}

impl Compiler {
    /// Adds a route and returns its start.
    fn add(&mut self, mut steps: Vec<Step>) -> Start {
        if steps.is_empty() && self.keeps_free_steps {
            steps.push(Step::new(Action::Wait(Nanos::ZERO), Cause::Order));
        }
        if steps.is_empty() {
            return EMPTY;
        }
        let last = steps.len() - 1;
        for index in 0..=last {
            let next = steps.get(index + 1).copied();
            let needs_no_event = next.is_some_and(|next| steps[index].needs_no_event_before(&next));
            let step = &mut steps[index];
            step.ending = if step.is_certain() { Ending::Done } else { Ending::Check };
            step.is_last = index == last;
            step.goes_on = needs_no_event;
        }
        let start = self.routes.steps.len() as Start;
        self.routes.steps.append(&mut steps);
        self.routes.steps.push(Step::new(Action::End, Cause::Order));
        start
    }

    /// Adds the routes between application and device.
    fn host_routes(&mut self, side: &HostSide, parts: &DeviceSide, config: &ControllerConfig) {
        let protocol = &config.protocol;
        // On the way to the device and back, the host's memory is a part of the link.
        let (link, host) = (Cause::Link, Cause::Host);
        self.routes.starts.submit = self.route(side, &protocol.submit, host);
        for op in Op::ALL {
            let mut steps = self.steps(side, &protocol.command[op as usize], link);
            if let Some(last) = steps.last_mut() {
                last.class = Class::Arrival;
            }
            self.routes.starts.command[op as usize] = self.add(steps);
            let mut completion = [parts.complete.clone(), self.steps(side, &protocol.complete[op as usize], link)].concat();
            if !protocol.gathers_completions {
                let notice = [&protocol.interrupt, &protocol.reap];
                completion.extend(notice.into_iter().flat_map(|hops| self.steps(side, hops, host)));
            }
            self.routes.starts.complete[op as usize] = self.add(completion);
        }
        self.routes.starts.list = self.route(side, &protocol.list, link);
        if !protocol.data_comes_with_command() {
            let (first, more) = (self.steps(side, &protocol.take, link), self.steps(side, &protocol.take_more, link));
            self.routes.starts.take = self.add([first, parts.take_in.clone()].concat());
            self.routes.starts.take_more = self.add([more, parts.take_in.clone()].concat());
        }
        let delivery = self.steps(side, &protocol.deliver, link);
        self.routes.starts.to_host = self.add([parts.to_host.clone(), delivery].concat());
        if protocol.gathers_completions {
            self.routes.starts.interrupt = self.route(side, &protocol.interrupt, host);
            self.routes.starts.reap = self.route(side, &protocol.reap, host);
        }
        self.routes.starts.acknowledge = self.route(side, &protocol.acknowledge, link);
    }

    /// Adds the servers of the link and of the host's processor, as far as the protocol uses them.
    fn host_side(&mut self, config: &ControllerConfig) -> HostSide {
        let protocol = &config.protocol;
        let uses = |is_one: fn(&Hop) -> bool| protocol.lists().any(|hops| hops.iter().any(is_one));
        let data = if uses(Hop::goes_first) { Precedence::Yields } else { Precedence::InOrder };
        let mut side = HostSide { to_device: 0, to_host: 0, data, first_core: 0, cores: 0, serial: 0 };
        if uses(Hop::is_transfer) {
            let names = if protocol.half_duplex { ["link", "link"] } else { ["link_to_device", "link_to_host"] };
            side.to_device = self.servers.add(names[0], PartOfDrive::ToDevice);
            side.to_host = if protocol.half_duplex { side.to_device } else { self.servers.add(names[1], PartOfDrive::ToHost) };
            if data == Precedence::Yields {
                self.cut_data(&side, protocol);
            }
            let errors = |config| Box::new(LinkErrors::new(config, [side.to_device, side.to_host]));
            self.servers.link_errors = config.link_errors.as_ref().map(errors);
        }
        if uses(|hop| matches!(hop, Hop::HostCore(_))) {
            side.cores = protocol.host_cores as u16;
            side.first_core = self.servers.add_group((0..side.cores).map(|core| format!("host_core_{core}")), PartOfDrive::Host);
        }
        if uses(|hop| matches!(hop, Hop::HostSerial(_))) {
            side.serial = self.servers.add("host_serial", PartOfDrive::Host);
        }
        side
    }

    /// Lets data on the link be interrupted between its packets.
    fn cut_data(&mut self, side: &HostSide, protocol: &Protocol) {
        for hop in protocol.all_lists().flatten() {
            let (server, service) = match hop {
                Hop::ToDevice(service) => (side.to_device, service),
                Hop::ToHost(service) => (side.to_host, service),
                _ => continue,
            };
            self.servers.lines.cut(server, service.time_of_packet());
        }
    }

    fn route(&mut self, side: &HostSide, hops: &[Hop], wait: Cause) -> Start {
        let steps = self.steps(side, hops, wait);
        self.add(steps)
    }

    /// Returns the steps of hops; time without a resource is charged to `wait`.
    fn steps(&mut self, side: &HostSide, hops: &[Hop], wait: Cause) -> Vec<Step> {
        let mut serve = |server: u16, service: Service| Action::Serve { server, service: self.servers.service(service) };
        let transfer = |precedence: Precedence, action: Action| Step { precedence, ..Step::new(action, Cause::Link) };
        let mut steps = Vec::with_capacity(hops.len());
        for hop in hops {
            steps.push(match *hop {
                Hop::ToDevice(service) => transfer(side.data, serve(side.to_device, service)),
                Hop::ToHost(service) => transfer(side.data, serve(side.to_host, service)),
                Hop::FirstToDevice(service) => transfer(Precedence::First, serve(side.to_device, service)),
                Hop::FirstToHost(service) => transfer(Precedence::First, serve(side.to_host, service)),
                Hop::HostSerial(time) => Step::new(serve(side.serial, Service::fixed(time)), Cause::Host),
                Hop::HostCore(time) => {
                    let Action::Serve { service, .. } = serve(0, Service::fixed(time)) else { unreachable!("it serves") };
                    Step::new(Action::ServeFirst { first: side.first_core, count: side.cores, service }, Cause::Host)
                }
                Hop::Wait(Nanos::ZERO) => continue,
                Hop::Wait(time) => Step::new(Action::Wait(time), wait),
                Hop::Poll(interval) => Step::new(Action::Poll(interval), wait),
                Hop::TakeTags => Step::new(Action::TakeTags, wait),
                Hop::ReturnTags => Step::new(Action::ReturnTags, wait),
            });
        }
        steps
    }

    /// Adds the routes of data to be written, one for each write mode.
    fn written(&mut self, config: &ControllerConfig) {
        let encoders: Vec<Option<Step>> = config.encoders.iter().map(|encoder| self.encoder(encoder)).collect();
        for &encoder in &config.encoder_of_mode {
            let step = encoder.and_then(|encoder| encoders[encoder]);
            let start = if encoder.is_some() { self.add(step.into_iter().collect()) } else { EMPTY };
            self.routes.written.push(start);
        }
    }

    /// Adds an encoder. Returns its step; `None` if it takes no time.
    fn encoder(&mut self, encoder: &EncoderConfig) -> Option<Step> {
        let rate = encoder.rate?;
        let server = self.servers.add(&format!("encoder_{}", encoder.code), PartOfDrive::Encoder);
        let service = self.servers.service(Service::data(rate));
        Some(Step::new(Action::Serve { server, service }, Cause::EccWait))
    }
}
