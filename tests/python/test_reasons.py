"""Reasons for the differences of a comparison, from the counters of its runs."""

from types import SimpleNamespace

import pytest

import ssdlab
from ssdlab.report import reasons, verdict


def counted(programs, host, collections, free):
    """Returns what the reasons need of a run."""
    whole = sum(programs.values())
    return SimpleNamespace(
        write_amplification=whole / host,
        write_amplification_by_reason={reason: units / host for reason, units in programs.items()},
        summary={"flash": {"programs": programs}, "collections": collections, "free_blocks": {"mean": free}},
    )


def test_fewer_free_blocks_explain_more_valid_data_in_victims():
    without = counted({"host": 1000, "gc": 7000}, 1000, 80, 37)
    suspended = counted({"host": 1000, "gc": 5500}, 1000, 75, 84)
    more = "write amplification: garbage collection programs 7 against 5.5, moving 87.5 against 73.3 units for each block"
    assert reasons.reason_for_amplification(without, suspended) == f"{more}, with 37 against 84 free blocks on average"
    # More free blocks do not explain more valid data.
    crowded = counted({"host": 1000, "gc": 7000}, 1000, 80, 110)
    assert reasons.reason_for_amplification(crowded, suspended) == more


def test_other_programs_are_named_by_their_reason():
    plain = counted({"host": 1000, "gc": 500}, 1000, 10, None)
    padded = counted({"host": 1000, "padding": 900, "gc": 510}, 1000, 10, None)
    assert reasons.reason_for_amplification(padded, plain) == "write amplification: padding programs 0.9 against 0"
    assert reasons.reason_for_amplification(plain, plain) == ""


def test_a_verdict_has_the_reason(tmp_path):
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randwrite\nbs=4k\nnorandommap=1\niodepth=16\nio_size=10g\nnumber_ios=3000\n")
    runs = [ssdlab.run("tiny", job, precondition="steady", set=[f"ftl.overprovisioning={share}"]) for share in (0.28, 0.07)]
    (line,) = verdict.lines(runs)
    said = reasons.reason_for_amplification(runs[1], runs[0])
    gc = [run.write_amplification_by_reason["gc"] for run in runs[::-1]]
    assert said.startswith("write amplification: garbage collection programs {:.3g} against {:.3g}, moving ".format(*gc))
    assert f"; {said}; " in line
    assert runs[0].write_amplification_bytes == pytest.approx(runs[0].write_amplification, rel=0.02)
