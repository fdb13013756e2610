//! Members that cannot work are refused, with the field's name.

use crate::common::read;

#[test]
fn members_that_cannot_work_are_refused() {
    for (set, place, what) in [
        ("controller.firmware={ kind = \"cores\", count = 0 }", "controller.firmware.count", "expected 1..=1024"),
        ("controller.firmware={ kind = \"cores\", clock = \"1Hz\" }", "controller.firmware.clock", "1MHz to 10GHz"),
        (
            "controller.firmware={ kind = \"cores\", cycles = { decoed = 1 } }",
            "controller.firmware.cycles",
            "did you mean `decode`",
        ),
        ("controller.firmware=core", "controller.firmware", "expected one of ideal, cores"),
        ("controller.interconnect={ kind = \"ahb\", width_bits = 24 }", "controller.interconnect.width_bits", "power of two"),
        ("controller.interconnect={ kind = \"axi\", clock = \"10kHz\" }", "controller.interconnect.clock", "1MHz to 10GHz"),
        ("controller.interconnect={ kind = \"ocp\", burst_beats = 4 }", "controller.interconnect", "unknown field `burst_beats`"),
        ("controller.dma={ channels = 0, setup = \"1us\" }", "controller.dma.channels", "0: expected 1..=256"),
        ("controller.dma={ channels = 257, setup = \"1us\" }", "controller.dma.channels", "257: expected 1..=256"),
        ("controller.dma={ channels = 4 }", "controller.dma.setup", "missing"),
        ("controller.dma={ channels = 4, setup = 5 }", "controller.dma.setup", "5"),
        ("controller.dma={ channels = 4, setup = \"2ms\" }", "controller.dma.setup", "2ms: expected at most 1ms"),
        (
            "controller.dma={ channels = 4, setup = \"1us\", rate = \"1kB/s\" }",
            "controller.dma.rate",
            "1kB/s: expected at least 1MB/s",
        ),
        ("controller.dma={ channel = 4, setup = \"1us\" }", "controller.dma", "did you mean `channels`"),
        ("controller.dram={ kind = \"bandwidth\", rate = \"1kB/s\" }", "controller.dram.rate", "at least 1MB/s"),
        (
            "controller.dram={ kind = \"bandwidth\", size = \"16KiB\" }",
            "controller.dram.size",
            "for the map and the data buffers",
        ),
        ("controller.page_buffers={ count = 0 }", "controller.page_buffers.count", "expected 1..=65535"),
        ("controller.page_buffers={ buffers = 1 }", "controller.page_buffers", "unknown field `buffers`"),
        ("controller.page_buffers=4", "controller.page_buffers", "expected a table"),
        ("controller.sequencer={ order = \"random\" }", "controller.sequencer.order", "in_order"),
        ("controller.sequencer={ per_die = 1 }", "controller.sequencer", "order"),
        ("controller.sequencer={ order = \"reorder\" }", "controller.sequencer.window", "absent: expected 1..=4096"),
        ("controller.sequencer={ order = \"reorder\", window = 4097 }", "controller.sequencer.window", "expected 1..=4096"),
        ("controller.sequencer={ order = \"reorder\", window = 0 }", "controller.sequencer.window", "expected 1..=4096"),
        ("controller.sequencer={ order = \"in_order\", window = 8 }", "controller.sequencer.window", "\"reorder\" only"),
        (
            "controller.sequencer={ order = \"in_order\", age_limit = \"1ms\" }",
            "controller.sequencer.age_limit",
            "1ms: expected with order = \"reorder\" only",
        ),
        ("controller.sequencer={ order = \"in_order\", per_die = 0 }", "controller.sequencer.per_die", "expected 1..=65535"),
        ("ftl.read_in_flight=wait,controller.page_buffers={ count = 4 }", "ftl.read_in_flight", "`wait` cannot be served"),
        ("ftl.read_in_flight=wait,controller.dram=bandwidth", "ftl.read_in_flight", "`wait` cannot be served"),
    ] {
        let sets: Vec<&str> = if set.contains("read_in_flight") { set.split(',').collect() } else { vec![set] };
        let problems = read(&sets).expect_err(set).to_string();
        assert!(problems.contains(place) && problems.contains(what), "{set}: {problems}");
    }
}

/// A description that derives from a preset may name another member of a family: the preset's fields of the former do
/// not stay. Of the same member they do.
#[test]
fn another_member_replaces_that_of_the_base() {
    let base = "base = \"tlc-1tb\"\n[host]\ninterface = ";
    let queues = |interface: &str| {
        let text = format!("{base}{interface}");
        let description = drive::Description::read("d.toml", &text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        description.to_toml()
    };
    let nvme = queues("{ kind = \"nvme\", lanes = 8 }");
    assert!(nvme.contains("lanes = 8") && !nvme.contains("bandwidth"));
    let plain = queues("{ kind = \"plain\", queue_depth = 7 }");
    assert!(plain.contains("queue_depth = 7") && plain.contains("bandwidth"));
}
