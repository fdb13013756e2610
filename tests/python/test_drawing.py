"""The diagram of a drive: on a terminal, as SVG, and in the report."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

import ssdlab
from ssdlab.drawing.layout import Layout, arrange
from ssdlab.drawing.svg import colour, svg
from ssdlab.drawing.terminal import WIDTH, draw, plain
from ssdlab.report import bottleneck

#: A drive with everything that a description can have.
DETAILED = """
base = "tiny"
title = "tiny with a detailed controller"
[host]
interface = { kind = "nvme", queues = 4 }
cpu = { cores = 4, submission = "3500ns", serial = "1us", completion = "1500ns" }
[controller]
firmware = { kind = "cores", count = 2 }
interconnect = "multi_layer_ahb"
dram = { kind = "ddr", size = "64MiB", width_bits = 16 }
target_queues = { threshold = 6 }
sequencer = { order = "reorder", window = 16, age_limit = "1ms" }
page_buffers = { count = 2 }
[buffer]
policy = "write_back"
capacity = "1MiB"
flush_after = "1ms"
buffers = 2
read_cache = "1MiB"
read_ahead = "64KiB"
[ftl]
gc_critical_blocks = 3
map_cache = { size = "32KiB" }
[flash]
code = { kind = "bch", data = "1KiB", t = 40 }
encoder = [{ code = "bch", throughput = "1200MB/s" }]
write_mode = [{ name = "normal", code = "bch" }, { name = "fast", program_scale = 0.5 }]
[ecc]
errors = { kind = "constant", rates = [1e-4] }
decoder = { kind = "engines", decoders = 2 }
"""


def diagram_of(text: str) -> dict:
    return ssdlab.diagram(ssdlab.Drive.from_text(text))


@pytest.fixture(scope="module")
def diagrams() -> list[dict]:
    """The diagrams of all presets, and of a drive with everything."""
    return [*(ssdlab.diagram(preset.name) for preset in ssdlab.presets()), diagram_of(DETAILED)]


@pytest.fixture(scope="module")
def detailed() -> ssdlab.Result:
    job = "[job]\nrw=randrw\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=3000\n"
    drive = ssdlab.Drive.from_text(DETAILED)
    return ssdlab.run(drive, ssdlab.Workload.from_text(job), precondition="fill")


def test_a_drive_is_drawn_part_by_part():
    drawn = draw(ssdlab.diagram("tiny", set={"host.interface": "plain", "buffer.read_cache": "1MiB"}))
    expected = """\
tiny: 4 dies, 107 MiB, for tests

                               ┌─ submission queues: round robin ───────────┐
   ─ host processor: ideal ────┤ 1 queue of 1024 commands                   │
                               └─────────────────────┬──────────────────────┘
                                                     │ commands
   ┌─ host link: plain ──────────────────────────────┴──────────────────────┐
   │ 7 GB/s, each direction                                                 ├──┐
   │ 500 ns for each command                                                │  │
   └───────────────────────────────────┬────────────────────────────────────┘  │
                                       │ commands                         data │
┌──────────┬──────────────────── firmware: ideal ────────────────────────────  │
│          │ map                                                               │
│          │           ┌─ read cache: lru ──────────────────────────────────┐  │
│  ─ memory: ideal ────┤ 1 MiB                                              │  │
│          │           └────────────────────────────────────────────────────┘  │
│          │ data                                                              │
│  ────────┴────────┬───────── interconnect: ideal ───────┬────────────────────┘
│ flash operations  │ data written                        │ data read
│  ───────── encoders: ideal ─────────   ────────── decoders: ideal ─────────
│                   └─────────────────────────────────┐         │ data read
└─── sequencer: ideal ───── target queues: ideal ─   ─┴ page buffers: ideal ─
                                     │ flash operations         │ data
   ┌─ flash channels: nv ddr3 ───────┴──────────────────────────┴───────────┐
   │ 2 channels, 1200 MT/s                                                  │
   │ 2 chips on each, scheduler read_first                                  │
   └───────────────────────────────────┬────────────────────────────────────┘
                                       │ flash operations, data
   ┌─ dies: slc ───────────────────────┴────────────────────────────────────┐
   │ 4 dies, tR 50 us, tPROG 600 us                                         │
   │ tBERS 3 ms, 1 plane, pages of 4 KiB                                    │
   └────────────────────────────────────────────────────────────────────────┘

without write buffer, mapping cache
"""
    assert drawn == expected


def test_every_part_and_word_is_drawn_within_the_width(diagrams):
    for diagram in diagrams:
        drawn = draw(diagram)
        assert max(map(len, drawn.splitlines())) <= WIDTH
        words = re.sub(r"[│├┤]", " ", drawn).split()
        for node in diagram["nodes"]:
            assert node["name"] in drawn
            for word in " ".join(node["lines"]).split():
                assert word in words, f"{diagram['drive']}: {word}"
        # Labels of flows that pass other parts stand once.
        for carries in ("map", "flash operations", "data read"):
            assert carries in drawn


def overlaps(layout: Layout) -> list[str]:
    """Returns the boxes that share a cell or leave the grid, and the lines that pass through a box."""
    found = []
    cells = {
        box.node["id"]: {(x, y) for x in range(box.x, box.x + box.width) for y in range(box.y, box.last + 1)}
        for box in layout.boxes
    }
    for (one, ours), (other, theirs) in combinations(cells.items(), 2):
        found += [f"{one} and {other}"] if ours & theirs else []
    for name, ours in cells.items():
        found += [] if all(0 <= x < layout.width and 0 <= y < layout.height for x, y in ours) else [f"{name} is outside"]
    for flow in layout.flows:
        passed = set()
        for (x, y), (to_x, to_y) in pairwise(flow.points):
            assert x == to_x or y == to_y, flow
            columns, rows = sorted((x, to_x)), sorted((y, to_y))
            passed |= {(a, b) for a in range(columns[0], columns[1] + 1) for b in range(rows[0], rows[1] + 1)}
        ends = {flow.points[0], flow.points[-1]}
        found += [f"{flow.text} through {name}" for name, ours in cells.items() if (passed - ends) & ours]
        assert all(any(end in ours for ours in cells.values()) for end in ends), flow
    return found


def test_nothing_overlaps(diagrams):
    for diagram in diagrams:
        for width in (WIDTH, 120):
            layout = arrange(diagram, width, lambda node: len(node["utilisation"]) % 3)
            assert overlaps(layout) == [], diagram["drive"]
            absent = [node["name"] for node in diagram["nodes"] if node["count"] == 0]
            # A drive with all parts has its read cache between memory and mapping cache.
            notes = [f"without {', '.join(absent)}"] if absent else ["map: memory – mapping cache"]
            assert layout.notes == notes, diagram["drive"]
            assert len(layout.flows) + (not absent) == len(diagram["edges"])


def test_further_parts_and_flows_find_a_place():
    diagram = ssdlab.diagram("tiny")
    part = {"kind": "pages", "is_ideal": False, "count": 2, "lines": ["16 KiB on each"], "utilisation": []}
    parity = {**part, "id": "parity", "stage": "parity", "name": "parity engine"}
    beside = {**part, "id": "timer", "stage": "firmware", "name": "timer"}
    at = [node["stage"] for node in diagram["nodes"]].index("channels")
    nodes = [*diagram["nodes"][:at], parity, *diagram["nodes"][at:]]
    nodes.insert(1 + [node["id"] for node in nodes].index("firmware"), beside)
    edges = [edge for edge in diagram["edges"] if edge["to"] != "channels"]
    for one, other in (
        ("firmware", "timer"),
        ("page_buffers", "parity"),
        ("parity", "channels"),
        ("host_processor", "dies"),
    ):
        edges.append({"from": one, "to": other, "carries": "what passes"})
    edges.append({"from": "target_queues", "to": "dies", "carries": "what has no place"})
    layout = arrange({**diagram, "nodes": nodes, "edges": edges}, WIDTH)
    assert overlaps(layout) == []
    absent = "without write buffer, read cache, mapping cache"
    assert layout.notes == ["what has no place: target queues – dies", absent]
    drawn = draw({**diagram, "nodes": nodes, "edges": edges})
    assert "parity engine: pages" in drawn
    assert drawn.endswith(f"\n\nwhat has no place: target queues – dies\n{absent}\n")


def test_the_command_draws_and_gives_the_data(cli):
    assert cli("show", "tiny", "--diagram").stdout == draw(ssdlab.diagram("tiny"))
    document = json.loads(cli("show", "tiny", "--diagram", "--json", "--set", "flash.channels=8").stdout)
    assert document == ssdlab.diagram("tiny", set={"flash.channels": 8})
    assert {node["id"]: node["count"] for node in document["nodes"]}["channels"] == 8
    assert "random read iops" in cli("show", "tiny").stdout


def test_a_terminal_without_lines_gets_plain_characters(cli, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = cli("show", "tiny", "--diagram", process=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain(draw(ssdlab.diagram("tiny")))
    assert done.stdout.isascii()


def test_the_drawing_is_written_to_a_file(cli, tmp_path):
    path = tmp_path / "tiny.svg"
    assert cli("show", "tiny", "--diagram", "--svg", path).returncode == 0
    first = path.read_bytes()
    again = cli("show", "tiny", "--diagram", "--svg", path)
    assert again.returncode == 2
    assert "it exists" in again.stderr
    assert cli("show", "tiny", "--diagram", "--svg", path, "--force").returncode == 0
    assert path.read_bytes() == first == svg(ssdlab.diagram("tiny")).encode()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--toml", "--json"], "--toml, --json: give one of them"),
        (["--toml", "--diagram"], "--toml, --diagram: give one of them"),
        (["--svg", "x.svg"], "--diagram, which is not given"),
        (["--diagram", "--svg", "x.svg", "--json"], "--svg, --json: give one of them"),
        (["--diagram", "--svg", "x.png"], "x.png: expected a name in .svg"),
        (["--diagram", "--force"], "no --svg is given"),
        (["--diagram", "--set", "flash.chanels=8"], "did you mean `channels`"),
    ],
)
def test_options_that_contradict_each_other_are_refused(cli, options, complaint):
    done = cli("show", "tiny", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


#: Prefix of the names of SVG's elements.
SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def cells_of(drawing: str) -> dict[str, str]:
    """Returns the colour of each cell, by its title."""
    cells = (cell for cell in ElementTree.fromstring(drawing).iter(f"{SVG}rect") if len(cell))
    return {cell.findtext(f"{SVG}title", ""): cell.get("fill", "") for cell in cells}


def test_an_svg_is_well_formed_and_the_same_each_time(diagrams):
    for diagram in diagrams:
        drawing = svg(diagram)
        assert drawing == svg(diagram)
        shown = texts(drawing)
        for node in diagram["nodes"]:
            assert any(node["name"] in text for text in shown)
    odd = svg({**diagrams[0], "drive": "<a & b>"})
    assert "<title>Diagram of the drive &lt;a &amp; b&gt;</title>" in odd
    ElementTree.fromstring(odd)


def test_resources_are_coloured_by_their_utilisation(detailed):
    shares = dict(detailed.summary["utilisation"])
    shares.update(dict.fromkeys(shares, 0.02), core_1=0.95, core_0=0.5)
    diagram = diagram_of(DETAILED)
    found = {"resource": "core_1", "utilisation": 0.95, "next": None, "next_utilisation": None}
    drawing = svg(diagram, shares, found)
    cells = cells_of(drawing)
    named = {name for node in diagram["nodes"] for name in node["utilisation"]}
    assert {title.split(":")[0].replace(" ", "_") for title in cells} == named
    assert cells["core 1: 95.0 % busy"] == colour(0.95)
    assert cells["core 0: 50.0 % busy"] == colour(0.5) != colour(0.02)
    assert texts(drawing).count("bottleneck") == 1
    assert "busiest: core 1, 95.0 % of the time; mean 72.5 %" in texts(drawing)
    # A resource that is idle for a tenth of the time is no bottleneck.
    calm = svg(diagram, {**shares, "core_1": 0.89}, {**found, "utilisation": 0.89})
    assert "bottleneck" not in texts(calm)


def test_a_drawing_says_what_it_shows(detailed):
    diagram = diagram_of(DETAILED)
    shares = dict.fromkeys(detailed.summary["utilisation"], 0.02) | {"core_1": 0.95}
    found = {"resource": "core_1", "utilisation": 0.95, "next": None, "next_utilisation": None}
    text = ElementTree.fromstring(svg(diagram, shares, found)).findtext(f"{SVG}desc", "")
    for node in diagram["nodes"]:
        assert f"{node['name']}" in text
    assert "core 1 95.0 % busy" in text
    assert text.count("the bottleneck") == 1
    assert "busy" not in ElementTree.fromstring(svg(diagram)).findtext(f"{SVG}desc", "")


def test_many_resources_share_their_cells():
    diagram = ssdlab.diagram("ideal-512g", set={"flash.chips_per_channel": 128, "flash.blocks_per_plane": 64})
    (dies,) = (node["utilisation"] for node in diagram["nodes"] if node["id"] == "dies")
    assert len(dies) == 1024
    shares = dict.fromkeys(dies, 0.1) | {"die_1001": 0.7}
    titles = [*cells_of(svg(diagram, shares, None))]
    assert len(titles) == 256
    assert titles[1000 // 4] == "die 1001: 70.0 % busy"


def changed(result: ssdlab.Result, **values: object) -> ssdlab.Result:
    """Returns a result with other values in its summary."""
    return ssdlab.Result(
        json.dumps({**result.summary, **values}),
        drive_toml=result.drive_toml,
        workload_toml=result.workload_toml,
        latency=result.latency_table(),
        timeline=result.timeline_table(),
    )


def test_the_bottleneck_is_named(result):
    found = {"resource": "channel_3", "utilisation": 0.97, "next": "die_12", "next_utilisation": 0.5}
    causes = {"all": {"bus_wait": 30.0, "sense": 10.0}, "read": {}, "write": {}}
    said = bottleneck.sentences(changed(result, bottleneck=found, causes=causes))
    assert said == (
        "The bottleneck is channel 3: it is busy for 97.0 % of the time, and limits the throughput. Next is die 12 with "
        "50.0 %. The largest cause of latency is waiting for the channel, with 75.0 % (bus_wait)."
    )
    alone = {**found, "utilisation": 0.31, "next": None, "next_utilisation": None}
    said = bottleneck.sentences(changed(result, bottleneck=alone, causes=causes))
    assert said == (
        "No resource is a bottleneck: channel 3, the busiest, is busy for 31.0 % of the time. No other resource was busy. "
        "What limits the commands is their latency, not the throughput of a resource. Its largest cause is waiting for the "
        "channel, with 75.0 % (bus_wait)."
    )
    assert bottleneck.sentences(changed(result, bottleneck=None)) == "Nothing is a bottleneck: no resource was busy."


def test_the_bottleneck_of_a_run_is_that_of_its_summary(detailed):
    found, shares = detailed.summary["bottleneck"], detailed.summary["utilisation"]
    assert found["utilisation"] == shares[found["resource"]]
    assert max(shares[name] for name in shares if name not in ("channels", "dies")) == found["utilisation"]
    assert found["next_utilisation"] == shares[found["next"]] <= found["utilisation"]


def test_a_report_shows_the_bottleneck_and_the_drive(detailed, comparison):
    html = detailed.report()
    assert f'<p class="finding">{bottleneck.sentences(detailed)}</p>'.replace("'", "&#x27;") in html
    drawing = bottleneck.drawing(detailed)
    assert drawing is not None
    assert drawing in html
    assert "host serial" in texts(drawing)
    both = comparison.report()
    for run in comparison.runs:
        assert f"<b>{run.policy}.</b> {bottleneck.sentences(run)}".replace("'", "&#x27;") in both


def test_a_result_of_an_older_version_has_a_report(result):
    summary = {name: value for name, value in result.summary.items() if name != "bottleneck"}
    old = changed(result)
    old = ssdlab.Result(
        json.dumps(summary),
        drive_toml="title = 'of another version'",
        workload_toml=old.workload_toml,
        latency=old.latency_table(),
        timeline=old.timeline_table(),
    )
    html = old.report()
    assert not re.search("[Tt]he bottleneck|a bottleneck", html)
    assert "<h3>Resources</h3>" not in html
