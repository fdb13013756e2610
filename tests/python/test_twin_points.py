"""Tables of measured points: what is read, what is refused by its row, and what fio's results become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ssdlab
from conftest import Command
from ssdlab.errors import InputError
from ssdlab.twin.fio import points_from_fio
from ssdlab.twin.loads import bytes_of, load_of
from ssdlab.twin.points import COLUMNS, read_points

HEADER = ",".join(COLUMNS)
GOOD = (
    "r1,randread,4k,1,,,,fill,p50_us,66,65,67,fit",
    "r1,randread,4k,1,,,,fill,p99_us,80,78,82,fit",
    "r8,randread,4k,8,,,,fill,iops,50000,49000,51000,held",
)


@pytest.fixture
def table(tmp_path):
    """Writes a table of points and returns its path."""

    def write(*rows: str, header: str = HEADER) -> Path:
        path = tmp_path / "points.csv"
        path.write_text("\n".join(["# measured on a Sunday", header, *rows]) + "\n")
        return path

    return write


def test_a_table_is_read_with_its_remarks(table):
    points = read_points(table(*GOOD, "x,randread,4k,2,,,,fill,iops,1,,,a remark"))
    assert [row.use for row in points.rows] == ["fit", "fit", "held", "a remark"]
    assert [load.name for load in points.loads] == ["randread 4 KiB, depth 1, fill", "randread 4 KiB, depth 8, fill"]
    assert points.rows[0].low == 65
    # Without an interval a row has that of its metric.
    assert points.rows[3].low < 1 < points.rows[3].high
    points.check_for_fit()


def test_the_split_has_a_hash_that_follows_from_roles_and_values(table):
    first = read_points(table(*GOOD)).split_hash()
    assert read_points(table(*GOOD)).split_hash() == first
    assert read_points(table(*GOOD[:2], GOOD[2].replace("held", "fit"))).split_hash() != first
    assert read_points(table(*GOOD[:2], GOOD[2].replace("50000", "50001"))).split_hash() != first


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("r2,randreed,4k,1,,,,,iops,5,,,fit", "rw: 'randreed': expected one of .* (did you mean `randread`?)"),
        ("r2,randread,1k!,1,,,,,iops,5,,,fit", "bs: '1k!': expected a length in multiples of 512 bytes"),
        ("r2,randread,4k,0,,,,,iops,5,,,fit", "iodepth: '0': expected a whole number, 1 to"),
        ("r2,randread,4k,1,,40,,,iops,5,,,fit", "rwmixread: 40: rw = randread has 100 % reads"),
        ("r2,randread,4k,1,,,120%,,iops,5,,,fit", "size: '120%': expected a share above 0 and at most 100%"),
        ("r2,randread,4k,1,,,,stedy,iops,5,,,fit", "age: 'stedy': expected one of none"),
        ("r2,randread,4k,1,,,,,p95_us,5,,,fit", "metric: 'p95_us': expected one of iops"),
        ("r2,randread,4k,1,,,,,iops,-5,,,fit", "value: '-5': expected a number above 0"),
        ("r2,randread,4k,1,,,,,iops,nan,,,fit", "value: 'nan': expected a number above 0"),
        ("r2,randread,4k,1,,,,,iops,5,6,7,fit", "value: 5: outside of its own interval, 6 to 7"),
        ("r2,randread,4k,1,,,,,write_amplification,2,,,fit", "write_amplification: the load has no writes"),
        ("r2,randread,4k,1,,,,,iops,5,,,fit,a,b", "15 cells: expected 13"),
        ("r1,randread,4k,2,,,,,iops,5,,,fit", "id: 'r1': .*points.csv:3 has it for another load"),
        ("r1,randread,4k,1,,,,fill,p99_9_us,70,69,71,fit", "p99_9_us 70 is below p99_us 80 .*: expected percentiles that rise"),
        ("r1,randread,4k,1,,,,fill,p99_9_us,0.12,,,fit", "a unit slip of 1,000"),
        ("r1,randread,4k,1,,,,fill,p50_us,99,98,100,fit", "contradicts .*points.csv:3, the same load and metric, with 66"),
        ("r1,randread,4k,1,,,,fill,p50_us,66000,,,fit", "contradicts .*: a unit slip of 1,000"),
        ("r8,randread,4k,8,,,,fill,mean_us,0.16,,,held", "0.008 commands in flight at depth 8: a unit slip of 1,000"),
        ("r8,randread,4k,8,,,,fill,mean_us,600,,,held", "30 commands in flight: expected the depth, 8"),
        ("r8,randread,4k,8,,,,fill,mb_s,204800,,,held", "a unit slip of 1,000"),
    ],
)
def test_a_fault_is_named_by_its_row(table, row, says):
    with pytest.raises(InputError, match=r"points.csv:6: ") as refused:
        read_points(table(*GOOD, row))
    parts = says.replace("(did", "did").replace("?)", "").split(".*")
    assert all(part.strip() in str(refused.value).replace("(did", "did") for part in parts), refused.value


def test_all_faults_are_named_at_once(table):
    with pytest.raises(InputError) as refused:
        read_points(table("a,x,4k,1,,,,,iops,5,,,fit", "b,randread,4k,1,,,,,iops,0,,,fit"))
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["3", "4"]


def test_a_table_without_unseen_points_says_nothing_about_unseen_loads(table):
    with pytest.raises(InputError, match="nothing can be said about unseen loads"):
        read_points(table(*GOOD[:2])).check_for_fit()
    with pytest.raises(InputError, match="no row has use = fit"):
        read_points(table(GOOD[2])).check_for_fit()


def test_a_load_is_fitted_or_held_out_as_a_whole(table):
    with pytest.raises(InputError, match=r"points.csv:5: use: held, while .*points.csv:4 fits to the same load"):
        read_points(table(*GOOD[:2], "r1,randread,4k,1,,,,fill,iops,15000,,,held")).check_for_fit()


def test_a_missing_column_is_named(table):
    with pytest.raises(InputError, match="no column `metric`"):
        read_points(table(header=HEADER.replace("metric,", "")))


@pytest.mark.parametrize(
    ("text", "size"),
    [("4k", 4096), ("4KiB", 4096), ("4kB", 4000), ("4096", 4096), ("1m", 1 << 20), ("2 GiB", 2 << 30), ("4q", None), ("", None)],
)
def test_sizes_are_those_of_fio(text, size):
    assert bytes_of(text) == size


def test_a_load_becomes_a_job_that_runs():
    row = {
        "rw": "randrw",
        "bs": "4k",
        "iodepth": "4",
        "rwmixread": "70",
        "rate_iops": "1000",
        "size": "50%",
        "age": "fill 90d 100pe",
    }
    load = load_of({**row, "arrival": "poisson"})
    text = load.job(500, 1 << 26)
    assert "rate_iops=700,300" in text
    assert f"size={1 << 25}" in text
    assert load.settings() == ["state.precondition=fill", 'state.age="90d"', "state.pe_cycles=100"]
    result = ssdlab.run("tiny", ssdlab.Workload(text=text), set=load.settings())
    assert sum(result.commands.values()) == 500
    assert result.commands["read"] > 300


def fio_job(iops: float = 20000.0, **options: object) -> dict[str, object]:
    """A job of fio that keeps its depth: its mean latency follows from its rate."""
    mean = int(str(options.get("iodepth", 1))) / iops * 1e9
    side = {
        "total_ios": 40000,
        "iops": iops,
        "bw_bytes": round(iops * 4096),
        "iops_samples": 20,
        "iops_stddev": 100.0,
        "iops_mean": iops,
        "lat_ns": {"mean": mean},
        "clat_ns": {
            "mean": mean - 1000,
            "percentile": {"50.000000": mean - 2000, "99.000000": mean * 1.8, "99.900000": mean * 2, "99.990000": mean * 3},
        },
    }
    return {"jobname": "r", "error": 0, "job options": options, "read": side, "write": {"total_ios": 0}}


@pytest.fixture
def results(tmp_path):
    """A result of fio, after one of its messages."""
    depths = ((1, 20000.0), (8, 90000.0), (64, 95000.0))
    jobs = [fio_job(rate, rw="randread", bs="4k", iodepth=str(depth)) for depth, rate in depths]
    path = tmp_path / "fio.json"
    path.write_text("fio: a note\n" + json.dumps({"fio version": "fio-3.36", "jobs": jobs}))
    return path


def test_results_of_fio_become_points(cli: Command, results, tmp_path):
    done = cli("twin", "points", results, "--out", "points.csv")
    assert done.returncode == 0, done.stderr
    points = read_points(tmp_path / "here" / "points.csv")
    held = {row.load.depth for row in points.used("held")}
    # Depth 64 has hardly more than depth 8: it is above the knee.
    assert held == {64}
    first = {row.metric: row.value for row in points.rows if row.load.depth == 1}
    # Percentiles of the completion, and the time of the submission.
    assert first["p50_us"] == 49
    assert first["p99_us"] == 91
    assert first["mean_us"] == 50
    # Four commands beyond p99.99 are too few.
    assert "p99_99_us" not in first
    points.check_for_fit()


def test_repeats_become_one_point_with_the_interval_of_both(results, tmp_path):
    again = tmp_path / "again.json"
    again.write_text(results.read_text().replace('"mean": 50000.0', '"mean": 60000.0'))
    text = points_from_fio([results, again])
    (tmp_path / "points.csv").write_text(text)
    mean = next(row for row in read_points(tmp_path / "points.csv").rows if row.metric == "mean_us")
    assert mean.value == pytest.approx((50 * 60) ** 0.5, rel=1e-4)
    assert mean.low < 50
    assert mean.high > 60


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", "no result of fio"),
        ("nothing", "no result of fio"),
        (json.dumps({"jobs": []}), "no job that read or wrote anything"),
        (json.dumps({"jobs": [{**fio_job(rw="randread"), "error": 5}]}), "job 'r': error 5"),
        (json.dumps({"jobs": [fio_job(rw="trim")]}), "job 'r': rw: 'trim': expected one of"),
        (json.dumps({"jobs": [{**fio_job(rw="read", bs="4k"), "read": {"total_ios": 5}}]}), "job 'r': a damaged result"),
    ],
)
def test_a_result_that_cannot_be_used_is_named(cli: Command, tmp_path, content, says):
    (tmp_path / "bad.json").write_text(content)
    done = cli("twin", "points", tmp_path / "bad.json")
    assert done.returncode == 2
    assert f"{tmp_path / 'bad.json'}: {says}" in done.stderr
