"""Reads that can fail, as people see them: tables of the command, report, charts, log of commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ssdlab
from conftest import JOB
from ssdlab import terms
from ssdlab.report import by_wear, content, style, utilisation
from ssdlab.report.causes import COLOURS
from ssdlab.report.read_errors import tables
from ssdlab.units import count, significant

PAGE = Path(__file__).parents[2] / "docs" / "models" / "read_errors.md"
READS = "[reads]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=4000\nnorandommap=1\n"
#: At this rate, half of the codewords have more errors than the code of `tiny` corrects.
ERRORS = ["ecc.errors={kind='constant',rates=[3.2e-3]}", "ecc.decoder='engines'"]
RETRY = [*ERRORS, "ecc.plan={kind='read_retry',steps=5}"]
#: A code that decodes soft levels, and an error rate at which more than half of its hard decisions fail.
SOFT = [
    "flash.code={kind='ldpc',data='4KiB',parity='448B',limits=[4e-3,7e-3,1e-2],failure_at_limit=1e-11}",
    "ecc.errors={kind='constant',rates=[6.5e-3]}",
    "ecc.decoder='engines'",
]
#: Errors that grow with wear, whatever the age of the data.
GROWING = ", ".join(
    f"{{pe_cycles={cycles},days={days},rates=[{rate}]}}" for cycles, rate in ((0, 2e-3), (10_000, 3e-3)) for days in (0, 3650)
)


def run(settings: list[str], policy: str | None = None, job: str = READS, **options) -> ssdlab.Result:
    """Runs a job on `tiny`, filled, with settings."""
    workload = ssdlab.Workload.from_text(job)
    return ssdlab.run("tiny", workload, policy, precondition="fill", set=settings, **options)


@pytest.fixture(scope="module")
def retried() -> ssdlab.Result:
    """Reads with retries, all of which end well."""
    return run(RETRY, record_commands=True)


@pytest.fixture(scope="module")
def lost() -> ssdlab.Result:
    """Reads without a plan: each codeword with too many errors is lost."""
    return run(ERRORS, record_commands=True)


@pytest.fixture(scope="module")
def worn() -> list[ssdlab.Result]:
    """Two drives at three levels of wear each, in no order."""

    def at(cycles: int, *more: str) -> ssdlab.Result:
        table = f"ecc.errors={{kind='table',rows=[{GROWING}]}}"
        return run([table, "ecc.plan={kind='read_retry',steps=8}", f"state.pe_cycles={cycles}", *more])

    return [at(cycles, *more) for more in ([], ["flash.read_time='100us'"]) for cycles in (9000, 1000, 5000)]


def body(html: str) -> str:
    """Returns the text of a page, without figures and tags."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style)>.*?</\1>", "", html, flags=re.DOTALL))


def test_numbers_are_those_of_the_summary(retried):
    found, reads = retried.read_errors, retried.summary["read_errors"]["attempts"]
    assert found is not None
    assert [(one.number, one.reads, one.failed) for one in found.attempts] == [
        (one["attempt"], one["reads"], one["failed"]) for one in reads
    ]
    assert len(reads) > 2
    retries = retried.summary["reliability"]["retries"]
    assert found.retries_per_1000 == pytest.approx(1000 * retries / reads[0]["reads"])
    assert 300 < found.retries_per_1000 < 700
    # Every read that failed was repeated, and the last attempts succeeded.
    assert [one.failed for one in found.attempts] == [*(one.reads for one in found.attempts[1:]), 0]
    assert (found.media_errors, found.lost_units, found.soft_attempts) == (0, 0, 0)
    for one in found.attempts[1:]:
        assert sum(one.causes.values()) == pytest.approx(one.mean_ns)
    assert found.attempts[0].causes == {}


def test_a_drive_without_errors_has_no_such_numbers(result):
    assert result.read_errors is None
    assert "figure-attempts" not in result.report()
    assert "Reads that fail" not in result.report()
    assert tables(result) == ""


def test_media_errors_are_in_the_log_in_every_form(lost, retried, tmp_path):
    found, table = lost.read_errors, lost.command_table()
    assert found is not None
    assert table is not None
    assert sum(table["media_error"].to_pylist()) == found.media_errors > 0
    assert found.media_errors == lost.summary["reliability"]["uncorrectable"]
    assert not any(retried.command_table()["media_error"].to_pylist())
    for name in ("log.parquet", "log.csv", "log.csv.gz"):
        run(ERRORS, log_commands=tmp_path / name)
        assert ssdlab.read_commands(tmp_path / name).to_pylist() == table.to_pylist()
        assert str(ssdlab.read_commands(tmp_path / name).schema.field("media_error").type) == "bool"


@pytest.mark.parametrize(("plan", "soft"), [("{kind='read_retry',steps=5}", False), ("{kind='nasd',levels=2}", True)])
def test_the_command_shows_retries_and_soft_attempts_where_reads_fail(cli, tmp_path, plan, soft):
    (tmp_path / "job.fio").write_text(READS)
    settings = [word for setting in [*(SOFT if soft else ERRORS), f"ecc.plan={plan}"] for word in ("--set", setting)]
    words = ("run", "tiny", tmp_path / "job.fio", "--precondition", "fill", *settings)
    shown, summary = cli(*words), json.loads(cli(*words, "--json").stdout)
    assert shown.returncode == 0, shown.stderr
    lines = [line.strip() for line in shown.stdout.splitlines()]
    (at,) = (number for number, line in enumerate(lines) if line.startswith("reads that fail"))
    titles = ["reads that fail", "retries per 1,000 reads", "media errors", "lost units", *["soft attempts"] * soft]
    assert re.split(r"  +", lines[at].strip()) == titles
    found = summary["read_errors"]
    retries = 1000 * summary["reliability"]["retries"] / found["attempts"][0]["reads"]
    numbers = [significant(retries), count(found["media_errors"]), count(found["lost_units"])]
    assert lines[at + 2].split() == numbers + [count(summary["reliability"]["soft_levels"])] * soft
    assert retries > 300
    assert soft is (summary["reliability"]["soft_levels"] > 0)


def test_the_command_shows_the_causes_of_failed_reads(cli, tmp_path):
    (tmp_path / "job.fio").write_text(READS)
    settings = [word for setting in RETRY for word in ("--set", setting)]
    shown = cli("run", "tiny", tmp_path / "job.fio", "--precondition", "fill", *settings).stdout
    causes = shown[shown.index("mean time by cause") : shown.index("reads that fail")]
    names = {re.split(r"\s{2,}", line.strip())[0] for line in causes.splitlines() if line.strip()}
    assert {"decoding", "waiting: decoders and encoders", "repeating reads"} <= names
    plain = cli("run", "tiny", tmp_path / "job.fio", "--precondition", "fill").stdout
    assert "reads that fail" not in plain
    assert "decod" not in plain


def test_uncorrectable_reads_and_lost_units_are_warnings(lost):
    found = lost.read_errors
    assert found is not None
    assert content.warnings(lost) == [f"{count(found.media_errors)} uncorrectable reads"]
    # Random writes move data that cannot be corrected.
    moved = run(
        [*ERRORS, "ftl.overprovisioning=0.07"], job="[w]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=40000\nnorandommap=1\n"
    )
    assert moved.read_errors is not None
    assert moved.read_errors.media_errors == 0 < moved.read_errors.lost_units
    assert content.warnings(moved) == [f"{count(moved.read_errors.lost_units)} units lost in moves and rewrites"]


def test_every_cause_has_a_colour_and_a_meaning(retried):
    causes = [name.removesuffix("_ns") for name in retried.command_table().column_names[6:-8]]
    assert set(causes) == set(COLOURS) == set(terms.causes())
    assert len(set(COLOURS.values())) == len(set(terms.causes().values())) == len(causes)


def test_the_report_shows_the_attempts(retried):
    html = retried.report()
    assert html.count('<div id="figure-attempts"') == 1
    text = body(html)
    found = retried.read_errors
    for words in (
        f"retries per 1,000 reads {significant(found.retries_per_1000)}",
        f"1 {count(found.attempts[0].reads)} {significant(100 * found.attempts[0].failed_share, 3)} %",
        "Attempts at a read after the first one",
        "each channel, each group of decoders and each die",
    ):
        assert words in re.sub(r"\s+", " ", text)
    assert "By wear of the block" not in text


def test_the_chart_of_attempts_has_their_counts_and_times_by_cause(retried):
    found = retried.read_errors
    bars = retried.plot_read_attempts().data
    made, failed, first, *parts = bars
    assert list(made.y) == [one.reads for one in found.attempts]
    assert list(failed.y) == [one.failed or None for one in found.attempts]
    assert {"reading the cells", "transfer on the channel", "decoding"} <= {bar.name for bar in parts}
    unit = found.attempts[0].mean_ns / first.y[0]
    assert list(first.y[1:]) == [0] * (len(found.attempts) - 1)
    for index, one in enumerate(found.attempts):
        assert unit * sum(bar.y[index] for bar in (first, *parts)) == pytest.approx(one.mean_ns)
    # The bars of the parts lie one upon the other.
    assert parts[-1].base[1] + parts[-1].y[1] == pytest.approx(found.attempts[1].mean_ns / unit)


def test_several_runs_are_compared_by_attempt(retried, lost, result):
    runs = [retried, lost, result]
    html = ssdlab.Comparison(runs).report()
    assert '<div id="figure-attempts"' in html
    groups = dict(content.comparison_rows(runs))
    rows = {row.title: row for row in groups["reads that fail"]}
    assert list(rows["retries per 1,000 reads"].values) == [retried.read_errors.retries_per_1000, 0.0, None]
    assert list(rows["media errors"].texts) == ["0", count(lost.read_errors.media_errors), "–"]
    assert "soft attempts" not in rows
    assert "reads that fail" not in dict(content.comparison_rows([result, result]))


def test_wear_classes_have_rows_of_their_own():
    settings = [*RETRY, "flash.rated_pe_cycles=16"]
    mixed = run(settings, job=JOB.replace("20000", "40000"))
    classes = mixed.read_errors.by_wear
    assert len(classes) > 1
    assert [one.from_cycles for one in classes] == sorted(one.from_cycles for one in classes)
    assert sum(one.attempts[0].reads for one in classes) == mixed.read_errors.first_attempts
    text = re.sub(r"\s+", " ", body(tables(mixed)))
    assert "By wear of the block" in text
    for one in classes:
        assert f"{one.from_cycles:g} to {one.to_cycles:g} {count(one.attempts[0].reads)}" in text


def test_decoders_are_among_the_utilisation(retried, result):
    shares = retried.summary["utilisation"]
    expected = [shares["decoders_0"], shares["decoders_1"]]
    assert utilisation.decoders(retried) == expected
    bars = {one.name: one for one in retried.plot_utilisation().data if one.type == "bar"}
    assert list(bars["decoders"].y) == list(bars["channel"].y) == ["channel 0", "channel 1"]
    assert list(bars["decoders"].x) == [100 * share for share in expected]
    assert [one.name for one in result.plot_utilisation().data if one.type == "bar"] == ["channel"]
    shared = run([*ERRORS[:1], "ecc.decoder={kind='engines',shared='drive'}"])
    assert utilisation.decoders(shared) == [shared.summary["utilisation"]["decoders"]]
    (bar,) = (one for one in shared.plot_utilisation().data if one.name == "decoders")
    assert list(bar.y) == ["decoders"]
    titles = [axis.title.text for axis in utilisation.busy([retried, result]).select_xaxes()]
    assert titles == [f"{kind}, the busiest first" for kind in ("channels", "groups of decoders", "dies")]
    assert len([*utilisation.busy([result, result]).select_xaxes()]) == 2


def test_read_latency_is_drawn_by_wear_for_each_drive(worn):
    chart = by_wear.latency(worn)
    lines = {line.name: line for line in chart.data}
    names = ["read_time 50us", "read_time 100us"]
    titles = ("mean", "p99", "p99.9", "retries")
    assert list(lines) == [f"{name}, {title}" for name in names for title in titles if f"{name}, {title}" in str([*lines])]
    assert {f"{name}, {title}" for name in names for title in ("mean", "p99", "retries")} <= set(lines)
    for at, name in enumerate(names):
        group = [worn[3 * at + place] for place in (1, 2, 0)]  # in order of wear
        assert [run.summary["wear"]["mean"] for run in group] == [1000, 5000, 9000]
        for title, values in (
            ("mean", [run.latency["read"].mean_ns for run in group]),
            ("p99", [run.latency["read"].p99_ns for run in group]),
            ("retries", [run.read_errors.retries_per_1000 for run in group]),
        ):
            line = lines[f"{name}, {title}"]
            assert (list(line.x), list(line.y)) == ([1000, 5000, 9000], values)
            assert values == sorted(values)
    # The names of the lines do not state the least wear of each.
    named = {line.name.split(",")[0] for line in by_wear.latency([worn[0], worn[1], worn[3], worn[5]]).data}
    assert named == set(names)
    # Tails with fewer than ten samples beyond are left out.
    assert worn[0].latency["read"].p99_9_ns is None
    assert not any("p99.9" in name for name in lines)


def test_reads_by_wear_are_shown_only_where_wear_is_varied(worn, retried, lost, result):
    assert '<div id="figure-by_wear"' in ssdlab.Comparison(worn).report()
    assert by_wear.latency([retried, lost]) is None  # of different drives
    assert by_wear.latency([worn[0], worn[3]]) is None
    assert by_wear.latency([retried]) is None
    plain = [run([f"state.pe_cycles={cycles}"]) for cycles in (0, 5000)]
    assert len(by_wear.groups(plain)) == 1
    assert by_wear.latency(plain) is None
    assert '<div id="figure-by_wear"' not in ssdlab.Comparison([retried, result]).report()


def test_runs_are_named_by_the_settings_in_which_their_drives_differ(worn, result):
    assert style.run_names(worn[:2]) == ["pe_cycles 9000", "pe_cycles 1000"]
    assert style.run_names(worn[2:4]) == [
        "read_time 50us · pe_cycles 5000",
        "read_time 100us · pe_cycles 9000",
    ]
    assert style.run_names([result, result]) == ["run 1", "run 2"]


def test_the_command_reports_runs_by_wear(cli, worn, tmp_path):
    folders = [run.save(tmp_path / str(at)) for at, run in enumerate(worn[:3])]
    done = cli("report", *folders, "--out", tmp_path / "wear.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wear.html").read_text() == ssdlab.Comparison(worn[:3]).report()


@pytest.mark.parametrize("number", [0, 1])
def test_descriptions_in_the_page_are_drives(number):
    found = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(found) == 2
    drive = ssdlab.Drive.from_text(found[number])
    done = ssdlab.run(
        drive, ssdlab.Workload.from_text(READS), precondition="fill", set=["state.pe_cycles=10000", "state.age='1y'"]
    )
    assert done.read_errors is not None
    assert done.read_errors.retries_per_1000 > 0


def test_figures_of_the_page_are_those_of_the_drive():
    """The quickest of the page's tables: plans of two codes, 20,000 reads at depth 8."""
    job = READS.replace("4000", "20000")
    rows = re.findall(
        r"^\| `(none|\{.*?\})` \| ([\d.]+) us \| .*? \| (\d+) \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    hard = ["ecc.errors={kind='constant',rates=[3e-3]}", "ecc.decoder='engines'"]
    drives = [hard, hard, SOFT, SOFT, SOFT]
    for drive, (plan, mean, retries, errors) in zip(drives, rows, strict=True):
        written = plan if plan.startswith("{") else f"'{plan}'"
        done = run([*drive, f"ecc.plan={written}"], job=job)
        assert (f"{done.latency['read'].mean_ns / 1000:.1f}", f"{done.read_errors.retries_per_1000:.0f}") == (mean, retries)
        assert count(done.read_errors.media_errors) == errors
