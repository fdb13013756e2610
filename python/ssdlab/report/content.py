"""Texts and tables of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ssdlab.units import count, duration, percent, ratio, scaled, significant, size

if TYPE_CHECKING:
    from ssdlab.read_errors import ReadErrors
    from ssdlab.results import Result

#: Meaning of each cause of latency.
CAUSES = {
    "host": "the host's processor: submission, interrupts or polling, and completion",
    "host_queue": "waiting for a place in a submission queue, and in it",
    "queue_blocked": "waiting while a die has more reads than the threshold of its queue",
    "link": "command and data on the host link, waiting included",
    "core_wait": "waiting for a core of the controller",
    "firmware": "work of the firmware on a core of the controller",
    "interconnect_wait": "waiting for the controller's interconnect",
    "interconnect": "data on the controller's interconnect",
    "dram_wait": "waiting for the controller's memory",
    "dram": "accesses to the controller's memory",
    "map": "waiting for pages of the map, or for data that is being read ahead",
    "order": "a flush waiting for earlier writes, data for that of earlier reads",
    "buffer_full": "waiting for space in the write buffer",
    "free_space": "waiting for a free block",
    "sequencer": "waiting in the I/O sequencer for reads that are outstanding at the die, or for older ones",
    "die_host_read": "the die is reading for another command",
    "die_host_program": "the die is programming for another command",
    "die_relocation": "the die is moving data",
    "die_erase": "the die is erasing",
    "die_held": "the die is suspending or resuming, or held by a policy or for a repeated read",
    "page_buffer": "waiting for a page buffer of the channel's controller",
    "bus_wait": "waiting for the channel",
    "bus_command": "command and address cycles, and gaps, on the channel",
    "transfer": "data on the channel",
    "sense": "reading the cells, at the first attempt",
    "program": "programming the cells",
    "rmw": "reading the rest of a unit that is written in part",
    "retry": "everything from the second attempt at a read on, waiting and decoding included",
    "ecc_wait": "waiting for a decoder; of writes: waiting for an encoder, and encoding",
    "decode": "decoding, at the first attempt, beyond the transfer of the data",
}

#: Each cause in words; one that is a wait begins with "waiting: ".
WORDS = {
    "host": "work of the host's processor",
    "host_queue": "waiting: a place in a submission queue",
    "queue_blocked": "waiting: a die with a full queue",
    "link": "transfer on the host link",
    "core_wait": "waiting: a controller core",
    "firmware": "firmware",
    "interconnect_wait": "waiting: the interconnect",
    "interconnect": "transfer on the interconnect",
    "dram_wait": "waiting: the controller's memory",
    "dram": "access to the controller's memory",
    "map": "waiting: pages of the map",
    "order": "waiting: earlier commands",
    "buffer_full": "waiting: space in the write buffer",
    "free_space": "waiting: a free block",
    "sequencer": "waiting: the I/O sequencer",
    "die_host_read": "waiting: other host reads",
    "die_host_program": "waiting: other host writes",
    "die_relocation": "waiting: relocations",
    "die_erase": "waiting: erases",
    "die_held": "waiting: a held die",
    "page_buffer": "waiting: a page buffer",
    "bus_wait": "waiting: the channel",
    "bus_command": "commands on the channel",
    "transfer": "transfer on the channel",
    "sense": "reading the cells",
    "program": "programming the cells",
    "rmw": "completing partial writes",
    "retry": "repeating reads",
    "ecc_wait": "waiting: decoders and encoders",
    "decode": "decoding",
}


def in_words(cause: str) -> str:
    """Returns a cause in words; its name if this version does not know it."""
    return WORDS.get(cause, cause.replace("_", " "))


def phrase(cause: str) -> str:
    """Returns a cause as part of a sentence: "waiting for a free block"."""
    return in_words(cause).replace("waiting: ", "waiting for ")


def cause_meanings() -> dict[str, str]:
    """Returns the meaning of each cause with its name in the results, by its words."""
    return {WORDS[cause]: f"{cause}: {meaning}" for cause, meaning in CAUSES.items()}


#: Meanings of the rows of a comparison and of the columns of latencies, as the glossary has them.
MEASURES = {
    "mean": "mean time from submission to completion, waiting at the host included",
    "std. dev.": "standard deviation of the latency",
    "p50": "latency that half of the commands do not exceed",
    "p90": "latency that 90 % of the commands do not exceed",
    "p99": "latency that 99 % of the commands do not exceed",
    "p99.9": "latency that 99.9 % of the commands do not exceed",
    "p99.99": "latency that 99.99 % of the commands do not exceed",
    "write amplification": "units programmed on the flash for each unit that the host wrote",
    "units programmed": "mapping units programmed, for any reason",
    "blocks erased": "blocks erased, for any reason",
    "retries per 1,000 reads": "attempts at reads of the flash beyond the first, for 1,000 first ones",
}

#: Columns of a table of latencies: field, title.
LATENCY_COLUMNS = (
    ("mean_ns", "mean"),
    ("stddev_ns", "std. dev."),
    ("min_ns", "min"),
    ("p50_ns", "p50"),
    ("p90_ns", "p90"),
    ("p99_ns", "p99"),
    ("p99_9_ns", "p99.9"),
    ("p99_99_ns", "p99.99"),
    ("max_ns", "max"),
)


def warnings(run: Result) -> list[str]:
    """Returns the conditions of a run under which its numbers must not be taken at face value."""
    found = []
    if run.status != "complete":
        found.append("partial: the run was stopped before its end")
    if run.summary.get("saturated") is True:
        found.append("saturated: the backlog was still growing at the end")
    if run.summary.get("rejected"):
        found.append(f"{count(run.summary['rejected'])} commands rejected")
    if (run.summary.get("power_failure") or {}).get("lost_pages"):
        found.append(f"{count(run.summary['power_failure']['lost_pages'])} pages lost while the drive was without power")
    found += _padding(run)
    found += _short_batches(run)
    if run.read_errors and run.read_errors.media_errors:
        found.append(f"{count(run.read_errors.media_errors)} uncorrectable reads")
    if run.read_errors and run.read_errors.lost_units:
        found.append(f"{count(run.read_errors.lost_units)} units lost while they were moved or rewritten")
    return found


def _padding(run: Result) -> list[str]:
    """Returns a warning if more than half of what the run programmed is padding."""
    programs = run.summary["flash"]["programs"]
    padding, whole = programs.get("padding", 0), sum(programs.values())
    return [f"padding is {100 * padding / whole:.0f} % of what is programmed"] if 2 * padding > whole else []


def short(name: str) -> str:
    """Returns the name of a drive or workload without its folders."""
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def headline(run: Result) -> list[list[tuple[str, str]]]:
    """Returns the main numbers, each with its name: a row for throughput, a row for latency."""
    throughput = [(scaled(run.iops, "IOPS"), "commands per second")]
    moved = {"read": run.read_bytes_per_s, "write": run.write_bytes_per_s}
    throughput += [(scaled(rate, "B/s"), f"{op} bandwidth") for op, rate in moved.items() if rate]
    throughput.append((ratio(run.write_amplification), "write amplification"))
    latency: list[tuple[str, str]] = []
    for op in ("read", "write"):
        numbers = run.latency[op]
        if numbers.count:
            latency += [
                (duration(numbers.mean_ns), f"mean {op}"),
                (_tail(numbers.p99_ns), f"{op} p99"),
                (_tail(numbers.p99_99_ns), f"{op} p99.99"),
            ]
    return [throughput, latency]


def latency_table(run: Result) -> str:
    """Returns a table of latency by operation."""
    head = ["", "commands", *(title for _, title in LATENCY_COLUMNS)]
    return table(head, latency_rows(run))


def latency_rows(run: Result) -> list[list[str]]:
    """Returns the rows of a table of latency by operation; after each the widths of its intervals, if it has any."""
    rows = []
    for op in shown_operations([run]):
        numbers = run.latency[op]
        texts = (latency_text(getattr(numbers, field), numbers.count) for field, _ in LATENCY_COLUMNS)
        rows.append([op, count(numbers.count), *texts])
        if batches := _batches(run, op):
            widths = (_half_width(batches.get(field), getattr(numbers, field)) for field, _ in LATENCY_COLUMNS)
            rows.append(["  95 %", f"{batches['batches']} × {count(batches['batch_commands'])}", *widths])
    return rows


def shown_operations(runs: Sequence[Result]) -> list[str]:
    """Returns the operations that any run measured; ``all`` only if a run measured several, or it repeats the one."""
    found = [op for op in runs[0].latency if any(run.latency[op].count for run in runs)]
    single = all(sum(run.latency[op].count > 0 for op in found if op != "all") < 2 for run in runs)
    return [op for op in found if op != "all"] if single else found


def _batches(run: Result, op: str) -> Mapping[str, Any] | None:
    """Returns the intervals of an operation, if there are batches from which they follow."""
    found: Mapping[str, Any] = run.summary.get("intervals", {}).get(op, {})
    return found if found.get("batches", 0) > 1 else None


def _half_width(interval: Mapping[str, Any] | None, value: float | None) -> str:
    """Formats half of the width of a confidence interval as a share of the value; empty if it is not known."""
    if interval is None or interval["low"] is None or not value:
        return ""
    return f"±{percent((interval['high'] - interval['low']) / 2.0 / value)}"


def _short_batches(run: Result) -> list[str]:
    """Returns a warning for each operation whose batches are so short that neighbours are alike."""
    found = []
    for op, numbers in run.latency.items():
        batches = _batches(run, op)
        # Where all commands are of one kind, its warning is enough.
        if batches is None or (op == "all" and numbers.count in run.commands.values()):
            continue
        least = 2.0 / math.sqrt(batches["batches"])
        alike = [title for field, title in LATENCY_COLUMNS if (batches.get(field, {}).get("autocorrelation") or 0.0) > least]
        if alike:
            found.append(
                f"intervals of {op} ({', '.join(alike)}) are too narrow: neighbouring batches of "
                f"{count(batches['batch_commands'])} commands are alike; a longer run, or fewer batches, has longer ones"
            )
    return found


def cause_table(run: Result) -> str:
    """Returns a table of the causes of latency as times and shares, the largest first."""
    ops = [op for op in ("read", "write") if run.causes.get(op)]
    names = {cause for op in ops for cause, span in run.causes[op].items() if span}
    order = sorted(names, key=lambda cause: (-max(run.causes[op].get(cause, 0.0) for op in ops), cause))
    head = ["cause", *(title for op in ops for title in (f"{op}, mean", f"{op}, share")), "meaning"]
    rows = []
    for cause in order:
        row = [in_words(cause)]
        for op in ops:
            span, whole = run.causes[op].get(cause, 0.0), sum(run.causes[op].values())
            row += [_micro(span), percent(span / whole)] if span else ["–", "–"]
        rows.append([*row, f"{cause}: {CAUSES[cause]}" if cause in CAUSES else ""])
    rows.append(["sum", *(cell for op in ops for cell in (_micro(sum(run.causes[op].values())), "100.0 %")), ""])
    return table(head, rows, explained=True) if ops else ""


def flash_table(run: Result) -> str:
    """Returns a table of the flash operations by reason."""
    flash = run.summary["flash"]
    kinds = ("reads", "programs", "erases")
    reasons = dict.fromkeys(reason for kind in kinds for reason, number in flash[kind].items() if number)
    rows = [[reason, *(count(flash[kind].get(reason, 0)) for kind in kinds)] for reason in reasons]
    rows.append(["all", *(count(_total(run, kind)) for kind in kinds)])
    return table(["for", "flash reads", "units programmed", "blocks erased"], rows)


def state_tables(run: Result) -> str:
    """Returns tables of starting state, policy, wear, reliability, power failure, energy, commands and steady state."""
    summary = run.summary
    blocks = [
        ("Starting state", _pairs(summary["starting_state"])),
        ("Policy", _pairs(summary["policy_stats"])),
        ("Wear", _pairs({"erases": summary["wear"], "effective": summary["effective_wear"]})),
        ("Reliability", _pairs(summary["reliability"])),
        ("Power failure", _pairs(power_failure(run))),
        ("Energy", [(name, scaled(joules, "J")) for name, joules in flatten(summary["energy"]) if joules is not None]),
        (
            "Commands",
            _pairs(
                {
                    **run.commands,
                    "rejected": summary["rejected"],
                    "unmapped_reads": summary.get("unmapped_reads"),
                }
            ),
        ),
        ("Steady state", _pairs({"steady": summary["steady"], "saturated": summary["saturated"]})),
    ]
    cells = "".join(f"<div><h3>{title}</h3>{table(None, rows)}</div>" for title, rows in blocks if rows)
    return f'<div class="columns">{cells}</div>'


def power_failure(run: Result) -> dict[str, Any]:
    """Returns the values that a power failure set in the summary; empty if power did not fail."""
    found = run.summary.get("power_failure") or {}
    return {name: value for name, value in found.items() if value is not None}


def policy_tables(runs: Sequence[Result], names: Sequence[str]) -> str:
    """Returns tables of the policies' counters and of the states they ran in, with one column for each run."""
    parts = []
    for title, numbers in (
        ("Policy", [run.summary["policy_stats"] for run in runs]),
        ("Starting state", [run.summary["starting_state"] for run in runs]),
        ("Reliability", [run.summary["reliability"] for run in runs]),
        ("Power failure", [power_failure(run) for run in runs]),
    ):
        columns = [dict(_pairs(each)) for each in numbers]
        fields = list(dict.fromkeys(field for column in columns for field in column))
        if fields:
            rows = [[field, *(column.get(field, "–") for column in columns)] for field in fields]
            parts.append(f"<h3>{title}</h3>" + table(["", *names], rows))
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a comparison: its name, its value in each run, and the values as texts."""

    title: str
    values: Sequence[float | None]
    texts: Sequence[str]
    #: -1 if lower values are better, 1 if higher ones are, 0 if neither.
    better: int = 0


def comparison_rows(runs: Sequence[Result]) -> list[tuple[str, list[Row]]]:
    """Returns the main numbers of several runs, in named groups; numbers that no run has are left out."""
    groups: list[tuple[str, list[Row]]] = []
    operations = shown_operations(runs)
    for op in (op for op in ("all", "read", "write") if op in operations):
        numbers = [run.latency[op] for run in runs]
        rows = []
        for field, title in LATENCY_COLUMNS:
            values = [getattr(each, field) for each in numbers]
            texts = [latency_text(value, each.count) for value, each in zip(values, numbers, strict=True)]
            rows.append(Row(title, values, texts, better=-1))
        groups.append((f"{op} latency", rows))

    def row(title: str, values: Sequence[float | None], text: Callable[[float | None], str], better: int = -1) -> Row:
        return Row(title, values, [text(value) for value in values], better)

    shares = [run.write_amplification_by_reason for run in runs]
    rows = [
        row("commands per second", [run.iops for run in runs], lambda value: scaled(value, "IOPS"), 1),
        row("read bandwidth", [run.read_bytes_per_s for run in runs], lambda value: scaled(value, "B/s"), 1),
        row("write bandwidth", [run.write_bytes_per_s for run in runs], lambda value: scaled(value, "B/s"), 1),
        row("write amplification", [run.write_amplification for run in runs], ratio),
    ]
    for reason in dict.fromkeys(reason for share in shares for reason in share):
        rows.append(row(f"of it for {reason}", [share.get(reason) for share in shares], ratio, 0 if reason == "host" else -1))
    rows += [
        row("units programmed", [_total(run, "programs") for run in runs], count),
        row("blocks erased", [_total(run, "erases") for run in runs], count),
        row("simulated time", [run.simulated_ns for run in runs], duration, 0),
    ]
    groups += [("throughput and cost", rows), ("reads that fail", _read_error_rows(runs))]
    known = [(name, [row for row in rows if any(value is not None for value in row.values)]) for name, rows in groups]
    return [(name, rows) for name, rows in known if rows]


def _read_error_rows(runs: Sequence[Result]) -> list[Row]:
    """Returns the main numbers of reads that fail; without a value for runs whose reads cannot fail."""
    rows = []
    measures: tuple[tuple[str, Callable[[ReadErrors], float | None], Callable[[float | None], str]], ...] = (
        ("retries per 1,000 reads", lambda found: found.retries_per_1000, ratio),
        ("media errors", lambda found: found.media_errors, count),
        ("lost units", lambda found: found.lost_units, count),
        ("soft attempts", lambda found: found.soft_attempts or None, count),
    )
    for title, number, text in measures:
        values = [None if run.read_errors is None else number(run.read_errors) for run in runs]
        rows.append(Row(title, values, [text(value) for value in values], better=-1))
    return rows


def table(
    head: Sequence[str] | None,
    rows: Sequence[Sequence[str] | str],
    explained: bool = False,
) -> str:
    """Returns an HTML table; a row that is a string is a heading within it.

    The last column of an `explained` table is text. On a narrow window the cells of a row wrap, each below the title of
    its column.
    """
    width = len(head) if head else 2
    titles = ["", *(f' data-column="{escape(title)}"' for title in (head or ("", ""))[1:])]
    body = "".join(
        f'<tr class="group"><td colspan="{width}">{escape(row)}</td></tr>'
        if isinstance(row, str)
        else "<tr>" + "".join(f"<td{title}>{escape(cell)}</td>" for title, cell in zip(titles, row, strict=True)) + "</tr>"
        for row in rows
    )
    top = "<thead><tr>" + "".join(f"<th>{escape(title)}</th>" for title in head) + "</tr></thead>" if head else ""
    kind = f' class="wraps{" explained" if explained else ""}"' if head else ""
    return f'<div class="scroll"><table{kind}>{top}<tbody>{body}</tbody></table></div>'


def flatten(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Returns the leaves of nested tables, with their names joined."""
    if isinstance(value, Mapping):
        return [leaf for name, item in value.items() for leaf in flatten(item, f"{prefix} {name}".strip())]
    return [(prefix, value)]


def shown(name: str, value: Any) -> str:
    """Formats a value of the summary, in the unit that its name ends in."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float() if name.endswith("_ns"):
            return duration(value)
        case int() | float() if name.endswith("_bytes"):
            return size(value)
        case int() | float() if name.endswith("_bytes_per_s"):
            return scaled(value, "B/s")
        case int():
            return count(value)
        case float():
            return significant(value)
        case list():
            return ", ".join(shown(name, item) for item in value) or "–"
    return str(value)


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(name.replace("_", " ").removesuffix(" ns"), shown(name, item)) for name, item in flatten(value)]


def _tail(value: int | None) -> str:
    return "n < 10" if value is None else duration(value)


def latency_text(value: float | None, measured: int) -> str:
    """Formats a latency; a missing one as the reason: too few samples, or none."""
    return duration(value) if value is not None else ("n < 10" if measured else "–")


def _micro(ns: float) -> str:
    return f"{significant(ns / 1000)} us"


def _total(run: Result, kind: str) -> int:
    return sum(run.summary["flash"][kind].values())
