//! Cards of flash without a translation layer: the link and the processor of a card between the translation layer,
//! which runs elsewhere, and the dies.

use kit::pcie::{COMPLETION, PACKET, Pcie};
use kit::{Bytes, Nanos, Problems, Rate, Service, UNIT_BYTES, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cards of flash without memory, translation layer and, if `raw_unit` says so, without ECC (SSDExplorer thesis,
/// section 4.2: "open channel"). The translation layer, the map and the write buffer are those of the rest of the
/// description, and run outside: on the host, if `host.interface` takes no time, or on an accelerator, to which
/// commands come through the host interface. `controller.firmware` and `controller.dram` are its cores and its memory.
/// Each flash operation becomes a physical command, which crosses the link of its card.
///
/// A physical command costs a doorbell write, a read of its submission queue entry (64 B, and 8 B for each address),
/// the work of the card's processor, its data, a completion queue entry (16 B) and an interrupt message (4 B). The end
/// of a program or an erase is known at once: its completion occupies the link, and nothing waits for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cards {
    /// Number of cards, a divisor of the channels: each has as many neighbouring channels.
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// Generation of PCI Express of each link: 2.5, 5, 8, 16 or 32 GT/s on each lane.
    #[schemars(range(min = 1, max = 5))]
    pub generation: u32,
    /// Number of lanes of each link: 1, 2, 4, 8 or 16.
    #[schemars(range(min = 1, max = 16))]
    pub lanes: u32,
    /// Largest payload of a packet, and largest data of a request of the card.
    pub max_payload: Bytes,
    /// Share of the link for packets of the data link layer.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub link_layer_share: f64,
    /// Time from the end of a card's request to the beginning of its data: memory and the way there.
    pub memory_time: Nanos,
    /// Bytes that cross the link for 4 KiB of data: with the parity, where the card has no ECC (4320 B for 4 KiB, for
    /// example); without it, 4 KiB.
    pub raw_unit: Bytes,
    /// Work of the card's processor for a physical command; one command at a time.
    pub command_time: Nanos,
    /// Cycles of a core for decoding 4 KiB of data, where that is done by software. Each further attempt at a read
    /// costs them again.
    pub decode_cycles: u32,
    /// Cycles of a core for encoding 4 KiB of data.
    pub encode_cycles: u32,
}

impl Default for Cards {
    fn default() -> Self {
        Cards {
            count: 1,
            generation: 3,
            lanes: 4,
            max_payload: Bytes(256),
            link_layer_share: 0.02,
            memory_time: Nanos(500),
            raw_unit: Bytes(UNIT_BYTES),
            command_time: Nanos(1000),
            decode_cycles: 0,
            encode_cycles: 0,
        }
    }
}

/// A piece of the route of a physical command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CardHop {
    /// From the translation layer to the card.
    ToCard(Service),
    /// From the card to the translation layer.
    ToLayer(Service),
    /// Time without a resource.
    Wait(Nanos),
    /// The card's processor.
    Processor(Service),
}

impl Cards {
    /// Returns true if parity crosses the link: the cards have no ECC.
    pub fn is_raw(&self) -> bool {
        self.raw_unit.0 > UNIT_BYTES
    }

    fn link(&self) -> Pcie {
        let Cards { generation, lanes, max_payload, link_layer_share, .. } = *self;
        Pcie { generation, lanes, max_payload, link_layer_share }
    }

    /// Returns the transfer of raw data in packets with this overhead, and `more` bytes after it.
    fn raw(&self, overhead: u64, more: u64) -> Service {
        let of_unit = self.raw_unit.0 + self.raw_unit.0.div_ceil(self.max_payload.0) * overhead;
        Service { amount: more, packet: UNIT_BYTES, per_packet: of_unit, rate: self.link().rate(), ..Service::default() }
    }

    /// Returns the route of a command to the processor of its card.
    pub(crate) fn command(&self) -> Vec<CardHop> {
        let (link, rate) = (self.link(), self.link().rate());
        let entry = Service { amount: COMPLETION + 64, packet: UNIT_BYTES, per_packet: 8, rate, ..Service::default() };
        vec![
            CardHop::ToCard(link.message(4)),
            CardHop::ToLayer(link.message(0)),
            CardHop::Wait(self.memory_time),
            CardHop::ToCard(entry),
            CardHop::Processor(Service::fixed(self.command_time)),
        ]
    }

    /// Returns the route of the data of a program, which follows its command.
    pub(crate) fn data_to_card(&self) -> Vec<CardHop> {
        let requests = self.raw_unit.0.div_ceil(self.max_payload.0) * PACKET;
        let request = Service { packet: UNIT_BYTES, per_packet: requests, rate: self.link().rate(), ..Service::default() };
        vec![CardHop::ToLayer(request), CardHop::Wait(self.memory_time), CardHop::ToCard(self.raw(COMPLETION, 0))]
    }

    /// Returns the route of the data of a read, with its completion and interrupt.
    pub(crate) fn data_to_layer(&self) -> Vec<CardHop> {
        vec![CardHop::ToLayer(self.raw(PACKET, 2 * PACKET + 16 + 4))]
    }

    /// Returns the completion and the interrupt of a program or an erase.
    pub(crate) fn completion(&self) -> Vec<CardHop> {
        vec![CardHop::ToLayer(Service { amount: 2 * PACKET + 16 + 4, rate: self.link().rate(), ..Service::default() })]
    }

    /// Returns the rates in words for drawings, in lines.
    pub fn in_words(&self) -> Vec<String> {
        let Cards { generation, lanes, command_time, raw_unit, .. } = self;
        let rate = Rate(self.link().rate().0);
        vec![
            format!("PCIe {generation}.0 x{lanes} each, {} each direction", words::rate(rate)),
            format!("{} for 4 KiB of data", words::size(*raw_unit)),
            format!("{} for a command", words::time(*command_time)),
        ]
    }

    /// Adds the inconsistencies of the section to `problems`.
    pub fn problems(&self, channels: u32, has_cores: bool, problems: &mut Problems) {
        let mut expect = |holds: bool, field: &str, complaint: String| {
            if !holds {
                problems.add(format!("controller.cards.{field}"), complaint);
            }
        };
        let divides = self.count > 0 && channels.is_multiple_of(self.count);
        expect(divides, "count", format!("{}: expected a divisor of the {channels} channels", self.count));
        expect(self.lanes.is_power_of_two(), "lanes", format!("{}: expected 1, 2, 4, 8 or 16", self.lanes));
        let is_size = self.max_payload.0.is_power_of_two() && (128..=4096).contains(&self.max_payload.0);
        expect(is_size, "max_payload", format!("{}: expected a power of two from 128B to 4096B", self.max_payload));
        let holds = (UNIT_BYTES..=2 * UNIT_BYTES).contains(&self.raw_unit.0);
        expect(holds, "raw_unit", format!("{}: expected 4096B to 8192B for 4 KiB of data", self.raw_unit));
        for (field, cycles) in [("decode_cycles", self.decode_cycles), ("encode_cycles", self.encode_cycles)] {
            expect(
                cycles == 0 || has_cores,
                field,
                format!("{cycles}: the firmware has no cores; expected controller.firmware = {{ kind = \"cores\" }}, or 0"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times on PCIe 3.0 x4 with packets of 256 B, written out: 32 GT/s in 130 bits for 128, less 2 %.
    #[test]
    fn a_physical_command_costs_its_packets() {
        let cards = Cards { raw_unit: Bytes(4320), ..Cards::default() };
        let rate = 32_000_000_000.0 * 16.0 / 130.0 * 0.98;
        let time = |bytes: f64| (bytes / rate * 1e9).ceil() as u64;
        let of = |hop: CardHop, data: u64| match hop {
            CardHop::ToCard(service) | CardHop::ToLayer(service) | CardHop::Processor(service) => service.time(Bytes(data)).0,
            CardHop::Wait(time) => time.0,
        };
        let sums = |hops: Vec<CardHop>, data: u64| hops.into_iter().map(|hop| of(hop, data)).collect::<Vec<_>>();
        assert_eq!(sums(cards.command(), 4096), [time(28.0), time(24.0), 500, time(92.0), 1000]);
        assert_eq!(sums(cards.command(), 4 * 4096), [time(28.0), time(24.0), 500, time(116.0), 1000]);
        // 4,320 B are seventeen packets.
        let data = 4320.0 + 17.0 * 24.0;
        assert_eq!(sums(cards.data_to_layer(), 4096), [time(data + 68.0)]);
        assert_eq!(sums(cards.data_to_layer(), 2 * 4096), [time(2.0 * data + 68.0)]);
        assert_eq!(sums(cards.data_to_card(), 4096), [time(17.0 * 24.0), 500, time(4320.0 + 17.0 * 20.0)]);
        assert_eq!(sums(cards.completion(), 0), [time(68.0)]);
    }

    #[test]
    fn impossible_cards_are_refused() {
        let problems = |cards: Cards| {
            let mut problems = Problems::default();
            cards.problems(8, false, &mut problems);
            problems.to_string()
        };
        assert_eq!(problems(Cards::default()), "");
        for (cards, field) in [
            (Cards { count: 3, ..Cards::default() }, "controller.cards.count"),
            (Cards { lanes: 3, ..Cards::default() }, "controller.cards.lanes"),
            (Cards { max_payload: Bytes(300), ..Cards::default() }, "controller.cards.max_payload"),
            (Cards { raw_unit: Bytes(4095), ..Cards::default() }, "controller.cards.raw_unit"),
            (Cards { decode_cycles: 9, ..Cards::default() }, "controller.cards.decode_cycles"),
        ] {
            assert!(problems(cards).starts_with(field), "{field}");
        }
    }
}
