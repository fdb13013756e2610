"""Page of a report: main numbers, figures and tables of one run, or of several side by side.

Equal runs give equal pages: figures have fixed names, and the page contains no wall-clock time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from ssdlab import terms
from ssdlab.report import (
    amplification,
    attempts,
    bottleneck,
    by_wear,
    causes,
    cells,
    content,
    latency,
    library,
    modes,
    power,
    read_errors,
    setting,
    side_by_side,
    streams,
    style,
    tail,
    timeline,
    utilisation,
    verdict,
    wear,
)
from ssdlab.units import duration, ratio, scaled

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ssdlab.results import RunData

_LATENCY = (
    "Share of commands that took no longer than a given time. The vertical axis is a probability axis: a "
    "log-normal distribution is a straight line, and the tail has as much room as the body."
)
_DOTTED = "Dotted: fewer than ten commands lie beyond."
_CAUSES = "Every nanosecond of every command is charged to exactly one cause; the parts add up to the mean latency."
_TAIL = (
    "The latency of all commands and of the slowest 1, 0.1 and 0.01 % of them, each divided by cause. What the tail "
    "consists of is often a small part of the mean."
)
_TAILS = "Of each run, what the slowest commands of its slower operation consist of."
_STATE = "Where the run started from, what the policy counted, and what flash and ECC report."
_STREAMS = (
    "Each fio job, stream or volume of the workload by itself. Rates are over the time from its first submission to its "
    "last completion; latencies are those of all its commands together."
)
_RESOURCES = (
    "The drive from the host to the cells. A box is coloured by its busiest resource, each of its cells by one; what is "
    "dashed takes no time, or is not there."
)
_ATTEMPTS = (
    "Reads of the flash, for any reason, by attempt; an attempt follows where a codeword of the one before could not be "
    "decoded. The time of the first attempt is divided by cause above."
)
_BY_WEAR = (
    "Latency of the commands that read, and repetitions of reads, by the mean wear of the drive's blocks. A line joins "
    "runs that differ in nothing else."
)
_TIME = (
    "What was completed in each step of simulated time; the pointer on a curve shows what it is. Dotted lines mark events. "
    "The queue depth counts a command where it completes: a step in which slow commands complete may show more than were in "
    "flight at a time."
)
_POWER = (
    "Energy of the parts of the drive whose power is described, and the power of its flash over time: the currents of all "
    "dies are added up; a window is the time over which they are averaged."
)
_AMPLIFICATION = "What the flash programmed for each unit that the host wrote, split by the reason of the program."
_MODES = "Which modes were used, and the program/erase cycles of the blocks since the drive was new."

_CELLS = (
    "Threshold voltages of the write modes that were used, as the drive's model of its cell has them: dotted as "
    "written, solid at the end of the promised retention. Where solid levels overlap beyond the dashed references, "
    "bits are wrong; the code corrects up to the last column."
)
_RATES = "Error rates of the write modes that were used, as the drive's model of its cell has them, and what its code corrects."


def single(run: RunData) -> str:
    """Returns the report of one run."""
    title = f"{content.short(run.drive)} under {content.short(run.workload)}"
    cards = [_cards(row) for row in content.headline(run) if row]
    curves = [_figure(latency.distribution([run]), "latency"), content.latency_table(run)]
    shares = _figure(causes.stacked([run]), "causes", content.cause_meanings())
    busy = _figure(utilisation.busy([run]), "utilisation", utilisation.meanings())
    amplified = [_figure(amplification.by_reason([run]), "amplification", terms.reasons()), content.flash_table(run)]
    parts = {
        "Verdict": [_verdict_box(_finding(bottleneck.sentences(run))), *cards],
        "Latency": [
            _section("Distribution", f"{_LATENCY} {_DOTTED}", *curves),
            *_tail(run),
            _section("Over time", _TIME, _figure(timeline.traffic([run]), "timeline")),
        ],
        "Causes": [
            _section("Where the time goes", _CAUSES, shares, content.cause_table(run)),
            *_streams(run),
            *_read_errors([run], read_errors.tables(run)),
        ],
        "Bottleneck": [
            *_resources(run),
            _section("Utilisation", f"How much of the simulated time each channel{_decoders([run])} was busy.", busy),
            *_power([run]),
        ],
        "Wear": [_section("Write amplification", _AMPLIFICATION, *amplified), _wear([run]), *_cells([run])],
        "Tables": [_section("State and policy", _STATE, content.state_tables(run)), _descriptions([run])],
    }
    return _page(title, _header("SSD simulation", title, setting.lines([run]), content.warnings(run)), parts)


def several(runs: Sequence[RunData]) -> str:
    """Returns the report of several runs, overlaid; numbers stand beside their ratio to those of the first run."""
    names = style.run_names(runs)
    title = " against ".join(names) if len(runs) == 2 else ", ".join(names)
    warnings = [f"{name}: {text}" for name, run in zip(names, runs, strict=True) for text in content.warnings(run)]
    limits = [_finding(bottleneck.sentences(run), name) for name, run in zip(names, runs, strict=True)]
    relative = [f"<h4>Relative to {escape(names[0])}</h4>", _figure(latency.percentiles(runs), "percentiles")]
    shares = _figure(causes.stacked(runs), "causes", content.cause_meanings())
    busy = f"How much of the simulated time each channel{_decoders(runs)} was busy, the busiest first."
    amplified = _figure(amplification.by_reason(runs), "amplification", terms.reasons())
    parts = {
        "Verdict": [_verdict_box(verdict.html(runs)), _cards(_gains(runs, names))],
        "Latency": [
            _section(
                "Distribution",
                f"{_LATENCY}{_operations(runs)} {_DOTTED}",
                _figure(latency.distribution(runs), "latency"),
                *relative,
            ),
            *_tails(runs, names),
            _section(
                "Over time",
                f"{_TIME} Each run has a strip of its own, on one scale.",
                _figure(timeline.traffic(runs), "timeline"),
            ),
        ],
        "Causes": [_section("Where the time goes", _CAUSES, shares), *_read_errors(runs)],
        "Bottleneck": [
            _section("Utilisation", busy, *limits, _figure(utilisation.busy(runs), "utilisation")),
            *_power(runs),
        ],
        "Wear": [
            _section("Write amplification", _AMPLIFICATION, amplified),
            _wear(runs),
            *_by_wear(runs),
            *_cells(runs),
        ],
        "Tables": [
            *_settings(runs, names),
            _section(
                "Side by side",
                f"Small: the ratio to {names[0]}. Blue and bold: better; orange and bold: worse. Nothing of a run whose "
                "reads failed counts as better.",
                side_by_side.table(runs, names),
            ),
            _section(
                "Policies",
                "What each policy counted, and where its run started from.",
                content.policy_tables(runs, names),
            ),
            _descriptions(runs[:1]),
        ],
    }
    return _page(title, _header("SSD simulation: comparison", title, setting.lines(runs), warnings), parts)


def _verdict_box(text: str) -> str:
    """Returns the box with the sentences of the verdict; empty without any."""
    return f'<div class="verdicts">{text}</div>' if text else ""


def _tails(runs: Sequence[RunData], names: Sequence[str]) -> list[str]:
    """Returns the section on the tails of several runs: what the slowest commands of each consist of."""
    found = [(name, tail.why_or_none(run)) for name, run in zip(names, runs, strict=True)]
    said = [_finding(sentence, name) for name, known in found if known is not None for sentence in known.sentences[:1]]
    return [_section("Why the tail is long", _TAILS, *said)] if said else []


def _wear(runs: Sequence[RunData]) -> str:
    """Returns the section on the modes and the wear of the blocks."""
    return _section("Operating modes and wear", _MODES, _figure(modes.shares(runs), "modes"), _figure(wear.spread(runs), "wear"))


def _settings(runs: Sequence[RunData], names: Sequence[str]) -> list[str]:
    """Returns the section on the settings in which the runs differ; none if they differ in none."""
    table = side_by_side.settings(runs, names)
    return (
        [_section("What differs", "Fields of the drive, the policy and the workload that are not equal in all runs.", table)]
        if table
        else []
    )


def _finding(text: str, name: str = "") -> str:
    """Returns a paragraph with the conclusion of a section, after the name of its run; none without a text."""
    run = f"<b>{escape(name)}.</b> " if name else ""
    return f'<p class="finding">{run}{escape(text)}</p>' if text else ""


def _tail(run: RunData) -> list[str]:
    """Returns the section on the tail; none where too few commands lie beyond the 99th percentile."""
    found = tail.why_or_none(run)
    if found is None:
        return []
    chart = _figure(tail.bars(found), "tail", content.cause_meanings())
    return [_section("Why the tail is long", _TAIL, tail.paragraphs(found), chart, tail.tables(found))]


def _streams(run: RunData) -> list[str]:
    """Returns the section on the streams; none for a workload of one."""
    if not run.streams:
        return []
    shown = streams.busiest(run.streams, streams.MOST_COMPARED)
    chart = causes.stacked_streams(shown)
    table = content.table(["stream", *streams.COLUMNS], streams.rows(run), meanings=content.measures())
    return [_section("By stream", _STREAMS, table, _figure(chart, "streams", content.cause_meanings()))]


def _resources(run: RunData) -> list[str]:
    """Returns the section with the diagram of the drive; none if the drive cannot be drawn."""
    drawing = bottleneck.drawing(run)
    return [_section("Resources", _RESOURCES, f'<div class="scroll diagram">{drawing}</div>')] if drawing else []


def _power(runs: Sequence[RunData]) -> list[str]:
    """Returns the section on power; none if no drive describes its currents."""
    if not power.is_known(runs):
        return []
    meanings = {"peak of a window": terms.column("power.parquet", "peak_w"), "mean": terms.column("power.parquet", "mean_w")}
    figures = [_figure(power.by_component(runs), "components")] if power.has_parts(runs) else []
    figures.append(_figure(power.over_time(runs), "power", meanings))
    return [_section("Power", _POWER, *figures, power.table(runs))]


def _cells(runs: Sequence[RunData]) -> list[str]:
    """Returns the section on the modes in the cell; none if the drive names no cell model."""
    modes = cells.used_modes(runs)
    if not modes:
        return []
    chart = cells.distributions(modes)
    caption, figures = (_CELLS, [_figure(chart, "cells")]) if chart else (_RATES, [])
    return [_section("Modes in the cell", caption, *figures, cells.numbers(modes))]


def _read_errors(runs: Sequence[RunData], *tables: str) -> list[str]:
    """Returns the section on reads that fail; none if no drive has any."""
    if not any(run.read_errors for run in runs):
        return []
    return [
        _section(
            "Reads that fail", _ATTEMPTS, _figure(attempts.made_and_failed(runs), "attempts", content.cause_meanings()), *tables
        )
    ]


def _by_wear(runs: Sequence[RunData]) -> list[str]:
    """Returns the section on latency by wear; none unless runs with errors differ in wear alone."""
    chart = by_wear.latency(runs)
    return [_section("Reads by wear", _BY_WEAR, _figure(chart, "by_wear"))] if chart else []


def _decoders(runs: Sequence[RunData]) -> str:
    """Returns the resources that are shown beside the channels."""
    shown = any(utilisation.decoders(run) for run in runs)
    return ", each group of decoders and each die" if shown else " and each die"


def _operations(runs: Sequence[RunData]) -> str:
    """Returns a sentence on the dashes of curves; empty if the runs have reads only, or writes only."""
    both = all(any(run.latency[op].count for run in runs) for op in ("read", "write"))
    return " Reads solid, writes dashed." if both else ""


def _gains(runs: Sequence[RunData], names: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the cards of a comparison: numbers of the first run, and the ratios of up to three other runs to them."""
    first = runs[0]
    cards: list[tuple[str, str]] = [
        (duration(first.latency["all"].mean_ns), f"mean latency, {names[0]}"),
        (scaled(first.iops, "IOPS"), f"throughput, {names[0]}"),
    ]
    for name, run in [*zip(names, runs, strict=True)][1:4]:
        for label, value, base in (
            ("mean latency", run.latency["all"].mean_ns, first.latency["all"].mean_ns),
            ("p99.99", run.latency["all"].p99_99_ns, first.latency["all"].p99_99_ns),
        ):
            if value and base:
                cards.append((f"× {ratio(value / base, 3)}", f"{label}, {name}"))
    return cards


def _page(title: str, header: str, parts: Mapping[str, Sequence[str]]) -> str:
    """Returns a whole page: its header, links to its parts, and the parts by their titles."""
    links = "".join(f'<a href="#{name.lower()}">{name}</a>' for name in parts)
    body = "\n".join(_part(name, sections) for name, sections in parts.items())
    return library.secured_page(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · ssdlab</title>\n<style>\n{library.css()}</style>\n"
        f'{library.head()}\n</head>\n<body>\n{header}\n<nav class="parts" aria-label="Parts of the report">{links}</nav>\n'
        f"<main>\n{body}\n</main>\n"
        "<footer>Made by ssdlab. The numbers are in summary.json, latency.parquet and timeline.parquet "
        f"beside this page.</footer>\n{library.tail()}\n</body>\n</html>\n"
    )


def _part(name: str, sections: Sequence[str]) -> str:
    """Returns a part of the page, with the place to which its link leads."""
    place = name.lower()
    text = "\n".join(filter(None, sections))
    heading = f'<h2 id="{place}-title">{name}</h2>'
    return f'<div class="part" id="{place}" role="region" aria-labelledby="{place}-title">{heading}\n{text}</div>'


def _header(eyebrow: str, title: str, lines: Sequence[str], warnings: Sequence[str]) -> str:
    badges = "".join(f'<span class="badge">{escape(text)}</span>' for text in warnings)
    subtitle = "".join(f'<p class="subtitle">{escape(line)}</p>' for line in lines)
    return f'<header>{library.THEME}<p class="eyebrow">{escape(eyebrow)}</p><h1>{escape(title)}</h1>{subtitle}{badges}</header>'


def _cards(cards: Sequence[tuple[str, str]]) -> str:
    meanings = content.measures()
    items = "".join(
        f'<div class="card"{_title(meanings.get(label, ""))}><b>{escape(value)}</b><span>{escape(label)}</span></div>'
        for value, label in cards
    )
    return f'<div class="cards">{items}</div>'


def _title(meaning: str) -> str:
    """Returns the attribute of an element that shows a meaning when the pointer rests on it; empty without one."""
    return f' title="{escape(meaning)}"' if meaning else ""


def _section(title: str, caption: str, *parts: str) -> str:
    return f'<section><h3>{escape(title)}</h3><p class="caption">{escape(caption)}</p>{"".join(parts)}</section>'


def _figure(chart: go.Figure, name: str, meanings: dict[str, str] | None = None) -> str:
    """Returns a figure with a fixed name, below its legend, whose entries show their meanings when hovered."""
    legend = library.keys(chart, name, meanings)
    chart.update_layout(showlegend=False)
    if chart.layout.margin.t is None:
        chart.update_layout(margin_t=18)
    return legend + library.place_and_script(chart, name)


def _descriptions(runs: Sequence[RunData]) -> str:
    """Returns a section with the descriptions of drive and workload."""
    blocks = "".join(
        f"<details><summary>{name}</summary><pre>{escape(text)}</pre></details>"
        for run in runs
        for name, text in (("drive.toml", run.drive_toml), ("workload.toml", run.workload_toml))
    )
    return _section("Descriptions", "Everything that is needed to repeat this run.", blocks)
