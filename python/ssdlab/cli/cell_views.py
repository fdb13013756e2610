"""Answers of the cell laboratory as tables on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from ssdlab.cell.facts import step_unit
from ssdlab.cell.words import rate, span, step_text
from ssdlab.cli.fitting import put
from ssdlab.cli.views import new_table
from ssdlab.units import YEAR_S, count, duration, percent, significant

if TYPE_CHECKING:
    from ssdlab.cell import Budget, CodeMeasurement, Endurance, Limits, Modes, MonteCarlo, Part, PartRow, Program, Rber, Vth

#: Text for a number that does not exist.
_NONE = "none"


def show_heading(console: Console, title: str, *facts: str) -> None:
    """Prints the subject of the question as the first line."""
    console.print(Text.assemble((title, "bold"), ("".join(f" · {fact}" for fact in facts if fact), "dim")))
    console.print()


def show_parts(console: Console, rows: Sequence[PartRow]) -> None:
    """Prints all parts."""
    table = new_table("part", "bits", "rated cycles", "step", "tPROG", "corrected", "")
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    for row in rows:
        step = "–" if row.nominal_step is None else step_text(row.nominal_step, row.step_unit)
        table.add_row(
            row.name,
            str(row.page_types),
            count(row.rated_pe_cycles),
            step,
            duration(row.program_time_ns),
            rate(row.limit),
            row.summary,
        )
    put(console, table)


def show_part(console: Console, part: Part) -> None:
    """Prints every number of one part."""
    facts = f"corrects {rate(part.limit)} · codewords of {part.codeword_bits:,} bits, {part.parity_bits:,} of them parity"
    show_heading(console, part.name, part.summary, facts)
    table = new_table("", "", "value", "standing", "source")
    for column in table.columns:
        column.justify = "left"
        column.no_wrap = False
    for one in part.parameters:
        standing = Text(one.standing, style="yellow" if one.standing in ("recalled", "assumed") else "")
        table.add_row(one.symbol, one.meaning, one.value, standing, one.source)
    put(console, table)


def show_vth(console: Console, answer: Vth) -> None:
    """Prints mean and deviation of each level and the references between levels, then the error rates of the pages."""
    table = new_table("level", "mean", "deviation", "reference above it", "")
    for at, (name, curve) in enumerate(answer.levels.items()):
        mass = curve / curve.sum()
        mean = float((mass * answer.voltage).sum())
        deviation = float(np.sqrt((mass * (answer.voltage - mean) ** 2).sum()))
        reference = f"{answer.references[at]:.3f}" if at < len(answer.references) else ""
        table.add_row(name, f"{mean:.3f}", f"{deviation:.3f}", reference, answer.unit)
    put(console, table)
    table = new_table("page", "error rate")
    for name, value in answer.pages.items():
        table.add_row(name, _rate(value, answer.limit))
    put(console, table)
    _explain_mark(console, list(answer.pages.values()), answer.limit)


def show_rber(console: Console, answer: Rber) -> None:
    """Prints the error rates, with a row for each condition."""
    pe, age, step = (np.atleast_1d(axis) for axis in (answer.pe, answer.age_s, answer.step))
    shape = (len(pe), len(age), len(step))
    pages = {name: np.asarray(values).reshape(shape) for name, values in answer.pages.items()}
    worst = np.asarray(answer.worst).reshape(shape)
    unit = step_unit(answer.cell)
    table = new_table("cycles", "age", "step", *pages, "worst")
    for at in product(*map(range, shape)):
        table.add_row(
            count(pe[at[0]]),
            span(age[at[1]]) if age[at[1]] else "fresh",
            step_text(step[at[2]], unit),
            *(_rate(values[at], answer.limit) for values in pages.values()),
            _rate(worst[at], answer.limit),
        )
    put(console, table)
    _explain_mark(console, worst, answer.limit)


def show_modes(console: Console, answer: Modes) -> None:
    """Prints the widest step and its program time: a row for each wear, a column for each retention."""
    pe, retention = np.atleast_1d(answer.pe), np.atleast_1d(answer.retention_s)
    step = np.asarray(answer.step).reshape(len(pe), len(retention))
    time = np.asarray(answer.program_time_ns).reshape(step.shape)
    unit = step_unit(answer.cell)
    console.print(Text("widest step, mean program time", style="bold"))
    table = new_table("cycles", *(f"kept {span(value)}" for value in retention))
    for row, cycles in enumerate(pe):
        table.add_row(count(cycles), *(_mode(one, took, unit) for one, took in zip(step[row], time[row], strict=True)))
    put(console, table)


def show_program(console: Console, answer: Program) -> None:
    """Prints the program time by page type."""
    table = new_table("page", "pulses", "mean", "shortest", "longest")
    for name, page in answer.pages.items():
        # Times with a probability of at most one in a million are left out.
        times = page.time_ns[page.probability > 1e-6]
        shown = (duration(float(value)) for value in (page.mean_ns, times.min(), times.max()))
        table.add_row(name, significant(page.pulses, 3), *shown)
    console.print(
        Text(f"step {step_text(answer.step, step_unit(answer.cell))}: {duration(answer.mean_ns)} on average", style="bold")
    )
    put(console, table)


def show_limits(console: Console, answer: Limits) -> None:
    """Prints the retention limits: a row for each wear, a column for each step."""
    pe, step = np.atleast_1d(answer.pe), np.atleast_1d(answer.step)
    limit = np.asarray(answer.retention_s).reshape(len(pe), len(step))
    times = np.atleast_1d(answer.program_time_ns)
    unit = step_unit(answer.cell)
    heads = (f"{step_text(one, unit)}\n{_time(took)}" for one, took in zip(step, times, strict=True))
    console.print(Text("retention limit, by step and its program time", style="bold"))
    table = new_table("cycles", *heads)
    for row, cycles in enumerate(pe):
        table.add_row(count(cycles), *(_limit(value, answer.longest_s) for value in limit[row]))
    put(console, table)


def show_endurance(console: Console, answer: Endurance) -> None:
    """Prints the largest number of cycles: a row for each step, a column for each retention."""
    step, retention = np.atleast_1d(answer.step), np.atleast_1d(answer.retention_s)
    cycles = np.asarray(answer.pe_cycles).reshape(len(step), len(retention))
    unit = step_unit(answer.cell)
    title = f"most program/erase cycles (rated: {answer.rated_pe_cycles:,})"
    console.print(Text(title, style="bold"))
    table = new_table("step", *(f"kept {span(value)}" for value in retention))
    for row, one in enumerate(step):
        table.add_row(step_text(one, unit), *(_cycles(value, answer.most_pe_cycles) for value in cycles[row]))
    put(console, table)
    if not answer.erase_modes:
        return
    table = new_table("erase mode", "speed", "wear of a cycle, new", "worn", "cycles if kept for life", "program time")
    for one in answer.erase_modes:
        first, last = (significant(float(value), 3) for value in one.effective_wear[[0, -1]])
        table.add_row(one.mode, one.speed, first, last, f"× {one.lifetime:.2f}", f"× {one.program_scale:.2f}")
    put(console, table)


def _cycles(value: float, most: float) -> str:
    """Formats a number of cycles, of which the search covers at most `most`."""
    if value != value:
        return _NONE
    return f"> {count(most)}" if value >= most else count(value)


def show_budget(console: Console, answer: Budget) -> None:
    """Prints the shares of the window: a column for each wear; if the wear was solved for, the wear that was found."""
    wears = [one["pe_cycles"] for one in answer.asked]
    closes = np.atleast_1d(answer.closes)
    first = answer.asked[0]
    step = f", step {step_text(first['step'], answer.unit)}" if first["step"] else ""
    console.print(Text(f"kept {span(first['retention_s'])}{step}", style="bold"))
    if answer.shares:
        window = np.atleast_1d(answer.window)
        table = new_table(f"window ({answer.unit})", *(f"{count(round(one))} cycles" for one in wears))
        table.add_row("window", *(_NONE if one != one else f"{one:.3f}        " for one in window))
        for name, values in {**answer.shares, "free": answer.free}.items():
            shown = zip(np.atleast_1d(values), window, strict=True)
            table.add_row(
                f"  {name}", *(_NONE if whole != whole else f"{volts:.3f} {percent(volts / whole):>7}" for volts, whole in shown)
            )
        gives = (_NONE if one != one else f"{one:.3f}" for one in np.atleast_1d(answer.code_gives))
        table.add_row("the code gives", *(f"{one}        " for one in gives))
        put(console, table)
    for why in dict.fromkeys(why for why in answer.unknown if why):
        console.print(f"Who spends what is not known: {why}.")
    for at, one in enumerate(wears):
        found = answer.solved[at] if answer.solved else None
        solved = "" if not answer.solve else f"; {answer.solve}: {_solution_text(found, answer.unit)}"
        console.print(f"{count(round(one))} cycles: it {'closes' if closes[at] else 'does not close'}{solved}")


def show_monte_carlo(console: Console, answer: MonteCarlo) -> None:
    """Prints the counted wrong bits beside the expected ones."""
    table = new_table("page", "wrong", "rate", "expected", "deviations")
    for name, wrong in answer.wrong.items():
        table.add_row(name, count(wrong), f"{answer.rate[name]:.4e}", f"{answer.expected[name]:.4e}", f"{answer.z[name]:+.2f}")
    put(console, table)


def show_code(console: Console, answer: CodeMeasurement) -> None:
    """Prints the counts at each point, and the limits that follow from them."""
    facts = (f"{answer.codeword_bits:,} bits", f"seed {answer.seed}", answer.status)
    show_heading(console, answer.code, *facts)
    for level in answer.soft:
        varies = ("cycles",) if answer.channel["varies"] == "pe" else ()
        title = "hard decisions" if level.soft_levels == 0 else f"soft levels: {level.soft_levels}"
        heads = ("raw error rate", *varies, "sent", "failed", "undetected", "failure rate", "95 % bounds", "iterations")
        console.print(Text(title, style="bold"))
        table = new_table(*heads)
        for point in level.points:
            table.add_row(
                f"{point.rber:.3e}",
                *((count(point.at),) if varies else ()),
                count(point.frames),
                count(point.failed),
                count(point.undetected),
                rate(point.failure) if point.frames else "–",
                f"{rate(point.low)} to {rate(point.high)}" if point.frames else "–",
                f"{point.iterations / point.frames:.1f}" if point.iterations else "–",
            )
        put(console, table)
        known = level.limit == level.limit
        limit = rate(level.limit) if known else "not enclosed by these points: more codewords, or more error rates, are needed"
        console.print(Text(f"corrects (one codeword in a thousand fails): {limit}", style="bold" if known else "yellow"))
        console.print()


def _rate(value: float, limit: float) -> Text:
    return Text(f"{rate(value)} *", style="bold red") if value > limit else Text(f"{rate(value)}  ")


def _explain_mark(console: Console, values: Any, limit: float) -> None:
    if np.any(np.asarray(values) > limit):
        console.print(Text(f"* beyond what is corrected, {rate(limit)}", style="dim"))


def _mode(step: float, time: float, unit: str) -> str:
    return _NONE if step != step else f"{step_text(round(step, 4), unit)}  {_time(time)}"


def _time(ns: float) -> str:
    return "–" if ns != ns else duration(ns)


def _limit(seconds: float, longest: float) -> str:
    return f"> {longest / YEAR_S:.3g} y" if seconds >= longest else span(seconds)


def _solution_text(found: dict[str, Any] | None, unit: str) -> str:
    if found is None:
        return "cannot be closed"
    shown: dict[str, Callable[[Any], str]] = {
        "step": lambda value: step_text(round(value, 4), unit),
        "program_time_ns": lambda value: f"programs in {duration(value)}",
        "erase_shift": lambda value: f"{value:.3f} V shallower",
        "retention_s": span,
        "pe_cycles": lambda value: f"{count(value)} cycles",
        "limit": lambda value: f"an error rate of {rate(value)} to correct",
        "bch_t_per_4kib": lambda value: f"as BCH with {value} bits / 4 KiB does",
    }
    more = "at least " if found.get("at_least") else ""
    return more + ", ".join(shown[name](value) for name, value in found.items() if name in shown and value is not None)
