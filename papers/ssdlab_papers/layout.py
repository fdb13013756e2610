"""Pages of results in Markdown: one that leads with a table for each work, and one for each experiment.

The first page has the headlines, each with one sentence. The page of an experiment has all of its claims so, then each
claim under its address, with its range, its conditions and its reasons. Addresses are headings, so that links to them
work in Markdown viewers and in a site made of these files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ssdlab_papers.claim import COUNTED_VERDICTS, Claim
from ssdlab_papers.entry import Entry
from ssdlab_papers.outcome import VERDICTS, Outcome

__all__ = ["FIRST", "LEGEND", "PICTURES", "TABLES", "first_page", "page_of", "pages"]

#: File of the first page, and folders of the pictures and the tables.
FIRST, PICTURES, TABLES = "RESULTS.md", "pictures", "tables"
#: Largest number of words of a measured value in a table.
_MOST_WORDS = 12
_CLAIM_COLUMNS = ("claim", "published", "ours", "verdict", "in one sentence")
_COLUMNS = ("", "where", "what", "published", "standing", "ours", "accepted", "note")
LEGEND = """\
**met**: ours lies in the accepted range; **missed**: it does not, and the note says why; **shown**: there is nothing to meet, \
ours stands beside what is published. *Standing* is how the published value is known: stated in the work, found in a public \
source, derived, recalled, or assumed. *Other workload*: not the trace that the work ran, so that only mechanisms are asserted."""

_ABOUT_HEADLINES = """\
The tables have the claims that the abstract or the conclusion of each work names. A claim leads to its range, settings, \
conditions and reasons. *Ours* is on real traces, where a claim is about traces and they were given. ± is half of the 95 % \
confidence interval over the seeds. The same as data: [scoreboard.json](scoreboard.json)."""
_PROVISIONAL = "**Provisional**: {}: {}. The intervals of few seeds are wide; `--full` runs all of them."
_OTHER_VERSION = "Another version may give other figures: the change log says which changes bear on results."

_LEGEND_OF_CLAIMS = """\
Of published claims: **reproduced**: ours lies in the accepted range, which is the resolution of the published value and half \
of the interval of ours; **direction only**: it does not, but points the way that the claim says, by 1 % or one point at least; \
**holds if**: it does under the condition that the note gives; **differs**; **contradicts itself**: published numbers exclude \
each other, and the note has the arithmetic; **not testable**: its input is lost; **not comparable**: ours is another quantity; \
**derived**: it follows from another published row, which is scored; **input**: a parameter of our model, or what follows from \
it at once; **sanity**: it cannot fail here, and is left out of every count. ± is half of the 95 % confidence interval over the \
seeds. What the works' text does not carry is marked [F] found in another source, [D] derived, [R] recalled or [A] assumed, \
and `FACTS 1.2` is a section of the collection of these numbers, `docs/models/facts.md`."""


def pages(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Returns the texts of the pages by the names of their files."""
    return {FIRST: first_page(outcomes), **{_file(outcome): page_of(outcome) for outcome in outcomes}}


def first_page(outcomes: Sequence[Outcome]) -> str:
    """Returns the page with a table for each work and the list of the experiments."""
    commands: dict[str, list[str]] = {}
    for outcome in outcomes:
        commands.setdefault(_options(outcome), []).append(outcome.name)
    run = " and ".join(f"`ssdlab paper {' '.join(names)}{options}`" for options, names in commands.items())
    lines = ["# Published results", "", f"What {run} found; this page is generated.", "", *_versions(outcomes)]
    lines += [*_headlines(outcomes), "## Experiments", ""]
    for with_claims, legend, verdicts in ((False, LEGEND, VERDICTS), (True, _LEGEND_OF_CLAIMS, (*COUNTED_VERDICTS, "shown"))):
        counted = [each for each in outcomes if each.has_claims == with_claims]
        if counted:
            rows = [(f"[{each.name}]({_file(each)})", each.summary, *map(str, each.counts.values())) for each in counted]
            lines += [*_rows(("experiment", "what", *verdicts), rows), "", legend, ""]
    return "\n".join(lines[:-1]) + "\n"


def page_of(outcome: Outcome) -> str:
    """Returns the page of an experiment: its claims, pictures and values, and each claim in detail."""
    notes = [note for note, count in Counter(entry.note for entry in outcome).items() if note and count > 1]
    values = [entry for entry in outcome if not isinstance(entry, Claim) or entry.verdict == "shown"]
    notes += [entry.note for entry in values if entry.note and entry.note not in notes]
    lines = [f"# {outcome.name}", "", f"{outcome.summary}. [All results]({FIRST})", "", *_versions([outcome])]
    if outcome.claims:
        lines += ["## Claims", "", _LEGEND_OF_CLAIMS, ""]
        for work in dict.fromkeys(claim.work for claim in outcome.claims):
            rows = [_row_of(claim) for claim in outcome.claims if claim.work == work]
            lines += [f"### Claims of {work}", "", *_rows(_CLAIM_COLUMNS, rows), ""]
    if values:
        lines += ["## Values", "", *([] if outcome.claims else [LEGEND, ""]), *_values(values, notes)]
    if outcome.pictures or outcome.tables:
        lines += ["## Pictures and tables", ""]
        for picture in outcome.pictures:
            lines += [f"![{picture.chart.title}]({PICTURES}/{picture.name}.svg)", ""]
        for table in outcome.tables:
            lines += [f"[{table.title}]({TABLES}/{table.name}.csv)", ""]
    if outcome.claims:
        lines += ["## Claims in detail", ""]
        for claim in outcome.claims:
            lines += _detail(claim, notes, _options(outcome))
    if notes:
        lines += ["## Notes", ""]
        for number, note in enumerate(notes, 1):
            lines += [f"### note {number}", "", _text(note), ""]
    return "\n".join(lines[:-1]) + "\n"


def _file(outcome: Outcome) -> str:
    return f"{outcome.name}.md"


def _options(outcome: Outcome) -> str:
    """Returns the options with which an outcome is repeated: its form, and a folder of traces."""
    form = " --quick" if outcome.quick else " --full" if outcome.full else ""
    return form + (" --traces DIR" if outcome.traces else "")


def _versions(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns the lines that say which version made the figures; empty if it is not known."""
    by_version: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.version:
            by_version.setdefault(outcome.version, []).append(outcome.name)
    if not by_version:
        return []
    made = "; ".join(
        f"ssdlab {version}" + (f" ({', '.join(names)})" if len(by_version) > 1 else "") for version, names in by_version.items()
    )
    return [f"The figures were made with {made}. {_OTHER_VERSION}", ""]


def _headlines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yields the lines of a table of headline claims for each work, and the number of its claims by verdict."""
    claims = [(claim, outcome) for outcome in outcomes for claim in outcome.claims]
    works = [*dict.fromkeys(_work(claim) for claim, _ in claims if claim.headline)]
    if not works:
        return
    yield from (_ABOUT_HEADLINES, "")
    if few := [outcome for outcome in outcomes if not outcome.full]:
        some = "the page of each claim says how many seeds were run, mostly two"
        forms = "quick runs of one seed" if any(outcome.quick for outcome in few) else some
        yield from (_PROVISIONAL.format(", ".join(outcome.name for outcome in few), forms), "")
    for work in works:
        chosen = [(claim, outcome) for claim, outcome in claims if claim.headline and _work(claim) == work]
        yield from (f"## {work}", "", *_rows(_CLAIM_COLUMNS, [_row_of(claim, _file(of)) for claim, of in chosen]), "")
    counts = [[claim.verdict for claim, _ in claims if _work(claim) == work] for work in works]
    rows = [(work, *(str(found.count(each)) for each in COUNTED_VERDICTS)) for work, found in zip(works, counts, strict=True)]
    yield from ("## All claims by verdict", "", *_rows(("work", *COUNTED_VERDICTS), rows), "")


def _work(claim: Claim) -> str:
    """Returns the work of a claim without the part of it that has a table of its own."""
    return claim.work.partition(",")[0]


def _row_of(claim: Claim, file: str = "") -> tuple[str, ...]:
    verdict = f"**{claim.verdict}**" if claim.verdict == "differs" else claim.verdict
    ours = claim.shown.partition(" (")[0]
    if len(ours.split()) > _MOST_WORDS:
        ours = "several values"
    return f"[{claim.what}]({file}#{claim.id})", claim.published, ours or "–", verdict, claim.sentence


def _detail(claim: Claim, notes: Sequence[str], options: str) -> Iterator[str]:
    """Yields the lines of a claim under its address, the command that repeats it alone among them."""
    yield from (
        f"### {claim.id}",
        "",
        f"**{_text(claim.what)}** ({_text(claim.where)}): {claim.verdict}. {_text(claim.sentence)}",
        "",
    )
    facts = [("published", f"{claim.published} ({claim.standing})"), ("ours", claim.shown), ("on look-alikes", claim.alike)]
    facts += [("reproduced in", claim.accepted), ("seeds", _seeds(claim)), ("load", claim.load)]
    facts += [("condition", claim.condition), ("region", claim.region)]
    if claim.note in notes:
        facts.append(("why", f"[note {notes.index(claim.note) + 1}](#note-{notes.index(claim.note) + 1})"))
    else:
        facts.append(("why", claim.note))
    facts.append(("repeat", f"`ssdlab paper claim {claim.id}{options}`"))
    yield from (f"- {name}: {_text(text)}" for name, text in facts if text)
    yield ""


def _seeds(claim: Claim) -> str:
    """Returns the number of seeds; those of runs in which nothing is drawn give equal values."""
    is_equal = claim.interval is not None and claim.interval[0] == claim.interval[1]
    return "none drawn" if not claim.seeds else f"{claim.seeds}, equal" if is_equal else str(claim.seeds)


def _values(values: Sequence[Entry], notes: Sequence[str]) -> Iterator[str]:
    """Yields the lines of one table of values per work, in the order in which the works first appear."""
    for work in dict.fromkeys(entry.work for entry in values):
        rows = [_cells(entry, notes) for entry in values if entry.work == work]
        yield from (f"### {work}", "", *_rows(_COLUMNS, rows), "")


def _cells(entry: Entry, notes: Sequence[str]) -> tuple[str, ...]:
    verdict = f"**{entry.verdict}**" if entry.verdict == "missed" else entry.verdict
    note = f"[{notes.index(entry.note) + 1}](#note-{notes.index(entry.note) + 1})" if entry.note else ""
    return verdict, entry.where, entry.what, entry.published, entry.standing, entry.shown, entry.accepted, note


def _rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a Markdown table."""
    return [_row(columns), "|" + " --- |" * len(columns), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_text, cells)) + " |"


def _text(text: str) -> str:
    # An unescaped bar would end a cell, and an underscore could start italics.
    return text.replace("|", "\\|").replace("_", "\\_")
