"""Results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ssdlab.cli.fitting import fits, put
from ssdlab.report import streams, tail, verdict
from ssdlab.report.content import (
    LATENCY_COLUMNS,
    Row,
    comparison_rows,
    in_words,
    latency_rows,
    leaves_of,
    power_failure,
    short,
    value_text,
    warnings,
)
from ssdlab.report.read_errors import totals
from ssdlab.run_names import run_names
from ssdlab.units import count, duration, percent, physical, scaled, significant

if TYPE_CHECKING:
    from ssdlab.comparison import Comparison
    from ssdlab.results import RunData


def show_run(console: Console, result: RunData) -> None:
    """Prints the main results of a run."""
    _title(
        console,
        f"{short(result.drive)} · {short(result.workload)}",
        f"policy {result.policy} · seed {result.seed}",
        {"": result},
    )
    put(console, _latency(result))
    _tail(console, result)
    put(console, _throughput(result))
    for table in (
        _streams(result),
        _energy(result),
        _causes(result),
        _read_errors(result),
        _amplification(result),
        _power_failure(result),
        _policy(result),
    ):
        if table is not None:
            put(console, table)


def show_served(console: Console, summary: Mapping[str, Any]) -> None:
    """Prints what the clients of a server did, in simulated time."""
    table = new_table("latency", "commands", "mean", "50 %", "99 %", "99.9 %", "max")
    for name, found in summary["latency"].items():
        if name == "all" or found["count"]:
            times = (duration(found[key]) for key in ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns"))
            table.add_row(name, count(found["count"]), *times)
    put(console, table)
    server = summary["server"]
    requests = {name: number for name, number in server["requests"].items() if number}
    table = new_table("server", "")
    table.add_row("clock", server["clock"])
    table.add_row("simulated time", duration(summary["simulated_ns"]))
    table.add_row("connections", count(server["connections"]))
    for name, number in requests.items():
        table.add_row(_words(name), count(number))
    for name in ("requests_failed", "power_losses"):
        if server[name]:
            table.add_row(_words(name), count(server[name]))
    if server["lateness"]:
        table.add_row("lateness, mean", duration(server["lateness"]["mean_ns"]))
        table.add_row("lateness, max", duration(server["lateness"]["max_ns"]))
    put(console, table)


def show_firmware(console: Console, result: RunData) -> None:
    """Prints the work of the firmware that cores execute, by task, by core if there are several, and by function."""
    firmware = result.summary["firmware"]
    for title, parts in (("task", firmware["tasks"]), ("core", firmware["cores"]), ("function", firmware["functions"])):
        if title == "core" and len(parts) == 1:
            continue
        table = new_table(f"firmware by {title}", "instructions", "cycles", "share")
        for name, work in sorted(parts.items(), key=lambda part: (-part[1]["cycles"], part[0])):
            table.add_row(Text(name), count(work["instructions"]), count(work["cycles"]), _share(work, firmware))
        table.add_row("all", count(firmware["instructions"]), count(firmware["cycles"]), _share(firmware, firmware))
        put(console, table)
    if len(firmware["cores"]) > 1:
        put(console, _waits_of_cores(firmware["cores"]))


def _waits_of_cores(cores: Mapping[str, Mapping[str, float]]) -> Table:
    """Returns the utilisation of each core, and how long it waited for the others."""
    table = new_table("core", "utilisation", "interconnect wait (cycles)", "locks", "lock wait (cycles)")
    for name, core in cores.items():
        utilisation = "" if core["utilisation"] is None else percent(core["utilisation"])
        waits = (count(int(core[key])) for key in ("interconnect_wait_cycles", "locks", "lock_wait_cycles"))
        table.add_row(Text(name), utilisation, *waits)
    return table


def _share(work: Mapping[str, int], whole: Mapping[str, int]) -> str:
    return percent(work["cycles"] / whole["cycles"]) if whole["cycles"] else ""


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Prints the runs side by side, with ratios to the first run."""
    runs = comparison.runs
    names = run_names(runs)
    _title(
        console,
        f"{short(runs[0].drive)} · {short(runs[0].workload)}",
        f"seed {runs[0].seed} · ratios to {names[0]}",
        dict(zip(names, runs, strict=True)),
    )
    beside = _comparison(runs, names, lambda row: map(_with_ratio, row.texts, _ratios(row)), "")
    if fits(console, beside):
        put(console, beside)
    else:
        put(console, _comparison(runs, names, lambda row: row.texts, ""))
        put(console, _comparison(runs, names, lambda row: _ratios(row)[1:], f"ratio to {names[0]}", 1))
    for line in verdict.lines(runs):
        console.print(Text(line))
    console.print()
    if (causes := _causes_beside(runs, names)) is not None:
        put(console, causes)
    for title, numbers in (
        ("power failure", [power_failure(run) for run in runs]),
        ("policy", [run.summary["policy_stats"] for run in runs]),
    ):
        stats = [{name: value for name, value in leaves_of(each) if name} for each in numbers]
        counters = list(dict.fromkeys(name for stat in stats for name in stat))
        if counters:
            table = new_table(title, *names)
            for name in counters:
                table.add_row(_words(name), *(value_text(name, stat[name]) if name in stat else "–" for stat in stats))
            put(console, table)


def _causes_beside(runs: Sequence[RunData], names: Sequence[str]) -> Table | None:
    """Returns the mean time of all commands by cause, one column for each run, the largest cause first."""
    causes = [run.causes["all"] for run in runs]
    order = sorted(
        {name for each in causes for name in each}, key=lambda name: (-max(each.get(name, 0.0) for each in causes), name)
    )
    if not order:
        return None
    table = new_table("mean time by cause", *names)
    for cause in order:
        table.add_row(in_words(cause), *(duration(each[cause]) if each.get(cause) else "" for each in causes))
    return table


def _comparison(
    runs: Sequence[RunData],
    names: Sequence[str],
    cells: Callable[[Row], Iterable[str | Text]],
    title: str,
    first: int = 0,
) -> Table:
    """Returns a table of `cells` of each main number, for the runs from the `first` on."""
    table = new_table(title, *names[first:])
    for group, rows in [*comparison_rows(runs), *streams.compared_rows(runs)]:
        table.add_row(Text(group, style="dim"))
        for row in rows:
            table.add_row(f"  {row.title}", *cells(row))
        table.add_section()
    return table


def show_facts(console: Console, facts: Mapping[str, Any]) -> None:
    """Prints named numbers; a list of tables becomes a table of its own."""
    plain = new_table("", "")
    plain.show_header = False
    lists: list[tuple[str, list[Mapping[str, Any]]]] = []
    for name, value in facts.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            lists.append((name, value))
        else:
            for leaf, number in leaves_of(value, name):
                plain.add_row(_words(leaf), value_text(leaf, number))
    put(console, plain)
    for name, rows in lists:
        titles = list(dict.fromkeys(title for row in rows for title in row))
        table = new_table(*(_words(title) for title in titles), title=_words(name))
        for row in rows:
            table.add_row(*(value_text(title, row.get(title)) for title in titles))
        put(console, table)


def show_side_by_side(console: Console, columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints the same measures of several subjects, one column each."""
    leaves = [dict(leaves_of(column)) for column in columns.values()]
    table = new_table("", *(_words(name) for name in columns))
    for name in dict.fromkeys(name for column in leaves for name in column):
        table.add_row(_words(name), *(value_text(name, column.get(name)) for column in leaves))
    put(console, table)


def _title(console: Console, title: str, subtitle: str, runs: Mapping[str, RunData]) -> None:
    simulated = max(run.simulated_ns for run in runs.values())
    console.print(Text.assemble((title, "bold"), (f"   {subtitle} · {duration(simulated)} simulated", "dim")))
    for name, run in runs.items():
        for warning in warnings(run):
            prefix = f"{name}: " if len(runs) > 1 else ""
            console.print(Text(f"{prefix}{warning}", style="bold red"))
    console.print()


def _latency(result: RunData) -> Table:
    table = new_table("latency", "commands", *(title for _, title in LATENCY_COLUMNS))
    for row in latency_rows(result):
        table.add_row(*row)
    return table


def _tail(console: Console, result: RunData) -> None:
    """Prints what the tail of each operation consists of."""
    found = tail.why_or_none(result)
    if found is not None:
        for sentence in found.sentences:
            console.print(Text(sentence))
        console.print()


def _throughput(result: RunData) -> Table:
    table = new_table("throughput", "IOPS", "read", "write")
    table.add_row(
        "",
        scaled(result.iops, ""),
        scaled(result.read_bytes_per_s, "B/s"),
        scaled(result.write_bytes_per_s, "B/s"),
    )
    return table


def _streams(result: RunData) -> Table | None:
    if not result.streams:
        return None
    table = new_table("stream", *streams.COLUMNS)
    for row in streams.rows(result):
        table.add_row(*row)
    return table


def _energy(result: RunData) -> Table | None:
    energy = result.summary["energy"]
    if energy["total_j"] is None:
        return None
    # A row has figures of the same parts: only the flash is known over time.
    table = new_table("power", "mean", "99.9 %", "peak", "energy", "per host byte", "per 4 KiB written")
    whole = [physical(energy[key], "J") for key in ("total_j", "per_host_byte_j")]
    flash = [physical(energy[key], "W") for key in ("flash_mean_w", "p99_9_w", "flash_peak_w")]
    if len(energy["parts"]) > 1:
        table.add_row(", ".join(energy["parts"]), physical(energy["mean_w"], "W"), "", "", *whole, "")
        whole = [physical(energy["flash_j"], "J"), ""]
    table.add_row("flash", *flash, *whole, physical(energy["written_4k_j"], "J"))
    return table


def _causes(result: RunData) -> Table | None:
    ops = [op for op in ("read", "write") if result.causes.get(op)]
    names = {cause for op in ops for cause, span in result.causes[op].items() if span}
    if not names:
        return None
    order = sorted(names, key=lambda cause: (-max(result.causes[op].get(cause, 0.0) for op in ops), cause))
    table = new_table("mean time by cause", *(title for op in ops for title in (op, "")))
    for cause in order:
        cells: list[str] = []
        for op in ops:
            span, whole = result.causes[op].get(cause, 0.0), sum(result.causes[op].values())
            cells += [duration(span), percent(span / whole)] if span else ["", ""]
        table.add_row(in_words(cause), *cells)
    # The words of a cause are folded rather than the columns divided.
    table.columns[0].no_wrap = False
    return table


def _read_errors(result: RunData) -> Table | None:
    if result.read_errors is None:
        return None
    numbers = totals(result.read_errors)
    table = new_table("reads that fail", *(title for title, _ in numbers))
    table.add_row("", *(text for _, text in numbers))
    return table


def differs_by_bytes(units: float | None, by_bytes: float | None) -> bool:
    """Returns true if write amplification by bytes differs by more than 5 % from that by mapping units."""
    return units is not None and by_bytes is not None and abs(by_bytes - units) > 0.05 * units


def _amplification(result: RunData) -> Table | None:
    shares = result.write_amplification_by_reason
    if not shares:
        return None
    flash = result.summary["flash"]
    table = new_table(
        "write amplification",
        significant(result.write_amplification or 0.0),
        "units programmed",
        "flash reads",
        "blocks erased",
    )
    reasons = dict.fromkeys(reason for kind in ("programs", "reads", "erases") for reason in flash[kind])
    for reason in reasons:
        counts = [flash[kind].get(reason, 0) for kind in ("programs", "reads", "erases")]
        if any(counts):
            share = significant(shares[reason]) if reason in shares else ""
            table.add_row(f"  {reason}", share, *(count(number) for number in counts))
    if differs_by_bytes(result.write_amplification, result.write_amplification_bytes):
        table.add_row("  by bytes of the host", significant(result.write_amplification_bytes or 0.0), "", "", "")
    return table


def _power_failure(result: RunData) -> Table | None:
    facts = leaves_of(power_failure(result))
    if not any(name for name, _ in facts):
        return None
    table = new_table("power failure", "")
    for name, value in facts:
        table.add_row(_words(name), value_text(name, value))
    return table


def _policy(result: RunData) -> Table | None:
    stats = leaves_of(result.summary["policy_stats"])
    if not any(name for name, _ in stats):
        return None
    table = new_table(f"policy {result.policy}", "")
    for name, value in stats:
        table.add_row(_words(name), value_text(name, value))
    return table


def new_table(*titles: str, title: str | None = None) -> Table:
    """Returns a table in the common style: the first column is left-aligned, the others right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for index, heading in enumerate(titles):
        table.add_column(heading, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def name_list(title: str, about: str, rows: Mapping[str, str]) -> Table:
    """Returns a table of names with what each means, a text that may be folded."""
    table = Table(title, about, box=None, pad_edge=False, header_style="dim")
    table.columns[0].no_wrap = True
    for name, text in rows.items():
        table.add_row(Text(name), Text(text))
    return table


def _with_ratio(text: str, ratio: Text) -> Text:
    """Returns a number with its ratio to that of the first run beside it, if there is one."""
    return Text.assemble(text, f"  ×{' ' * (6 - len(ratio))}", ratio) if ratio else Text(text)


def _ratios(row: Row) -> list[Text]:
    """Returns the ratios of the values of a row to the first; empty for the first, and where there is none."""
    base, *others = row.values
    return [Text(), *(_ratio(value, base, row.better) for value in others)]


def _ratio(value: float | None, base: float | None, better: int) -> Text:
    """Returns a ratio, coloured by which values are better."""
    if value is None or not base:
        return Text()
    style = {"better": "green", "worse": "red", "": "dim"}[verdict.judgement_by_ratio(value / base, better)]
    return Text(significant(value / base, 3), style=style)


def _words(name: str) -> str:
    return name.removesuffix("_ns").replace("_", " ")
