//! Routes: the steps of each way through the controller, compiled once from the description. Steps that take no time
//! are not in them.

use crate::resource::{Server, Timed};
use crate::{ControllerConfig, EncoderConfig};
use kit::{Cause, Class, Hop, ModeId, Service};

/// The way of a command or of data through the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A command, with the data that it brings, to the device.
    Command,
    /// Data to be written, from the controller's memory to a die, which receives the code of this write mode.
    Written(ModeId),
    /// Data that has been read, from a channel to the controller's memory.
    Read,
    /// Data of a read, to the host.
    ToHost,
}

/// A step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The route ends.
    End,
    /// A server works on the data.
    Serve {
        /// Index of the server.
        server: u8,
        /// Index of the service.
        service: u8,
    },
    /// The decoders work on the data, which they have accepted. The instant of their end is known before.
    Decode,
    /// Nothing, for no time.
    Nothing,
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
    /// Steps up to this position are those of commands on their way to the device.
    command_ends: u32,
    command: Start,
    /// Routes of data to be written, by write mode.
    written: Vec<Start>,
    read: Start,
    to_host: Start,
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
    fn add(&mut self, name: &str, cause: Cause) -> u8 {
        self.all.push(Server::new(name, cause));
        index(self.all.len() - 1)
    }

    fn step(&mut self, server: u8, service: Service) -> Step {
        self.services.push(Timed::new(service));
        Step::Serve { server, service: index(self.services.len() - 1) }
    }
}

fn index(index: usize) -> u8 {
    u8::try_from(index).expect("a controller has fewer than 256 servers and services")
}

impl Routes {
    /// Compiles the routes of a validated description. Returns them with the servers on them, at rest.
    pub fn new(config: &ControllerConfig) -> (Routes, Servers) {
        let mut servers = Servers::default();
        let mut routes =
            Routes { steps: vec![Step::End], command_ends: 0, command: EMPTY, written: Vec::new(), read: EMPTY, to_host: EMPTY };
        let free = config.keeps_free_steps;
        let link = Link::new(config, &mut servers);
        let command = link.steps(&config.protocol.command, &mut servers);
        routes.command = routes.add(command, free);
        routes.command_ends = routes.steps.len() as u32;
        let to_host = link.steps(&config.protocol.deliver, &mut servers);
        routes.to_host = routes.add(to_host, free);
        let decodes = config.reads.as_ref().is_some_and(|reads| reads.decoders.is_some());
        routes.read = routes.add(if decodes { vec![Step::Decode] } else { Vec::new() }, free);
        let encoders: Vec<Option<Step>> = config.encoders.iter().map(|encoder| encoder_step(encoder, &mut servers)).collect();
        for &encoder in &config.encoder_of_mode {
            let step = encoder.and_then(|encoder| encoders[encoder]);
            let start = routes.add(step.into_iter().collect(), free && encoder.is_some());
            routes.written.push(start);
        }
        (routes, servers)
    }

    /// Adds a route and returns its start. With `free`, a route without steps has one that takes no time.
    fn add(&mut self, mut steps: Vec<Step>, free: bool) -> Start {
        if steps.is_empty() && free {
            steps.push(Step::Nothing);
        }
        if steps.is_empty() {
            return EMPTY;
        }
        let start = self.steps.len() as Start;
        self.steps.append(&mut steps);
        self.steps.push(Step::End);
        start
    }

    /// Returns the position of the first step of a way; `None` if it has none.
    #[inline]
    pub fn start(&self, way: Way) -> Option<u32> {
        let start = match way {
            Way::Command => self.command,
            Way::Written(mode) => self.written[mode.index()],
            Way::Read => self.read,
            Way::ToHost => self.to_host,
        };
        (start != EMPTY).then_some(start)
    }

    /// Returns the step at a position.
    #[inline]
    pub fn step(&self, at: u32) -> Step {
        self.steps[at as usize]
    }

    /// Returns the class of the event at the end of the step at a position. A command arrives together with those that
    /// the host submits at that instant.
    #[inline]
    pub fn class(&self, at: u32) -> Class {
        if at < self.command_ends { Class::Arrival } else { Class::Done }
    }
}

/// The servers of the two directions of the host link; the same one if they share the wire.
struct Link {
    to_device: u8,
    to_host: u8,
}

impl Link {
    /// Adds the servers of the link. Without a protocol there are none, and no step names them.
    fn new(config: &ControllerConfig, servers: &mut Servers) -> Link {
        if config.protocol == kit::Protocol::default() {
            return Link { to_device: 0, to_host: 0 };
        }
        if config.protocol.half_duplex {
            let wire = servers.add("link", Cause::Link);
            return Link { to_device: wire, to_host: wire };
        }
        Link { to_device: servers.add("link_to_device", Cause::Link), to_host: servers.add("link_to_host", Cause::Link) }
    }

    fn steps(&self, hops: &[Hop], servers: &mut Servers) -> Vec<Step> {
        let step = |hop: &Hop| match *hop {
            Hop::ToDevice(service) => servers.step(self.to_device, service),
            Hop::ToHost(service) => servers.step(self.to_host, service),
        };
        hops.iter().map(step).collect()
    }
}

/// Adds an encoder. Returns its step; `None` if it takes no time.
fn encoder_step(encoder: &EncoderConfig, servers: &mut Servers) -> Option<Step> {
    let rate = encoder.rate?;
    let server = servers.add(&format!("encoder_{}", encoder.code), Cause::EccWait);
    Some(servers.step(server, Service::data(rate)))
}
