//! Routes: the steps of each way through the controller, compiled once from the description. Steps that take no time
//! are not in them.

use crate::resource::{Server, Timed};
use crate::{ControllerConfig, EncoderConfig};
use kit::{Bytes, Cause, Class, Hop, ModeId, Nanos, Op, Service, SimTime};

/// The way of a command or of data through the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The announcement of a command, from the application to the device.
    Submit,
    /// A command, or several that are fetched together, to the device.
    Command(Op),
    /// The list of addresses of a command, to the device.
    List,
    /// Data of a write for which there is space, to the controller's memory: the first piece of its command.
    Take,
    /// Data of a write like [`Way::Take`]: a further piece.
    TakeMore,
    /// Data to be written, from the controller's memory to a die, which receives the code of this write mode.
    Written(ModeId),
    /// Data that has been read, from a channel to the controller's memory.
    Read,
    /// Data of a read, to the host.
    ToHost,
    /// The completion of a command, to the host.
    Complete(Op),
    /// An interrupt, for one completion or several.
    Interrupt,
    /// A completion that the host has noticed, to the application.
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
        server: u8,
        /// Index of the service.
        service: u8,
    },
    /// The first of several servers that is free works on the data.
    ServeFirst {
        /// Index of the first server.
        first: u8,
        /// Number of servers.
        count: u8,
        /// Index of the service.
        service: u8,
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
}

impl Step {
    /// Returns a step whose wait has the cause of its work.
    fn new(action: Action, cause: Cause) -> Step {
        Step { action, wait: cause, work: cause, class: Class::Done }
    }
}

/// Position of the first step of a route.
type Start = u32;

/// The start of every route without steps: the first step is an end.
const EMPTY: Start = 0;

/// The routes of a controller.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The steps of all routes, one route after another, each with its end.
    steps: Vec<Step>,
    starts: Starts,
    /// Routes of data to be written, by write mode.
    written: Vec<Start>,
}

/// Starts of the routes that every drive has.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    submit: Start,
    command: [Start; 4],
    list: Start,
    take: Start,
    take_more: Start,
    read: Start,
    to_host: Start,
    complete: [Start; 4],
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
}

impl Servers {
    fn add(&mut self, name: &str) -> u8 {
        self.all.push(Server::new(name));
        index(self.all.len() - 1)
    }

    /// Gives work on `data` to a server. Returns the instants at which it begins and is done.
    #[inline]
    pub fn serve(&mut self, server: u8, service: u8, data: Bytes, now: SimTime) -> (SimTime, SimTime) {
        let time = self.services[usize::from(service)].time(data);
        self.all[usize::from(server)].accept(time, now)
    }

    /// Returns the one of `count` servers that is free first.
    #[inline]
    pub fn first_free(&self, first: u8, count: u8) -> u8 {
        let free_at = |server: &u8| self.all[usize::from(*server)].free_at();
        (first..first + count).min_by_key(free_at).unwrap_or(first)
    }

    fn service(&mut self, service: Service) -> u8 {
        self.services.push(Timed::new(service));
        index(self.services.len() - 1)
    }
}

fn index(index: usize) -> u8 {
    u8::try_from(index).expect("a controller has fewer than 256 servers and services")
}

impl Routes {
    /// Compiles the routes of a validated description. Returns them with the servers on them, at rest.
    pub fn new(config: &ControllerConfig) -> (Routes, Servers) {
        let mut compiler = Compiler {
            routes: Routes { steps: vec![Step::new(Action::End, Cause::Order)], starts: Starts::default(), written: Vec::new() },
            servers: Servers::default(),
            keeps_free_steps: config.keeps_free_steps,
        };
        compiler.host_ways(config);
        let decodes = config.reads.as_ref().is_some_and(|reads| reads.decoders.is_some());
        let decode = Step { wait: Cause::EccWait, ..Step::new(Action::Decode, Cause::Decode) };
        compiler.routes.starts.read = compiler.add(decodes.then_some(decode).into_iter().collect());
        compiler.written(config);
        (compiler.routes, compiler.servers)
    }

    /// Returns the position of the first step of a way; `None` if it has none.
    #[inline]
    pub fn start(&self, way: Way) -> Option<u32> {
        let starts = &self.starts;
        let start = match way {
            Way::Submit => starts.submit,
            Way::Command(op) => starts.command[op as usize],
            Way::List => starts.list,
            Way::Take => starts.take,
            Way::TakeMore => starts.take_more,
            Way::Written(mode) => self.written[mode.index()],
            Way::Read => starts.read,
            Way::ToHost => starts.to_host,
            Way::Complete(op) => starts.complete[op as usize],
            Way::Interrupt => starts.interrupt,
            Way::Reap => starts.reap,
            Way::Acknowledge => starts.acknowledge,
        };
        (start != EMPTY).then_some(start)
    }

    /// Returns the step at a position.
    #[inline]
    pub fn step(&self, at: u32) -> &Step {
        &self.steps[at as usize]
    }
}

/// The host's side of the ways: the servers of the link and of the host's processor.
struct HostSide {
    to_device: u8,
    to_host: u8,
    first_core: u8,
    cores: u8,
    serial: u8,
}

/// Routes and servers that are being compiled.
struct Compiler {
    routes: Routes,
    servers: Servers,
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
        let start = self.routes.steps.len() as Start;
        self.routes.steps.append(&mut steps);
        self.routes.steps.push(Step::new(Action::End, Cause::Order));
        start
    }

    /// Adds the ways between application and device.
    fn host_ways(&mut self, config: &ControllerConfig) {
        let protocol = &config.protocol;
        let side = self.host_side(config);
        // On the way to the device and back, the host's memory is a part of the link.
        let (link, host) = (Cause::Link, Cause::Host);
        self.routes.starts.submit = self.way(&side, &protocol.submit, host);
        for op in Op::ALL {
            let mut steps = self.steps(&side, &protocol.command[op as usize], link);
            if let Some(last) = steps.last_mut() {
                last.class = Class::Arrival;
            }
            self.routes.starts.command[op as usize] = self.add(steps);
            self.routes.starts.complete[op as usize] = self.way(&side, &protocol.complete[op as usize], link);
        }
        self.routes.starts.list = self.way(&side, &protocol.list, link);
        self.routes.starts.take = self.way(&side, &protocol.take, link);
        self.routes.starts.take_more = self.way(&side, &protocol.take_more, link);
        self.routes.starts.to_host = self.way(&side, &protocol.deliver, link);
        self.routes.starts.interrupt = self.way(&side, &protocol.interrupt, host);
        self.routes.starts.reap = self.way(&side, &protocol.reap, host);
        self.routes.starts.acknowledge = self.way(&side, &protocol.acknowledge, link);
    }

    /// Adds the servers of the link and of the host's processor, as far as the protocol uses them.
    fn host_side(&mut self, config: &ControllerConfig) -> HostSide {
        let protocol = &config.protocol;
        let uses = |is_one: fn(&Hop) -> bool| protocol.lists().any(|hops| hops.iter().any(is_one));
        let mut side = HostSide { to_device: 0, to_host: 0, first_core: 0, cores: 0, serial: 0 };
        if uses(|hop| matches!(hop, Hop::ToDevice(_) | Hop::ToHost(_))) {
            let names = if protocol.half_duplex { ["link", "link"] } else { ["link_to_device", "link_to_host"] };
            side.to_device = self.servers.add(names[0]);
            side.to_host = if protocol.half_duplex { side.to_device } else { self.servers.add(names[1]) };
        }
        if uses(|hop| matches!(hop, Hop::HostCore(_))) {
            side.cores = index(protocol.host_cores as usize);
            side.first_core = index(self.servers.all.len());
            for core in 0..side.cores {
                self.servers.add(&format!("host_core_{core}"));
            }
        }
        if uses(|hop| matches!(hop, Hop::HostSerial(_))) {
            side.serial = self.servers.add("host_serial");
        }
        side
    }

    fn way(&mut self, side: &HostSide, hops: &[Hop], wait: Cause) -> Start {
        let steps = self.steps(side, hops, wait);
        self.add(steps)
    }

    /// Returns the steps of hops; time without a resource is charged to `wait`.
    fn steps(&mut self, side: &HostSide, hops: &[Hop], wait: Cause) -> Vec<Step> {
        let mut serve = |server: u8, service: Service| Action::Serve { server, service: self.servers.service(service) };
        let mut steps = Vec::with_capacity(hops.len());
        for hop in hops {
            steps.push(match *hop {
                Hop::ToDevice(service) => Step::new(serve(side.to_device, service), Cause::Link),
                Hop::ToHost(service) => Step::new(serve(side.to_host, service), Cause::Link),
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

    /// Adds the ways of data to be written, one for each write mode.
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
        let server = self.servers.add(&format!("encoder_{}", encoder.code));
        let service = self.servers.service(Service::data(rate));
        Some(Step::new(Action::Serve { server, service }, Cause::EccWait))
    }
}
