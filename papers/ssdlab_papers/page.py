"""The results page: the scoreboard of the works, every entry with the pictures, and the same as data."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from ssdlab.charts import has_matplotlib
from ssdlab.files import write_folder
from ssdlab_papers.claim import CLAIM_VERDICTS, SCORED_VERDICTS, Claim
from ssdlab_papers.entry import Drawing, Entry, Picture, Table
from ssdlab_papers.outcome import VERDICTS, Outcome

__all__ = ["DOCUMENT", "markdown", "picture_file", "save", "table_file"]

#: File of a page with all that its outcomes have.
DOCUMENT = "results.json"
_PAGE, _SCORES, _PICTURES, _TABLES = "RESULTS.md", "scoreboard.json", "pictures", "tables"
_HEADLINES = ("claim", "where", "published", "ours", "on look-alikes", "seeds", "verdict", "why")
_COLUMNS = ("", "where", "what", "published", "standing", "ours", "accepted", "note")
_LEGEND = """\
**met**: ours lies in the accepted range; **missed**: it does not, and the note says why; **shown**: there is nothing to meet, \
ours stands beside what is published. *Standing* is how the published value is known: stated in the work, found in a public \
source, derived, recalled, or assumed. *Other workload*: not the trace that the work ran, so that only mechanisms are asserted."""

_ABOUT_HEADLINES = """\
Claims of each work that its abstract or its conclusion names. *Ours* is on real traces, where a claim is about traces and \
they were given, and *look-alikes only* where the reason says so. ± is half of the 95 % confidence interval over the seeds. \
All claims with their ranges are in [scoreboard.json](scoreboard.json) and below."""
_PROVISIONAL = "**Provisional**: {}: {}. The intervals of few seeds are wide; `--full` runs all of them."

_LEGEND_OF_CLAIMS = """\
Of published claims: **reproduced**: ours lies in the accepted range, which is the resolution of the published value and half \
of the interval of ours; **direction only**: it does not, but points the way that the claim says; **holds if**: it does under \
the condition that the note gives; **differs**; **not testable**: its input is lost; **input**: a parameter of our model, not \
scored. ± is half of the 95 % confidence interval over the seeds. What the works' text does not carry is marked [F] found in \
another source, [D] derived, [R] recalled or [A] assumed, and `FACTS 1.2` is a section of the collection of these numbers, \
`docs/models/FACTS.md`."""


def save(outcomes: Sequence[Outcome], folder: str | PathLike[str], *, force: bool = False) -> Path:
    """Writes the results to a folder.

    It has ``RESULTS.md``, ``results.json``, ``pictures/*.svg`` and ``tables/*.csv``, and if there are claims of a work,
    they are in ``scoreboard.json``.

    Equal outcomes give equal files. Without matplotlib, only pictures that were drawn before are written.

    Raises:
        InputError: the folder is not empty (unless `force` is set and ssdlab wrote all of its content), or cannot be
            created.
    """
    shown = [replace(each, pictures=tuple(filter(_can_be_saved, each.pictures))) for each in outcomes]

    def write(path: Path) -> None:
        (path / _PAGE).write_text(markdown(shown), encoding="utf-8")
        document = {"experiments": [outcome.as_json() for outcome in shown]}
        (path / DOCUMENT).write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        if scores := [claim.as_score() for outcome in shown for claim in outcome.claims]:
            (path / _SCORES).write_text(json.dumps(scores, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        pictures = [picture for outcome in shown for picture in outcome.pictures]
        if pictures:
            (path / _PICTURES).mkdir()
        for picture in pictures:
            picture.chart.save(picture_file(path, picture.name))
        tables = [table for outcome in shown for table in outcome.tables]
        if tables:
            (path / _TABLES).mkdir()
        for table in tables:
            _write_table(table, table_file(path, table.name))

    return write_folder(Path(folder), "papers", write, force=force)


def picture_file(page: Path, name: str) -> Path:
    """Returns the file of a picture of a page."""
    return page / _PICTURES / f"{name}.svg"


def table_file(page: Path, name: str) -> Path:
    """Returns the file of a table of a page."""
    return page / _TABLES / f"{name}.csv"


def _can_be_saved(picture: Picture) -> bool:
    return isinstance(picture.chart, Drawing) or has_matplotlib()


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Returns the page in Markdown. It shows the picture files that are written beside it."""
    commands: dict[str, list[str]] = {}
    for outcome in outcomes:
        form = " --quick" if outcome.quick else " --full" if outcome.full else ""
        commands.setdefault(form + (" --traces DIR" if outcome.traces else ""), []).append(outcome.name)
    run = " and ".join(f"`ssdlab paper {' '.join(names)}{options}`" for options, names in commands.items())
    found = f"What {run} found; this page is generated."
    lines = ["# Published results", "", found, "", *_scoreboard(outcomes)]
    for with_claims, legend, verdicts in ((False, _LEGEND, VERDICTS), (True, _LEGEND_OF_CLAIMS, CLAIM_VERDICTS)):
        counted = [each for each in outcomes if each.has_claims == with_claims]
        if counted:
            rows = [(f"[{each.name}](#{each.name})", each.summary, *map(str, each.counts.values())) for each in counted]
            lines += [legend, "", *_rows(("experiment", "what", *verdicts), rows), ""]
    del lines[-1:]
    for outcome in outcomes:
        lines += ["", f"## {outcome.name}", "", f"{outcome.summary}.", *_works(outcome)]
        lines += [line for number, note in enumerate(outcome.notes, 1) for line in ("", f"({number}) {note}")]
        lines += [
            line for picture in outcome.pictures for line in ("", f"![{picture.chart.title}]({_PICTURES}/{picture.name}.svg)")
        ]
        lines += [line for table in outcome.tables for line in ("", f"[{table.title}]({_TABLES}/{table.name}.csv)")]
    return "\n".join(lines) + "\n"


def _scoreboard(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yields the lines of a table of headline claims for each work, and the number of its claims by verdict."""
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    works = [*dict.fromkeys(claim.work.partition(",")[0] for claim in claims if claim.headline)]
    if not works:
        return
    yield from ("## Scoreboard", "", _ABOUT_HEADLINES, "")
    if few := [outcome for outcome in outcomes if not outcome.full]:
        some = "the column names how many seeds were run, mostly two"
        forms = "quick runs of one seed" if any(outcome.quick for outcome in few) else some
        yield from (_PROVISIONAL.format(", ".join(outcome.name for outcome in few), forms), "")
    counts = [[claim.verdict for claim in claims if claim.work.partition(",")[0] == work] for work in works]
    rows = [(work, *(str(found.count(each)) for each in SCORED_VERDICTS)) for work, found in zip(works, counts, strict=True)]
    yield from (*_rows(("all claims", *SCORED_VERDICTS), rows), "")
    for work in works:
        chosen = [claim for claim in claims if claim.headline and claim.work.partition(",")[0] == work]
        yield from (f"### {work}: headlines", "", *_rows(_HEADLINES, [_headline(claim) for claim in chosen]), "")


def _headline(claim: Claim) -> tuple[str, ...]:
    verdict = f"**{claim.verdict}**" if claim.verdict == "differs" else claim.verdict
    alike = claim.shown if claim.real_trace is False else claim.alike
    ours = "–" if claim.real_trace is False else claim.shown
    why = claim.note or claim.condition or claim.region
    return claim.what, claim.where, claim.published, ours, alike or "–", _seeds(claim), verdict, why


def _seeds(claim: Claim) -> str:
    """Returns the number of seeds; those of runs in which nothing is drawn give equal values."""
    is_equal = claim.interval is not None and claim.interval[0] == claim.interval[1]
    return "none drawn" if not claim.seeds else f"{claim.seeds}, equal" if is_equal else str(claim.seeds)


def _works(outcome: Outcome) -> Iterator[str]:
    """Yields the lines of one table of entries per work, in the order in which the works first appear."""
    notes = outcome.notes
    for work in dict.fromkeys(entry.work for entry in outcome):
        yield from ("", f"### {work}", "")
        yield from _rows(_COLUMNS, [_cells(entry, notes) for entry in outcome if entry.work == work])


def _cells(entry: Entry, notes: list[str]) -> tuple[str, ...]:
    verdict = f"**{entry.verdict}**" if entry.verdict in ("missed", "differs") else entry.verdict
    note = f"({notes.index(entry.note) + 1})" if entry.note else ""
    return verdict, entry.where, entry.what, entry.published, entry.standing, entry.shown, entry.accepted, note


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a Markdown table."""
    return [_row(columns), "|" + " --- |" * len(columns), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    # An unescaped bar would end the cell, and an underscore could start italics.
    return "| " + " | ".join(cell.replace("|", "\\|").replace("_", "\\_") for cell in cells) + " |"


def _write_table(table: Table, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)
