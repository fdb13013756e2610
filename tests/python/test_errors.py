"""Bad input: exit status 2, a message that names the place, no traceback, nothing written."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import ssdlab
from ssdlab.cli.statuses import STATUSES

PAGE = Path(__file__).parents[2] / "docs/reference/errors.md"

MSR = "128166372003061629,hm,0,Read,383496192,32768,413\n128166372016853566,hm,0,Write,310983680,4096,1263\n"


def refused(done, tmp_path, *words):
    """Asserts that a command was refused with these words and left nothing behind."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert [*(tmp_path / "here").iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rum", "tiny", "JOB"], ["rum"]),
        (["run", "tiny", "JOB", "--polcy", "ofwar"], ["--polcy"]),
        (["run", "tiny"], ["WORKLOAD"]),
        (["run", "tinny", "JOB"], ["unknown drive `tinny`", "did you mean `tiny`"]),
        (["run", "drives/none.toml", "JOB"], ["drives/none.toml: no such file"]),
        (["run", "tiny", "nothing.fio"], ["nothing.fio: no such file"]),
        (["run", "tiny", "JOB", "--policy", "ofwra"], ["ofwra", "baseline", "ofwar"]),
        (["run", "tiny", "JOB", "--precondition", "stead"], ["stead", "none", "fill", "random", "steady"]),
        (["run", "tiny", "JOB", "--address", "wrap"], ["address", "traces only"]),
        (["run", "tiny", "JOB", "--seed", "-1"], ["--seed"]),
        (["run", "tiny", "JOB", "--time-scale", "nan"], ["time_scale: nan", "a finite number"]),
        (["run", "tiny", "JOB", "--max-requests", "1" + 20 * "0"], ["max_requests = 1", "0..=18446744073709551615"]),
        (["trace", "retention", "JOB", "--repeat", "4294967296"], ["repeat = 4294967296", "0..=4294967295"]),
        (["trace", "gaps", "JOB", "--dies", "4294967296"], ["dies = 4294967296", "0..=4294967295"]),
        (["lifetime", "tiny", "JOB", "--intervals", "1" + 20 * "0"], ["--intervals = 1", "expected a whole number"]),
        (["run", "tiny", "JOB", "--seed", "one"], ["--seed"]),
        (["run", "tiny", "JOB", "--load", "no.state"], ["no.state: no such file"]),
        (["run", "tiny", "JOB", "--out", "no/where"], ["no/where", "does not exist"]),
        (["run", "tiny", "JOB", "--save", "no/where.state"], ["no/where.state", "does not exist"]),
        (["run", "tiny", "JOB", "--timeline", "."], ["folder"]),
        (["run", "tiny", "JOB", "--timeline", "/dev/null", "--force"], ["/dev/null", "the name of a file"]),
        (["run", "tiny", "JOB", "--save", "JOB"], ["mixed.fio: it exists", "--force"]),
        (["run", "tiny", "JOB", "--timeline", "JOB"], ["mixed.fio: it exists", "--force"]),
        (["compare", "tiny", "JOB", "--policy", "baseline", "--save", "JOB"], ["mixed.fio: it exists", "--force"]),
        (["run", "tiny", "JOB", "--out", "/proc/x"], ["/proc/x: "]),
        (["run", "tiny", "JOB", "--save", "/proc/x"], ["/proc/x: "]),
        (["run", "n" * 300, "JOB"], ["unknown drive `nnn", "expected one of"]),
        (["run", "n" * 300 + ".toml", "JOB"], ["n.toml: File name too long"]),
        (["run", "tiny", "n" * 300], ["n: File name too long"]),
        (["why", "n" * 300], ["n: not a result folder"]),
        (["report", "n" * 300], ["n: not a result folder"]),
        (["plot", "n" * 300, "latency"], ["n: not a result folder"]),
        (["rerun", "n" * 300], ["n: not a result folder"]),
        (["run", "tiny", "JOB", "--faults", "none.toml"], ["none.toml: no such file"]),
        (["run", "tiny", "JOB", "--out", "n" * 250], ["n: its folder", "too long"]),
        (["run", "tiny", "JOB", "--out", "n" * 300], ["n: cannot be written", "too long"]),
        (["run", "tiny", "JOB", "--out", "new", "--save", "new"], ["--out new"]),
        (["run", "tiny", "JOB", "--steady-round", "1s"], ["--steady-round 1s", "--steady-state"]),
        (["compare", "tiny", "JOB", "--policy", "baseline", "--steady-round", "1s"], ["--steady-state"]),
        (["run", "tiny", "JOB", "--seed", str(2**64)], ["seed = 18446744073709551616", "0..=18446744073709551615"]),
        (["run", "tiny", "JOB", "--log-commands", "log.txt"], ["log.txt", ".parquet"]),
        (["run", "tiny", "JOB", "--force"], ["--force", "--out"]),
        (["run", "tiny", "JOB", "--json", "--format", "fio"], ["--json"]),
        (["run", "tiny", "JOB", "--set", "flash.channles=4"], ["channles", "channels"]),
        (["run", "tiny", "JOB", "--set", "flash.channels"], ["flash.channels"]),
        (["run", "tiny", "JOB", "--set", "flash.channels=0"], ["flash.channels", "0"]),
        (["run", "tiny", "JOB", "--set", "flash.channels=-4"], ["flash.channels", "-4"]),
        (["run", "tiny", "JOB", "--set", "flash.read_time=50"], ["read_time", "50"]),
        (["run", "tiny", "JOB", "--set", "flash.read_time=50MB"], ["read_time", "50MB"]),
        (["compare", "tiny", "JOB", "--policy", "baseline,,ofwar"], ["between the commas"]),
        (["compare", "tiny", "JOB", "--policy", "baseline,ofwra"], ["ofwra", "did you mean `ofwar`"]),
        (["compare", "tiny", "JOB"], ["--policy"]),
        (["show", "tinny"], ["tinny"]),
        (["presets", "tinny"], ["tinny", "did you mean `tiny`"]),
        (["trace", "info", "none.csv"], ["none.csv: no such file"]),
        (["trace", "look", "none.csv"], ["look"]),
        (["report", "."], ["summary.json"]),
    ],
)
def test_a_bad_command_is_refused(cli, job, tmp_path, arguments, words):
    refused(cli(*(job if word == "JOB" else word for word in arguments)), tmp_path, *words)


def test_a_folder_that_is_not_empty_is_kept(cli, job, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("ten years of work")
    refused(cli("run", "tiny", job, "--out", out), tmp_path, "not empty", "--force")
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_force_replaces_results_and_nothing_else(cli, job, tmp_path):
    out = tmp_path / "out"
    assert cli("run", "tiny", job, "--out", out).returncode == 0
    (out / "thesis.tex").write_text("ten years of work")
    before = (out / "summary.json").read_text()
    refused(cli("run", "tiny", job, "--out", out, "--force"), tmp_path, "thesis.tex;", "move them away")
    assert (out / "summary.json").read_text() == before
    (out / "thesis.tex").rename(tmp_path / "thesis.tex")
    (out / "summary.json").write_text("old")
    assert cli("run", "tiny", job, "--out", out, "--force").returncode == 0
    assert ssdlab.load_result(out).status == "complete"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "mixed.fio", "out", "thesis.tex"]


@pytest.mark.parametrize(
    ("option", "name"), [("--save", "x"), ("--timeline", "t.gz"), ("--log-commands", "l.csv"), ("--history", "h.csv")]
)
def test_no_file_is_written_into_the_folder_of_results(cli, job, tmp_path, option, name):
    (tmp_path / "out").mkdir()
    done = cli("run", "tiny", job, "--out", tmp_path / "out", option, tmp_path / "out" / name)
    refused(done, tmp_path, f"out/{name}: inside")


def test_force_replaces_files(cli, job, tmp_path):
    log, timeline, aged = (tmp_path / name for name in ("log.csv", "spans.pftrace", "aged.ssd"))
    options = ("--log-commands", log, "--timeline", timeline, "--save", aged)
    for path in (log, timeline, aged):
        path.write_text("ten years of work")
    refused(cli("run", "tiny", job, *options), tmp_path, "it exists", "--force")
    assert {path.read_text() for path in (log, timeline, aged)} == {"ten years of work"}
    assert cli("run", "tiny", job, *options, "--force").returncode == 0
    assert all(path.stat().st_size > 1000 for path in (log, timeline, aged))
    assert cli("run", "tiny", job, "--load", aged).returncode == 0


def test_a_file_in_the_place_of_a_folder(cli, job, tmp_path):
    refused(cli("run", "tiny", job, "--out", job), tmp_path, "a file")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("channels", "channles"), ["channles", "channels"]),
        (("[flash]", "[flush]"), ["flush"]),
        (("[flash]", "[flash"), [":"]),
    ],
)
def test_a_bad_description_names_its_file(cli, job, tmp_path, change, words):
    text = next(preset.text for preset in ssdlab.presets() if preset.name == "tiny")
    drive = tmp_path / "mine.toml"
    drive.write_text(text.replace(*change, 1))
    refused(cli("check", drive), tmp_path, "mine.toml:", *words)
    refused(cli("run", drive, job), tmp_path, "mine.toml:", *words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", ["empty.csv"]),
        ("junk.csv", bytes(range(256)) * 40, ["junk.csv"]),
        (
            "bad.csv",
            (MSR + "128166372026382245,hm,0,Raed,2822144,4096,1428\n").encode(),
            ["bad.csv", "3", "Raed"],
        ),
        ("cut.csv.gz", gzip.compress(MSR.encode() * 1000, mtime=0)[:-60], ["cut.csv.gz"]),
    ],
)
def test_a_bad_trace_names_its_line(cli, tmp_path, name, content, words):
    trace = tmp_path / name
    trace.write_bytes(content)
    refused(cli("run", "tiny", trace, "--address", "wrap", "--out", "out"), tmp_path, *words)
    refused(cli("trace", "info", trace), tmp_path, *words)


def test_an_address_past_the_end_comes_with_the_cures(cli, tmp_path):
    trace = tmp_path / "hm.csv"
    trace.write_text(MSR)
    refused(cli("run", "tiny", trace), tmp_path, "wrap", "scale", "compact")
    refused(cli("run", "tiny", trace, "--address", "around"), tmp_path, "around", "wrap", "scale", "compact")
    assert cli("run", "tiny", trace, "--address", "wrap").returncode == 0


def test_every_unsupported_fio_key_is_named_at_once(cli, tmp_path):
    job = tmp_path / "job.fio"
    job.write_text("[job]\nrw=randread\nverify=crc32c\nzonemode=zbd\nnumber_ios=10\n")
    refused(cli("run", "tiny", job), tmp_path, "verify", "zonemode")


def test_python_raises_what_the_command_line_prints(job):
    with pytest.raises(ssdlab.InputError, match="channles"):
        ssdlab.run("tiny", job, set={"flash.channles": 4})
    with pytest.raises(ValueError, match="ofwra"):
        ssdlab.run("tiny", job, policy="ofwra")
    for seed in (-1, 2**64, 1.5, "one"):
        with pytest.raises(ssdlab.InputError, match=r"^seed = .*: expected a whole number, 0"):
            ssdlab.run("tiny", job, seed=seed)
    with pytest.raises(ssdlab.InputError, match="steady_round 1s: the length of a round of steady_state"):
        ssdlab.run("tiny", job, steady_round="1s")
    with pytest.raises(ssdlab.InputError, match="either a path or a text"):
        ssdlab.Workload(path=job, text="[job]")


def test_the_page_of_errors_has_every_exit_status():
    text = PAGE.read_text(encoding="utf-8")
    head = "| status | meaning |\n| --- | --- |\n"
    before, after = text.split(head)
    table = "".join(f"| {status} | {meaning} |\n" for status, meaning in STATUSES.items())
    made = f"{before}{head}{table}\n{after.split(chr(10) * 2, 1)[1] if after.startswith('|') else after.lstrip(chr(10))}"
    if "SSDLAB_BLESS" in os.environ:
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "SSDLAB_BLESS=1 pytest tests/python/test_errors.py"
