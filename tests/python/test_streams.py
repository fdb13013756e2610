"""Measurements of each fio job, trace stream and volume: in results, folders, tables and reports."""

import pytest

import ssdlab

JOBS = """
[global]
bs=4k
norandommap=1
number_ios=1500
[reader]
rw=randread
[writer]
rw=randwrite
iodepth=4
"""


@pytest.fixture
def example(examples):
    return examples / "randwrite.fio"


@pytest.fixture(scope="module")
def result():
    return ssdlab.run("tiny", ssdlab.Workload.from_text(JOBS), precondition="fill")


def test_streams_add_up_to_the_run(result):
    assert [stream.name for stream in result.streams] == ["reader", "writer"]
    assert sum(stream.latency["all"].count for stream in result.streams) == 3000
    for stream in result.streams:
        assert sum(stream.causes["all"].values()) == pytest.approx(stream.latency["all"].mean_ns)
        # Rates are over the stream's own time.
        assert stream.throughput["iops"] == pytest.approx(1500e9 / stream.span_ns)
    table = result.stream_latency_table()
    counts = table.group_by(["stream", "op"]).aggregate([("count", "sum")]).to_pylist()
    assert {(row["stream"], row["op"]): row["count_sum"] for row in counts} == {
        ("reader", "read"): 1500,
        ("writer", "write"): 1500,
    }


def test_a_workload_of_one_stream_has_none(example):
    only = ssdlab.run("tiny", example, stop_after=100)
    assert only.streams == ()
    with pytest.raises(ssdlab.InputError, match="stream_latency: the workload has one stream"):
        only.to_arrow("stream_latency")


def test_a_folder_keeps_the_streams(result, tmp_path):
    again = ssdlab.load_result(result.save(tmp_path / "out"))
    assert again.streams == result.streams
    assert again.stream_latency_table().equals(result.stream_latency_table())
    assert again.report() == result.report()
    assert again.fio() == result.fio()


def test_jobs_of_one_name_are_told_apart():
    twice = "[a]\nrw=randread\nnumber_ios=30\n[a]\nrw=randwrite\nnumber_ios=50\n"
    run = ssdlab.run("tiny", ssdlab.Workload.from_text(twice), precondition="fill")
    assert [stream.name for stream in run.streams] == ["a", "a (2)"]
    assert [job["jobname"] for job in run.fio()["jobs"]] == ["a", "a"]
    assert [job["write"]["total_ios"] for job in run.fio()["jobs"]] == [0, 50]


def test_the_command_shows_each_stream(cli, tmp_path):
    path = tmp_path / "jobs.fio"
    path.write_text(JOBS)
    shown = cli("run", "tiny", path, "--precondition", "fill").stdout
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("writer") and "1,500" in line]
    assert "B/s" in line
    both = cli("compare", "tiny", path, "--policy", "baseline,all_fast", "--precondition", "fill").stdout
    assert "stream reader" in both
    assert "stream writer" in both


def test_many_streams_are_cut_to_the_busiest():
    jobs = "".join(f"[j{number}]\nrw=randread\nnumber_ios={10 + number}\n" for number in range(40))
    run = ssdlab.run("tiny", ssdlab.Workload.from_text(jobs), precondition="fill")
    from ssdlab.report import streams

    rows = streams.rows(run)
    assert len(rows) == streams.MOST + 1
    assert rows[0][:2] == ["j39", "49"]
    assert rows[-1][:2] == ["8 more", str(sum(range(10, 18)))]


def test_the_report_shows_each_stream(result):
    page = result.report()
    assert "<h3>By stream</h3>" in page
    assert 'Plotly.newPlot("figure-streams"' in page
    assert r"writer \u00b7 writes" in page
    both = ssdlab.compare("tiny", ssdlab.Workload.from_text(JOBS), ["baseline", "all_fast"], precondition="fill").report()
    assert ">stream writer<" in both


def test_only_streams_that_all_runs_have_are_compared(result):
    from ssdlab.report import streams

    other = ssdlab.run("tiny", ssdlab.Workload.from_text(JOBS.replace("[reader]", "[scanner]")), precondition="fill")
    assert [title for title, _ in streams.compared_rows([result, other])] == ["stream writer"]
    one = ssdlab.run("tiny", ssdlab.Workload.from_text("[a]\nrw=read\nnumber_ios=10"), precondition="fill")
    assert streams.compared_rows([result, one]) == []


def test_more_jobs_than_streams_are_kept_share_the_last_entry():
    job = "[many]\nrw=randread\nnumber_ios=2\nnumjobs=260\n"
    run = ssdlab.run("tiny", ssdlab.Workload.from_text(job), precondition="fill")
    jobs = run.fio()["jobs"]
    assert (len(run.streams), len(jobs)) == (257, 257)
    assert [job["jobname"] for job in jobs[-2:]] == ["many.255", "4 others"]
    assert [job["read"]["total_ios"] for job in jobs[-2:]] == [2, 8]
    assert sum(job["read"]["total_ios"] for job in jobs) == 520
