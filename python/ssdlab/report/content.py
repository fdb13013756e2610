"""Texts and tables of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ssdlab import terms
from ssdlab.units import count, counted, duration, percent, ratio, scaled, significant, size

if TYPE_CHECKING:
    from ssdlab.read_errors import ReadErrors
    from ssdlab.results import RunData


def in_words(cause: str) -> str:
    """Returns a cause in words; its name if this version does not know it."""
    return terms.words().get(cause, cause.replace("_", " "))


def phrase(cause: str) -> str:
    """Returns a cause as part of a sentence: "waiting for a free block"."""
    return in_words(cause).replace("waiting: ", "waiting for ")


def cause_meanings() -> dict[str, str]:
    """Returns the meaning of each cause with its name in the results, by its words."""
    return {terms.words()[cause]: f"{cause}: {meaning}" for cause, meaning in terms.causes().items()}


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


#: Rows of a comparison and other numbers, by the keys of the summary that define them.
_KEYS = {
    "commands per second": "throughput.iops",
    "IOPS": "throughput.iops",
    "read bandwidth": "throughput.read_bytes_per_s",
    "write bandwidth": "throughput.write_bytes_per_s",
    "write amplification": "write_amplification",
    "write amplification by bytes": "write_amplification_bytes",
    "free blocks": "free_blocks.mean",
    "flash reads": "flash.reads",
    "units programmed": "flash.programs",
    "blocks erased": "flash.erases",
    "simulated time": "simulated_ns",
    "commands": "latency.OP.count",
    "media errors": "read_errors.media_errors",
    "lost units": "read_errors.lost_units",
    "soft attempts": "reliability.soft_levels",
    "attempt": "read_errors.attempts.*.attempt",
    "made": "read_errors.attempts.*.reads",
    "failed": "read_errors.attempts.*.failed",
    "mean time": "read_errors.attempts.*.mean_ns",
}
#: The only number of a comparison that the engine does not state.
_RETRIES = "Attempts at reads of the flash after the first, for 1,000 first attempts."


def measures() -> dict[str, str]:
    """Returns the definitions of the rows of a comparison, of the columns of tables and of the main numbers."""
    found = {title: terms.key(key) for title, key in _KEYS.items()} | {"retries per 1,000 reads": _RETRIES}
    for field, title in LATENCY_COLUMNS:
        meaning = terms.key(f"latency.OP.{field}")
        found |= {title: meaning, f"read {title}": meaning, f"write {title}": meaning}
    found |= {f"mean {op}": found["mean"] for op in ("read", "write")}
    return found | {f"of it for {reason}": meaning for reason, meaning in terms.reasons().items()}


def warnings(run: RunData) -> list[str]:
    """Returns the conditions of a run under which its numbers must not be taken at face value."""
    found = []
    if run.status != "complete":
        found.append("partial: the run was stopped before its end")
    if not run.latency["all"].count:
        found.append("nothing was measured")
    if run.summary.get("saturated") is True:
        found.append("saturated: the backlog was still growing at the end")
    if run.summary.get("rejected"):
        found.append(f"{counted(run.summary['rejected'], 'command')} rejected")
    if (run.summary.get("power_failure") or {}).get("lost_pages"):
        found.append(f"{counted(run.summary['power_failure']['lost_pages'], 'page')} lost while the drive was without power")
    found += _padding(run)
    found += _short_batches(run)
    if run.read_errors and run.read_errors.media_errors:
        found.append(counted(run.read_errors.media_errors, "uncorrectable read"))
    if run.read_errors and run.read_errors.lost_units:
        found.append(f"{counted(run.read_errors.lost_units, 'unit')} lost in moves and rewrites")
    return found


def _padding(run: RunData) -> list[str]:
    """Returns a warning if more than half of what the run programmed is padding."""
    programs = run.summary["flash"]["programs"]
    padding, whole = programs.get("padding", 0), sum(programs.values())
    return [f"padding is {100 * padding / whole:.0f} % of what is programmed"] if 2 * padding > whole else []


def short(name: str) -> str:
    """Returns the name of a drive or workload without its folders."""
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def headline(run: RunData) -> list[list[tuple[str, str]]]:
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


def latency_table(run: RunData) -> str:
    """Returns a table of latency by operation."""
    head = ["", "commands", *(title for _, title in LATENCY_COLUMNS)]
    return table(head, latency_rows(run), meanings=measures())


def latency_rows(run: RunData) -> list[list[str]]:
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


def shown_operations(runs: Sequence[RunData]) -> list[str]:
    """Returns the operations that any run measured; ``all`` only if a run measured several, or it repeats the one."""
    found = [op for op in runs[0].latency if any(run.latency[op].count for run in runs)]
    single = all(sum(run.latency[op].count > 0 for op in found if op != "all") < 2 for run in runs)
    return [op for op in found if op != "all"] if single else found


def _batches(run: RunData, op: str) -> Mapping[str, Any] | None:
    """Returns the intervals of an operation, if there are batches from which they follow."""
    found: Mapping[str, Any] = run.summary.get("intervals", {}).get(op, {})
    return found if found.get("batches", 0) > 1 else None


def _half_width(interval: Mapping[str, Any] | None, value: float | None) -> str:
    """Formats half of the width of a confidence interval as a share of the value; empty if it is not known."""
    if interval is None or interval["low"] is None or not value:
        return ""
    return f"±{percent((interval['high'] - interval['low']) / 2.0 / value)}"


def _short_batches(run: RunData) -> list[str]:
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


def cause_table(run: RunData) -> str:
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
        rows.append([*row, f"{cause}: {terms.causes()[cause]}" if cause in terms.causes() else ""])
    rows.append(["sum", *(cell for op in ops for cell in (_micro(sum(run.causes[op].values())), "100.0 %")), ""])
    return table(head, rows, explained=True) if ops else ""


def flash_table(run: RunData) -> str:
    """Returns a table of the flash operations by reason."""
    flash = run.summary["flash"]
    kinds = ("reads", "programs", "erases")
    reasons = dict.fromkeys(reason for kind in kinds for reason, number in flash[kind].items() if number)
    rows = [[reason, *(count(flash[kind].get(reason, 0)) for kind in kinds)] for reason in reasons]
    rows.append(["all", *(count(_total(run, kind)) for kind in kinds)])
    return table(["for", "flash reads", "units programmed", "blocks erased"], rows, meanings=measures() | terms.reasons())


def state_tables(run: RunData) -> str:
    """Returns tables of starting state, policy, wear, reliability, power failure, commands and steady state."""
    summary = run.summary
    numbers: list[tuple[str, str, Any]] = [
        ("Starting state", "starting_state", summary["starting_state"]),
        ("Policy", "policy_stats", summary["policy_stats"]),
        ("Wear", "", {"wear": summary["wear"], "effective_wear": summary["effective_wear"]}),
        ("Reliability", "reliability", summary["reliability"]),
        ("Power failure", "power_failure", power_failure(run)),
        ("Commands", "", {**run.commands, "rejected": summary["rejected"], "unmapped_reads": summary.get("unmapped_reads")}),
        ("Steady state", "", {"steady": summary["steady"], "saturated": summary["saturated"]}),
    ]
    blocks = [(title, _pairs_table(run, at, value)) for title, at, value in numbers if leaves_of(value)]
    cells = "".join(f"<div><h4>{title}</h4>{text}</div>" for title, text in blocks)
    return f'<div class="columns">{cells}</div>'


def _pairs_table(run: RunData, section: str, value: Any) -> str:
    """Returns the table of the leaves of a section of the summary, with their definitions."""
    return table(None, _pairs(value), meanings=_meanings(run, section, value))


def _meanings(run: RunData, section: str, value: Any) -> dict[str, str]:
    """Returns the definitions of the leaves of a section of the summary, by their names as :func:`_pairs` has them."""
    found = {}
    for name, _ in leaves_of(value):
        path = ".".join([*filter(None, [section]), *name.split(" ")])
        if section == "policy_stats":
            found[_name(name)] = terms.statistic(run.policy, name)
        else:
            found[_name(name)] = terms.key("commands.OP" if path in run.commands else path)
    return found


def power_failure(run: RunData) -> dict[str, Any]:
    """Returns the values that a power failure set in the summary; empty if power did not fail."""
    found = run.summary.get("power_failure") or {}
    return {name: value for name, value in found.items() if value is not None}


def policy_tables(runs: Sequence[RunData], names: Sequence[str]) -> str:
    """Returns tables of the policies' counters and of the states they ran in, with one column for each run."""
    parts = []
    for title, section, numbers in (
        ("Policy", "policy_stats", [run.summary["policy_stats"] for run in runs]),
        ("Starting state", "starting_state", [run.summary["starting_state"] for run in runs]),
        ("Reliability", "reliability", [run.summary["reliability"] for run in runs]),
        ("Power failure", "power_failure", [power_failure(run) for run in runs]),
    ):
        columns = [dict(_pairs(each)) for each in numbers]
        fields = list(dict.fromkeys(field for column in columns for field in column))
        if fields:
            rows = [[field, *(column.get(field, "–") for column in columns)] for field in fields]
            known = [_meanings(run, section, each).items() for run, each in zip(runs, numbers, strict=True)]
            meanings = {field: meaning for items in reversed(known) for field, meaning in items if meaning}
            parts.append(f"<h4>{title}</h4>" + table(["", *names], rows, meanings=meanings))
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a comparison: its name, its value in each run, and the values as texts."""

    title: str
    values: Sequence[float | None]
    texts: Sequence[str]
    #: -1 if lower values are better, 1 if higher ones are, 0 if neither.
    better: int = 0


def comparison_rows(runs: Sequence[RunData]) -> list[tuple[str, list[Row]]]:
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
        row("write amplification by bytes", [run.write_amplification_bytes for run in runs], ratio),
    ]
    for reason in dict.fromkeys(reason for share in shares for reason in share):
        rows.append(row(f"of it for {reason}", [share.get(reason) for share in shares], ratio, 0 if reason == "host" else -1))
    rows += [
        row("units programmed", [_total(run, "programs") for run in runs], count),
        row("blocks erased", [_total(run, "erases") for run in runs], count),
        row("free blocks", [run.summary["free_blocks"]["mean"] for run in runs], ratio, 0),
        row("simulated time", [run.simulated_ns for run in runs], duration, 0),
    ]
    groups += [("throughput and cost", rows), ("reads that fail", _read_error_rows(runs))]
    known = [(name, [row for row in rows if any(value is not None for value in row.values)]) for name, rows in groups]
    return [(name, rows) for name, rows in known if rows]


def _read_error_rows(runs: Sequence[RunData]) -> list[Row]:
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
    meanings: Mapping[str, str] | None = None,
) -> str:
    """Returns an HTML table; a row that is a string is a heading of those below it.

    The last column of an `explained` table is text. On a narrow window the cells of a row wrap, each below the title of
    its column. Titles of columns and rows that have one of the `meanings` show it when the pointer or the focus is on
    them.
    """
    known = meanings or {}
    titles = ["", *(f' data-column="{escape(title)}"' for title in (head or ("", ""))[1:])]
    lines = []
    for row in rows:
        if isinstance(row, str):
            lines.append(group(row, len(titles)))
            continue
        cells = [f"<td{title}>{escape(cell)}</td>" for title, cell in zip(titles[1:], row[1:], strict=True)]
        lines.append(f"<tr>{row_heading(row[0], known.get(row[0], ''))}{''.join(cells)}</tr>")
    kind = f"wraps{' explained' if explained else ''}" if head else ""
    return framed_table(headings(head, known) if head else "", lines, kind)


def framed_table(head: str, lines: Sequence[str], kind: str) -> str:
    """Returns a table of rows in a frame that scrolls sideways where the window is narrow."""
    body = "".join(lines).removeprefix(_NEXT_GROUP)
    named_kind = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named_kind}>{head}<tbody>{body}</tbody></table></div>'


#: Between two groups of rows.
_NEXT_GROUP = "</tbody><tbody>"


def group(title: str, width: int) -> str:
    """Returns the heading of the rows below it, up to the next heading."""
    return f'{_NEXT_GROUP}<tr class="group"><th scope="rowgroup" colspan="{width}">{escape(title)}</th></tr>'


def headings(titles: Sequence[str], meanings: Mapping[str, str]) -> str:
    """Returns the headings of columns. An empty corner heads nothing."""
    cells = (
        f'<th scope="col">{name_with_meaning(title, meanings.get(title, ""))}</th>' if title else "<td></td>" for title in titles
    )
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def row_heading(title: str, meaning: str = "") -> str:
    """Returns the first cell of a row, which names it."""
    return f'<th scope="row">{name_with_meaning(title, meaning)}</th>'


def name_with_meaning(text: str, meaning: str) -> str:
    """Returns a name that shows its meaning, if it has one, when the pointer or the focus is on it."""
    return f'<span title="{escape(meaning)}">{escape(text)}</span>' if meaning else escape(text)


def leaves_of(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Returns the leaves of nested tables, with their names joined."""
    if isinstance(value, Mapping):
        return [leaf for name, item in value.items() for leaf in leaves_of(item, f"{prefix} {name}".strip())]
    return [(prefix, value)]


def value_text(name: str, value: Any) -> str:
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
            return ", ".join(value_text(name, item) for item in value) or "–"
    return str(value)


def _pairs(value: Any) -> list[tuple[str, str]]:
    return [(_name(name), value_text(name, item)) for name, item in leaves_of(value)]


def _name(name: str) -> str:
    return name.replace("_", " ").removesuffix(" ns")


def _tail(value: int | None) -> str:
    return "n < 10" if value is None else duration(value)


def latency_text(value: float | None, measured: int) -> str:
    """Formats a latency; a missing one as the reason: too few samples, or none."""
    return duration(value) if value is not None else ("n < 10" if measured else "–")


def _micro(ns: float) -> str:
    return f"{significant(ns / 1000)} us"


def _total(run: RunData, kind: str) -> int:
    return sum(run.summary["flash"][kind].values())
