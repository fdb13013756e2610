"""Specifications of sweeps and searches under mutations: `fuzz/corpus/sweep_spec`, and a short guided run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import spec_fuzz
import ssdlab
from ssdlab.explore import spec

#: Mutations of the short run.
MUTATIONS = 400


def test_the_corpus_passes(tmp_path: Path) -> None:
    accepted = [spec_fuzz.check(text, tmp_path) for text in spec_fuzz.seeds()]
    assert any(accepted), accepted
    assert not all(accepted), accepted


def test_mutations_that_reach_more_pass(tmp_path: Path) -> None:
    texts = list(itertools.islice(spec_fuzz.guided(tmp_path, seed=1), MUTATIONS))
    assert len(set(texts)) > MUTATIONS // 2


def test_a_broken_parser_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range with a value outside, and an error of another kind, are found."""
    monkeypatch.setattr(spec.Range, "at", lambda self, share: self.high + 1)
    with pytest.raises(AssertionError):
        spec_fuzz.check(b'drive = "tiny"\nworkload = "job.fio"\n[vary]\n"a.b" = { low = 1, high = 2, count = 2 }\n', tmp_path)
    monkeypatch.setattr(ssdlab.Spec, "check_for", lambda self, purpose: {}[purpose])
    with pytest.raises(KeyError):
        spec_fuzz.check(b'drive = "tiny"\nworkload = "job.fio"\n', tmp_path)
