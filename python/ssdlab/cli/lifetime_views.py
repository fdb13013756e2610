"""Lifetime of a drive as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ssdlab.cli.fitting import put
from ssdlab.cli.views import differs_by_bytes, new_table
from ssdlab.lifetimes import Lifetime
from ssdlab.report.content import short
from ssdlab.units import YEAR_S, count, duration, percent, ratio, scaled, significant, size

_ENDS: dict[str | None, str] = {
    "mean_wear": "its blocks are worn out on average",
    "first_block": "the first block is worn out",
    "error_rate": "in the first block the code no longer keeps the promise",
    "spare": "a die can spare no more blocks",
    "max_passes": "as many passes as were asked for; it is not worn out",
    "time": "the longest time that can be simulated; it is not worn out",
    None: "stopped; it is not worn out",
}
#: Texts for extrapolated lifetimes, which follow the mean of the blocks.
_EXTRAPOLATED_ENDS: dict[str | None, str] = {"error_rate": "in a block of mean wear the code no longer keeps the promise"}


def show_lifetime(console: Console, life: Lifetime) -> None:
    """Prints totals of wear, host writes and time, then a row for each interval of wear."""
    report = life.report
    subtitle = f"policy {report['policy']} · seed {report['seed']} · {report['method']}"
    title = f"{short(report['drive'])} · {short(report['workload'])}"
    console.print(Text.assemble((title, "bold"), (f"   {subtitle}", "dim")))
    console.print()
    put(console, _totals(report))
    put(console, _intervals(report))


def _totals(report: Mapping[str, Any]) -> Table:
    ends = _ENDS | _EXTRAPOLATED_ENDS if report["method"] == "extrapolate" else _ENDS
    table = new_table("the end", ends[report["ended_by"]])
    table.columns[1].justify = "left"
    limit = f"of {significant(report['wear_limit'])} nominal erases"
    table.add_row("effective wear", _spread(report, "effective_wear") + f", {limit}")
    table.add_row("cycles", _spread(report, "cycles") + f", {significant(report['max_pe_ratio'])} times the limit")
    table.add_row("wear of an erase", ratio(report["wear_per_erase"]))
    written = f"{size(report['host_bytes_written'])}, {significant(report['drive_writes'])} drive writes"
    table.add_row("written by the host", f"{written}, write amplification {_amplification(report)}")
    passes = "" if report["method"] == "extrapolate" else f", {count(report['passes'])} passes"
    rate = f"at {scaled(report['write_bytes_per_s'], 'B/s')}{passes}"
    table.add_row("at the workload's rate", f"{_years(report['years_at_workload_rate'])} {rate}")
    if report["retired_blocks"]:
        table.add_row("retired blocks", f"{count(report['retired_blocks'])} of {count(report['blocks'])}")
    for kind in ("erase_modes", "write_modes"):
        total = sum(report[kind].values())
        if len(report[kind]) > 1 and total:
            shares = ", ".join(f"{name} {percent(number / total)}" for name, number in report[kind].items() if number)
            table.add_row(kind.replace("_", " "), shares)
    return table


def _amplification(report: Mapping[str, Any]) -> str:
    """Formats write amplification, by bytes as well where that is another number."""
    units, by_bytes = report["write_amplification"], report["write_amplification_bytes"]
    return ratio(units) + (f" by mapping units, {ratio(by_bytes)} by bytes" if differs_by_bytes(units, by_bytes) else "")


def _spread(report: Mapping[str, Any], name: str) -> str:
    """Formats a mean with minimum and maximum, if these are known."""
    mean, least, most = (report[f"{name}_{what}"] for what in ("mean", "min", "max"))
    return significant(mean) if least is None else f"{significant(mean)} ({significant(least)} to {significant(most)})"


def _years(years: float) -> str:
    """Formats a time, which may be a second of a small model or a century of a trace."""
    return f"{significant(years)} years" if years >= 1 else duration(years * YEAR_S * 1e9)


def _intervals(report: Mapping[str, Any]) -> Table:
    table = new_table("effective wear", "cycles", "wear of an erase", "written", "write amplification", "write latency", "time")
    for row in report["intervals"]:
        mark = "" if row["steady"] is not False else " (not steady)"
        table.add_row(
            f"{significant(row['effective_wear_from'])} to {significant(row['effective_wear_to'])}{mark}",
            significant(row["cycles"]),
            ratio(row["wear_per_erase"]),
            size(row["host_bytes_written"]),
            ratio(row["write_amplification"]),
            duration(row["write_latency_mean_ns"]),
            _years(row["years"]),
        )
    return table
