//! The routes through the device: the firmware's cores, the interconnect and the memories.

use super::{Action, By, Compiler, EMPTY, HostSide, Route, Routes, Selection, Step, index};
use crate::cards::{CardHop, Cards};
use crate::dma::DmaConfig;
use crate::dram::{AccessClass, AccessKind};
use crate::firmware::{Assignment, Cores, Order};
use crate::interconnect::{Choice, Fabric, Leg, Ports};
use crate::memory::Model;
use crate::memory::channels::MAP_ACCESS;
use crate::precedence::Precedence;
use crate::usage::PartOfDrive;
use crate::{ControllerConfig, MapPlace};
use kit::{Bytes, Cause, HostMemory, Nanos, Op, Rate, Service};

/// Steps in the device that belong to a route that begins or ends at the host.
#[derive(Default)]
pub(super) struct DeviceSide {
    /// Data of a write, from the host interface to the memory, with its allocation.
    pub take_in: Vec<Step>,
    /// Data of a read, from the memory to the host interface.
    pub to_host: Vec<Step>,
    /// The firmware's work for a completion.
    pub complete: Vec<Step>,
    /// Steps of the legs of the interconnect, in the order of [`Leg::ALL`].
    legs: [Vec<Step>; 4],
    cores: Option<CoreServers>,
    memory: MemorySteps,
    buffers: u16,
    cards: CardSteps,
}

/// Steps of physical commands; none without cards.
#[derive(Default)]
struct CardSteps {
    command: Vec<Step>,
    data_to_card: Vec<Step>,
    data_to_layer: Vec<Step>,
    completion: Vec<Step>,
    encode: Vec<Step>,
    decode: Vec<Step>,
}

/// The steps of an access to the memory.
#[derive(Clone, Copy, Default)]
enum MemorySteps {
    /// None: accesses take no time.
    #[default]
    None,
    /// The server of the first memory, its rate and latency.
    Served(u16, Rate, Nanos),
    /// The memory grants accesses.
    Granted,
}

/// The servers of the firmware's cores.
#[derive(Clone, Copy)]
struct CoreServers {
    first: u16,
    cores: Cores,
}

/// Kind of a task of the firmware.
#[derive(Clone, Copy)]
enum Task {
    /// Decoding or completion of a command.
    Command,
    LookUp,
    Allocate,
    Issue,
    Collect,
    /// Decoding of data by software, for cards without ECC.
    Decode,
    /// Encoding of data by software.
    Encode,
}

impl Compiler {
    /// Adds the servers of the device, and the steps that end or begin at the host interface.
    pub(super) fn device_side(&mut self, config: &ControllerConfig) -> DeviceSide {
        let buffers = config.buffers.max(1);
        let channels = config.channel_of.iter().max().map_or(1, |last| u32::from(*last) + 1);
        let mut side = DeviceSide { buffers: buffers as u16, ..DeviceSide::default() };
        if let Some(cores) = config.section.firmware.build(()).cores() {
            let first = self.servers.add_group((0..cores.count).map(|core| format!("core_{core}")), PartOfDrive::Cores);
            if cores.order == Order::BegunFirst {
                self.servers.lines.alternate(first..first + cores.count as u16);
            }
            side.cores = Some(CoreServers { first, cores });
        }
        let fabric = config.section.interconnect.build(()).fabric(Ports { buffers, channels });
        side.legs = self.legs(&fabric, side.buffers);
        if let Some(dma) = &config.section.dma {
            let dma = self.dma(dma);
            side.legs.iter_mut().for_each(|leg| leg.splice(..0, dma).for_each(drop));
        }
        side.memory = match config.section.dram.build(()).model() {
            Model::Ideal => MemorySteps::None,
            Model::Ddr(_) => MemorySteps::Granted,
            Model::Bandwidth { rate, latency } => {
                let name = |buffer: u32| if buffers == 1 { "dram".to_owned() } else { format!("dram_{buffer}") };
                let first = self.servers.add_group((0..buffers).map(name), PartOfDrive::Memory);
                MemorySteps::Served(first, rate, latency)
            }
        };
        if let Some(cards) = &config.section.cards {
            side.cards = self.cards(&side, cards, channels);
        }
        let per_unit = |cycles: u32| Work { fixed: 0, per_unit: cycles };
        let allocate = side.cores.map_or(0, |cores| cores.cores.cycles.allocate);
        side.take_in = [side.leg(Leg::HostToMemory), self.data(&side, AccessKind::Write)].concat();
        side.take_in.extend(self.task(&side, Task::Allocate, per_unit(allocate)));
        side.to_host = [self.data(&side, AccessKind::Read), side.leg(Leg::MemoryToHost)].concat();
        let complete = side.cores.map_or(0, |cores| cores.cores.cycles.complete);
        side.complete = self.task(&side, Task::Command, Work { fixed: complete, per_unit: 0 });
        side
    }

    /// Adds the routes that begin and end in the device.
    pub(super) fn device_routes(&mut self, host: &HostSide, side: &DeviceSide, config: &ControllerConfig) {
        // Without cores, tasks have no steps whatever their cycles.
        let cycles = side.cores.map(|cores| cores.cores.cycles).unwrap_or_default();
        for op in Op::ALL {
            let mut steps = self.task(side, Task::Command, Work { fixed: cycles.decode, per_unit: 0 });
            match op {
                Op::Read | Op::Trim => {
                    let look_up = self.task(side, Task::LookUp, Work { fixed: 0, per_unit: cycles.look_up });
                    self.follow(&mut steps, look_up, side, (cycles.decode, cycles.look_up));
                    steps.extend(self.map_access(host, side, config, AccessKind::Read));
                }
                Op::Write | Op::Append => {
                    if config.protocol.data_comes_with_command() {
                        steps.extend(side.take_in.clone());
                    }
                    // A write needs the old entry, too, which may have to be read first.
                    if config.map != MapPlace::Memory {
                        steps.extend(self.map_access(host, side, config, AccessKind::Read));
                    }
                }
                Op::Flush | Op::Zone => {}
            }
            // The first task of a command; data that came with it may pass the interconnect before.
            if let Some(first) =
                steps.iter_mut().find(|step| step.work == Cause::Firmware && step.precedence == Precedence::First)
            {
                first.precedence = Precedence::Yields;
            }
            self.routes.starts.admit[op as usize] = self.add(steps);
        }
        let issue = self.task(side, Task::Issue, Work { fixed: cycles.issue, per_unit: 0 });
        let cards = &side.cards;
        self.routes.starts.issue = self.add([issue.clone(), cards.command.clone()].concat());
        self.routes.starts.to_die = self.add_unless_empty(cards.command.clone());
        self.routes.starts.done = self.add_unless_empty(cards.completion.clone());
        let to_card = [cards.encode.clone(), cards.command.clone(), cards.data_to_card.clone()].concat();
        let update = self.map_access(host, side, config, AccessKind::Write);
        let out =
            [issue.clone(), update, self.data(side, AccessKind::Read), side.leg(Leg::MemoryToChannel), to_card.clone()].concat();
        self.routes.starts.out = self.add(out);
        let pages = self.map_pages(host, side, config, AccessKind::Read);
        self.routes.starts.map_out = self.add([issue, pages, side.leg(Leg::MemoryToChannel), to_card].concat());
        let decodes = config.reads.as_ref().is_some_and(|reads| reads.decoders.is_some());
        let decode = Step { wait: Cause::EccWait, ..Step::new(Action::Decode, Cause::Decode) };
        let decode: Vec<Step> = decodes.then_some(decode).into_iter().collect();
        let decode = [decode, cards.data_to_layer.clone(), cards.decode.clone()].concat();
        let page = self.map_pages(host, side, config, AccessKind::Write);
        let map_in = [decode.clone(), side.leg(Leg::ChannelToMemory), page].concat();
        let read = [decode, side.leg(Leg::ChannelToMemory), self.data(side, AccessKind::Write)].concat();
        let collect = self.task(side, Task::Collect, Work { fixed: 0, per_unit: cycles.collect });
        let receive = self.task(side, Task::Collect, Work { fixed: 0, per_unit: cycles.receive });
        self.routes.starts.read = self.add([read.clone(), receive].concat());
        self.routes.starts.gather = self.add([read, collect].concat());
        // A drive with the whole map in memory reads no page of it.
        self.routes.starts.map_in = if config.map == MapPlace::Memory { EMPTY } else { self.add(map_in) };
    }

    /// Adds the links and processors of cards. Returns the steps over them.
    fn cards(&mut self, side: &DeviceSide, cards: &Cards, channels: u32) -> CardSteps {
        let mut group =
            |name: &str| self.servers.add_group((0..cards.count).map(|card| format!("card_{name}_{card}")), PartOfDrive::Card);
        let firsts = [group("in"), group("out"), group("processor")];
        let by = By::ChannelGroup((channels / cards.count) as u16);
        let mut steps = |hops: Vec<CardHop>| -> Vec<Step> {
            let mut serve = |first: u16, service: Service| {
                let service = self.servers.service(service);
                Step::new(self.serve_at(Selection { first, by }, service), Cause::Card)
            };
            let step = |hop: CardHop| match hop {
                CardHop::ToCard(service) => serve(firsts[0], service),
                CardHop::ToLayer(service) => serve(firsts[1], service),
                CardHop::Processor(service) => serve(firsts[2], service),
                CardHop::Wait(time) => Step::new(Action::Wait(time), Cause::Card),
            };
            hops.into_iter().map(step).collect()
        };
        let [command, data_to_card] = [steps(cards.command()), steps(cards.data_to_card())];
        let [data_to_layer, completion] = [steps(cards.data_to_layer()), steps(cards.completion())];
        let decode = self.task(side, Task::Decode, Work { fixed: 0, per_unit: cards.decode_cycles });
        CardSteps {
            command,
            data_to_card,
            data_to_layer,
            completion,
            encode: self.task(side, Task::Encode, Work { fixed: 0, per_unit: cards.encode_cycles }),
            decode: decode.into_iter().map(|step| Step { work: Cause::Decode, ..step }).collect(),
        }
    }

    /// Adds a route, but for one without steps also where free steps are kept: only cards have such routes.
    fn add_unless_empty(&mut self, steps: Vec<Step>) -> u32 {
        if steps.is_empty() { EMPTY } else { self.add(steps) }
    }

    /// Appends the look-up to the decoding of a command. Where both take the same core, they are one piece of work.
    fn follow(&mut self, steps: &mut Vec<Step>, look_up: Vec<Step>, side: &DeviceSide, (decode, per_unit): (u32, u32)) {
        let shares_core =
            side.cores.is_some_and(|cores| cores.cores.assignment != Assignment::ByTask || cores.cores.clusters == 1);
        if shares_core && decode > 0 && per_unit > 0 {
            *steps = self.task(side, Task::Command, Work { fixed: decode, per_unit });
        } else {
            steps.extend(look_up);
        }
    }

    /// Returns the steps of each leg of the interconnect.
    fn legs(&mut self, fabric: &Fabric, buffers: u16) -> [Vec<Step>; 4] {
        let mut firsts = Vec::with_capacity(fabric.groups.len());
        for group in &fabric.groups {
            firsts.push((self.servers.add_group(&group.names, PartOfDrive::Interconnect), group.names.len() as u16));
        }
        Leg::ALL.map(|leg| {
            let holds = &fabric.legs[leg as usize];
            let is_followed = |at: usize| holds.get(at + 1).is_some_and(|next| next.choice == Choice::Free);
            let has_order = holds.iter().enumerate().all(|(at, hold)| hold.lead.is_none() || is_followed(at));
            assert!(has_order, "data that goes on before its service is done takes the first free server of another group");
            let step = |compiler: &mut Compiler, hold: &crate::interconnect::Hold| {
                assert!(hold.lead.is_none() || hold.choice == Choice::ONLY, "only one server, known beforehand, has a lead");
                let (first, count) = firsts[hold.group];
                let service = compiler.servers.service(hold.service);
                let lead = hold.lead.map(|lead| compiler.servers.service(lead));
                let action = match hold.choice {
                    Choice::Free => Action::ServeFirst { first, count, service },
                    Choice::At { first: at, by_channel: 0, by_buffer: 0 } => {
                        let server = first + at as u16;
                        lead.map_or(Action::Serve { server, service }, |lead| Action::Lead { server, service, lead })
                    }
                    Choice::At { first: at, by_channel, by_buffer } => {
                        let by = By::Port { channel: by_channel as u16, buffer: by_buffer as u16, buffers };
                        compiler.serve_at(Selection { first: first + at as u16, by }, service)
                    }
                };
                Step { wait: Cause::InterconnectWait, ..Step::new(action, Cause::Interconnect) }
            };
            holds.iter().map(|hold| step(self, hold)).collect()
        })
    }

    /// Adds the channels of the DMA controller. Returns the step that takes one of them, before each leg of the
    /// interconnect; `None` if it takes no time.
    fn dma(&mut self, dma: &DmaConfig) -> Option<Step> {
        let service = dma.service();
        if service.is_free() && !self.keeps_free_steps {
            return None;
        }
        let service = self.servers.service(service);
        let first = self.servers.add_group(dma.names(), PartOfDrive::Dma);
        let action = match dma.channels {
            1 => Action::Serve { server: first, service },
            count => Action::ServeFirst { first, count: count as u16, service },
        };
        Some(Step { wait: Cause::InterconnectWait, ..Step::new(action, Cause::Interconnect) })
    }

    fn select(&mut self, selection: Selection) -> u8 {
        self.routes.selections.push(selection);
        index(self.routes.selections.len() - 1)
    }

    fn serve_at(&mut self, selection: Selection, service: u8) -> Action {
        Action::ServeAt { selection: self.select(selection), service }
    }

    /// Returns the steps of an access of data to the memory.
    fn data(&mut self, side: &DeviceSide, kind: AccessKind) -> Vec<Step> {
        self.access(side, (kind, AccessClass::Data), Service::data)
    }

    /// Returns the steps of an access to entries of the map.
    fn map_access(&mut self, host: &HostSide, side: &DeviceSide, config: &ControllerConfig, kind: AccessKind) -> Vec<Step> {
        let service = |rate: Rate| Service { amount: MAP_ACCESS.0, rate, ..Service::default() };
        match config.map {
            MapPlace::Memory | MapPlace::CachedInMemory => self.access(side, (kind, AccessClass::Map), service),
            MapPlace::CachedOnChip => Vec::new(),
            MapPlace::CachedInHost => {
                let memory = host_memory(config);
                let hops = if kind == AccessKind::Read { &memory.read_entry } else { &memory.write_entry };
                self.steps(host, hops, Cause::Link)
            }
        }
    }

    /// Returns the steps of an access to whole pages of the map.
    fn map_pages(&mut self, host: &HostSide, side: &DeviceSide, config: &ControllerConfig, kind: AccessKind) -> Vec<Step> {
        match config.map {
            MapPlace::Memory | MapPlace::CachedOnChip => Vec::new(),
            MapPlace::CachedInMemory => self.data(side, kind),
            MapPlace::CachedInHost => {
                let memory = host_memory(config);
                let hops = if kind == AccessKind::Read { &memory.read_page } else { &memory.write_page };
                self.steps(host, hops, Cause::Link)
            }
        }
    }

    fn access(
        &mut self,
        side: &DeviceSide,
        (kind, class): (AccessKind, AccessClass),
        service: impl Fn(Rate) -> Service,
    ) -> Vec<Step> {
        let step = |action: Action| Step { wait: Cause::DramWait, ..Step::new(action, Cause::Dram) };
        let (first, rate, latency) = match side.memory {
            MemorySteps::None => return Vec::new(),
            MemorySteps::Granted => return vec![step(Action::Access { kind, class })],
            MemorySteps::Served(first, rate, latency) => (first, rate, latency),
        };
        let service = self.servers.service(service(rate));
        let by = By::Port { channel: 0, buffer: 1, buffers: side.buffers };
        let action = match side.buffers {
            1 => Action::Serve { server: first, service },
            _ => self.serve_at(Selection { first, by }, service),
        };
        let mut steps = vec![step(action)];
        if latency > Nanos::ZERO {
            steps.push(Step::new(Action::Wait(latency), Cause::Dram));
        }
        steps
    }

    /// Returns the step of a task of the firmware; none if it takes no time.
    fn task(&mut self, side: &DeviceSide, task: Task, work: Work) -> Vec<Step> {
        let Some(CoreServers { first, cores }) = side.cores.filter(|_| work.fixed > 0 || work.per_unit > 0) else {
            return Vec::new();
        };
        let service = self.servers.service(Service {
            amount: work.fixed.into(),
            packet: self.unit.bytes(),
            per_packet: work.per_unit.into(),
            rate: Rate(cores.clock.0),
            ..Service::default()
        });
        let clusters = cores.clusters as u16;
        let of_cluster = (cores.count / cores.clusters) as u16;
        let of_command = matches!(task, Task::Command | Task::LookUp | Task::Allocate);
        let precedence = if cores.order == Order::Arrival { Precedence::InOrder } else { Precedence::First };
        let step = |action: Action| vec![Step { wait: Cause::CoreWait, precedence, ..Step::new(action, Cause::Firmware) }];
        let by = match cores.assignment {
            Assignment::Shared => return step(Action::ServeFirst { first, count: cores.count as u16, service }),
            Assignment::ByTask => {
                let first = first + task as u16 % clusters * of_cluster;
                return step(Action::ServeFirst { first, count: of_cluster, service });
            }
            Assignment::ByQueue if of_command => By::Queue(clusters),
            Assignment::ByChannel if of_command => By::Unit(clusters),
            Assignment::ByChannel | Assignment::ByQueue => By::Channel(clusters),
        };
        let selection = self.select(Selection { first, by });
        let action = match of_cluster {
            1 => Action::ServeAt { selection, service },
            count => Action::ServeFirstAt { selection, count, service },
        };
        step(action)
    }
}

/// Returns the accesses to the buffer in host memory that holds the map.
fn host_memory(config: &ControllerConfig) -> &HostMemory {
    config.protocol.host_memory.as_ref().expect("validated: the interface has a host memory buffer")
}

/// Cycles of a task.
#[derive(Clone, Copy)]
struct Work {
    fixed: u32,
    per_unit: u32,
}

impl ControllerConfig {
    /// Returns the time that the controller adds to the relocation of one program of `data` on each of `dies` dies: on
    /// its way to the memory and back or, if that is longer, on the resource that all dies wait for.
    pub fn time_to_relocate(&self, data: Bytes, dies: u32) -> Nanos {
        let (alone, busiest) = self.relocation(data);
        alone.max(busiest * u64::from(dies))
    }

    /// Returns the time that the relocation of one program of `data` on each of `dies` dies takes if page buffers are
    /// all that it waits for; zero if there are always enough. `on_flash` is the time for which the data of one
    /// occupies buffers beside its way through the controller.
    pub fn time_in_page_buffers(&self, data: Bytes, dies: u32, on_flash: Nanos) -> Nanos {
        let Some(buffers) = &self.section.page_buffers else { return Nanos::ZERO };
        let channels = self.channel_of.iter().max().map_or(1, |last| u32::from(*last) + 1);
        let (alone, _) = self.relocation(data);
        Nanos(((alone + on_flash) * u64::from(dies.div_ceil(channels))).0 / u64::from(buffers.count))
    }

    /// Returns the time of the relocation of one program of `data` on its way to the memory and back, and on the
    /// resource that it occupies for longest.
    pub fn relocation(&self, data: Bytes) -> (Nanos, Nanos) {
        let parts = ControllerConfig {
            section: self.section.clone(),
            buffers: self.buffers,
            channel_of: self.channel_of.clone(),
            ..ControllerConfig::default()
        };
        let (routes, mut servers) = Routes::new(&parts);
        let (mut alone, mut on_memory, mut busy) = (Nanos::ZERO, 0, vec![0; servers.all.len()]);
        let ddr_rate = match self.section.dram.build(()).model() {
            Model::Ddr(params) => params.peak(),
            Model::Ideal | Model::Bandwidth { .. } => Rate(0),
        };
        for route in [Route::Gather, Route::Out] {
            let steps = routes.start(route).into_iter().flat_map(|start| routes.steps[start as usize..].iter());
            for step in steps.take_while(|step| step.action != Action::End) {
                let (server, service, count) = match step.action {
                    Action::Serve { server, service } => (server, service, 1),
                    Action::Lead { server, service, lead } => {
                        alone += servers.services[usize::from(lead)].time(data);
                        busy[usize::from(server)] += servers.services[usize::from(service)].time(data).0;
                        continue;
                    }
                    Action::ServeFirst { first, count, service } => (first, service, count),
                    // The work is spread over servers, of which the first stands for all.
                    Action::ServeAt { selection, service } => (routes.selections[usize::from(selection)].first, service, 1),
                    Action::ServeFirstAt { selection, count, service } => {
                        (routes.selections[usize::from(selection)].first, service, count)
                    }
                    Action::Wait(time) => {
                        alone += time;
                        continue;
                    }
                    Action::Access { .. } => {
                        // Half of the peak rate, for rows and turnarounds; all dies share the memory.
                        let time = ddr_rate.time_for(data) * 2;
                        alone += time;
                        on_memory = u64::saturating_add(on_memory, time.0);
                        continue;
                    }
                    _ => continue,
                };
                let time = servers.services[usize::from(service)].time(data);
                alone += time;
                let busy = &mut busy[usize::from(server)];
                *busy = u64::saturating_add(*busy, time.0 / u64::from(count.max(1)));
            }
        }
        (alone, Nanos(busy.into_iter().fold(on_memory / u64::from(self.buffers.max(1)), u64::max)))
    }
}

impl DeviceSide {
    fn leg(&self, leg: Leg) -> Vec<Step> {
        self.legs[leg as usize].clone()
    }
}
