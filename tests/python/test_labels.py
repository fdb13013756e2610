"""Names of the runs of a comparison, and what its page makes of runs that are not comparable."""

from __future__ import annotations

import re

import pytest

import ssdlab
from ssdlab.report import verdict
from ssdlab.run_names import run_names

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=400\nnorandommap=1"
#: Settings of a drive; the last run has the same as the first.
MANY = {
    "flash.channels": 4,
    "flash.read_time": "60us",
    "flash.program_time": "300us",
    "ftl.victim": "fifo",
    "buffer.capacity": "1MiB",
}
VARIANTS = {
    "base": {},
    "spare": {"ftl.overprovisioning": 0.28},
    "many": MANY,
    "fails": {"ecc.errors": {"kind": "constant", "rates": [9e-3]}, "flash.read_time": "20us", "flash.program_time": "300us"},
    "again": {},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("labels")
    (root / "runs").mkdir()
    for name, sets in VARIANTS.items():
        ssdlab.run("tiny", ssdlab.Workload.from_text(JOB), precondition="fill", set=sets).save(root / "runs" / name)
    return root / "runs"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (("base", "spare"), ["overprovisioning 0.2", "overprovisioning 0.28"]),
        # Too many settings, none, and some that need more room than a name has: the folders tell them apart.
        (("base", "many"), ["base", "many"]),
        (("base", "again"), ["base", "again"]),
        (tuple(VARIANTS), [*VARIANTS]),
    ],
)
def test_a_name_is_what_differs_or_the_folder(folders, chosen, expected):
    assert run_names([ssdlab.load_result(folders / name) for name in chosen]) == expected


def test_folders_of_one_name_are_told_apart_by_their_parents(folders, tmp_path):
    for where in ("a", "b"):
        (tmp_path / where).mkdir()
        ssdlab.load_result(folders / "base").save(tmp_path / where / "run")
    assert run_names([ssdlab.load_result(tmp_path / where / "run") for where in "ab"]) == ["a/run", "b/run"]
    # Nothing tells runs apart that lie in no folder.
    run = ssdlab.run("tiny", ssdlab.Workload.from_text(JOB))
    assert run_names([run, run]) == ["run 1", "run 2"]


def test_what_follows_from_the_drive_names_no_run(examples):
    trace = examples / "trace.csv.gz"
    runs = [ssdlab.run("tiny", trace, set={"ftl.overprovisioning": spare}) for spare in (0.2, 0.3)]
    assert run_names(runs) == ["overprovisioning 0.2", "overprovisioning 0.3"]


def test_labels_are_kept_with_a_comparison(cli, folders, tmp_path, job):
    page = tmp_path / "page.html"
    done = cli("report", folders / "base", folders / "many", "--label", "as bought, with more", "--out", page)
    assert done.returncode == 0, done.stderr
    html = page.read_text()
    assert "<h1>as bought against with more</h1>" in html
    # The fields that differ have their full names and their units.
    table = html.split("<h3>What differs</h3>")[1].split("</section>")[0]
    rows = dict(re.findall(r'<tr><th scope="row">([\w.]+)</th>(.*?)</tr>', table))
    assert {*rows} == {"flash.channels", "flash.read_time", "flash.program_time", "ftl.victim.kind", "buffer.capacity"}
    assert ">50us<" in rows["flash.read_time"]
    assert ">60us<" in rows["flash.read_time"]
    out = tmp_path / "both"
    words = ("compare", "tiny", job, "--policy", "baseline,all_fast", "--stop-after", 200)
    assert cli(*words, "--label", "slow,quick", "--out", out).returncode == 0
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"slow", "quick"}
    assert ssdlab.load_comparison(out).names == ["slow", "quick"]


@pytest.mark.parametrize("label", ["one", "a,a", "a,", "a,b,c"])
def test_labels_are_one_for_each_run(cli, folders, job, tmp_path, label):
    done = cli("report", folders / "base", folders / "many", "--label", label, "--out", tmp_path / "x.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected 2 different names, one for each run" in done.stderr
    done = cli("compare", "tiny", job, "--policy", "baseline,all_fast", "--label", label, "--out", tmp_path / "x")
    assert done.returncode == 2
    assert "expected 2 different names, one for each run" in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("x")]


def test_a_run_whose_reads_fail_is_never_better(folders):
    runs = [ssdlab.load_result(folders / name) for name in ("base", "fails", "many")]
    assert verdict.failed_reads(runs[1]) > 100
    # It is quicker: without the failures it would count as better.
    assert runs[1].latency["all"].mean_ns < 0.9 * runs[0].latency["all"].mean_ns
    html = ssdlab.Comparison(runs).report()
    column = re.findall(r'data-column="fails">(.*?)</td>', html)
    assert column
    assert not [cell for cell in column if 'class="better"' in cell]
    assert [cell for cell in re.findall(r'data-column="many">(.*?)</td>', html) if 'class="better"' in cell]
    said = re.findall(r'<p class="verdict">(.*?)</p>', html)[0]
    assert 'class="better"' not in said
    assert f"{verdict.failed_reads(runs[1]):,} reads failed or lost their data" in said
