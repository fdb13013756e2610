"""The page "What did we learn?": its length, and the proof of each sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "study" / "learned.md"
MOST_WORDS = 600
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
#: Names with a digit in them.
_NAMES = re.compile(r"Financial1|SATA II|T2")


def shown(text: str) -> str:
    """Returns Markdown without the targets of its links."""
    return _LINK.sub(r"\1", text)


def words(text: str) -> list[str]:
    """Returns the words and numbers that a reader sees, without the marks of lists and headings."""
    return [word for word in shown(text).split() if re.search(r"\w", word)]


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of the lists of a page."""
    for item in re.split(r"\n- ", "\n" + text.partition("\n## ")[2])[1:]:
        whole = " ".join(item.partition("\n\n")[0].split())
        yield from re.split(r"(?<=\.) (?=[A-Z])", whole)


def claims() -> dict[str, dict]:
    document = json.loads((DOCS / "results" / "results.json").read_text(encoding="utf-8"))
    return {each["id"]: each for outcome in document["experiments"] for each in outcome["entries"] if "id" in each}


def without_proof(sentence: str) -> str:
    """Returns what of a sentence is not proved; empty if all of it is."""
    targets = [target for _, target in _LINK.findall(sentence)]
    if not targets:
        return "no proof"
    known = claims()
    proof = ""
    for target in targets:
        file, _, anchor = target.partition("#")
        if file == "one_budget.md":
            proof += (PAGE.parent / file).read_text(encoding="utf-8")
        elif anchor not in known or f"### {anchor}\n" not in (PAGE.parent / file).read_text(encoding="utf-8"):
            return f"no such address: {target}"
        else:
            proof += json.dumps(known[anchor])
    numbers = _NUMBER.findall(_NAMES.sub("", shown(sentence)))
    wrong = [number for number in numbers if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", proof)]
    return f"not in the proof: {', '.join(wrong)}" if wrong else ""


def test_the_page_is_short():
    assert len(words(PAGE.read_text(encoding="utf-8"))) <= MOST_WORDS


def test_each_sentence_has_its_proof():
    found = [*sentences(PAGE.read_text(encoding="utf-8"))]
    assert len(found) > 30
    assert {sentence: what for sentence in found if (what := without_proof(sentence))} == {}


@pytest.mark.parametrize(
    ("sentence", "what"),
    [
        ("OFWAR is fast.", "no proof"),
        ("It is [fast](../results/ofwar.md#ofwar-fig10z).", "no such address: ../results/ofwar.md#ofwar-fig10z"),
        ("It is [fast](../results/agcr.md#ofwar-fig10a).", "no such address: ../results/agcr.md#ofwar-fig10a"),
        ("It gains [31.2 %](../results/ofwar.md#ofwar-fig10a), not 50 %.", "not in the proof: 50"),
        ("It gains [0.12345](one_budget.md).", "not in the proof: 0.12345"),
    ],
)
def test_what_has_no_proof_is_found(sentence, what):
    assert without_proof(sentence) == what
