"""Definitions of the names in results: the page, the command, the columns of tables, the report."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import ssdlab
from ssdlab import terms
from ssdlab.report import amplification, attempts, causes, content, latency, modes, timeline, utilisation

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results.md"
JOB = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=1500\nnorandommap=1\n"
MIXED = f"[w]\n{JOB}[other]\n{JOB}"
ERRORS = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
POWER = ["power.supply=3.3V", "power.idle=10uA"] + [
    f"power.{operation}={{kind='constant',current='9mA'}}" for operation in ("read", "program", "erase")
]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A result folder of a run that writes every table, and the folder with its other files."""
    folder = tmp_path_factory.mktemp("everything")
    job = folder / "w.fio"
    job.write_text(MIXED)
    result = ssdlab.run(
        "tiny",
        job,
        "ofwar",
        precondition="fill",
        set=ERRORS + POWER,
        log_commands=folder / "commands.parquet",
        timeline=folder / "timeline.gz",
        history=folder / "history.csv",
    )
    return result, result.save(folder / "out"), folder


def declared(file, causes=()):
    """Returns names and types of the declared columns of a table, with one column for each cause."""
    columns = []
    for column in ssdlab.definitions()["columns"][file]:
        names = [column["name"].replace("CAUSE", cause) for cause in causes] if "CAUSE" in column["name"] else [column["name"]]
        columns += [(name, column["type"]) for name in names]
    return columns


def types(table):
    """Returns names and types of the columns of a table, as the definitions name them."""
    names = {"uint64": "u64", "double": "f64", "float64": "f64", "bool": "bool"}
    found = [(field.name, str(field.type)) for field in table.schema]
    return [(name, "string" if "string" in kind else names[kind]) for name, kind in found]


def test_every_column_of_every_file_is_defined(everything):
    from pyarrow import parquet

    _, out, folder = everything
    known = [cause["name"] for cause in ssdlab.definitions()["causes"]]
    written = {
        "latency.parquet": parquet.read_table(out / "latency.parquet"),
        "stream_latency.parquet": parquet.read_table(out / "stream_latency.parquet"),
        "power.parquet": parquet.read_table(out / "power.parquet"),
        "timeline.parquet": parquet.read_table(out / "timeline.parquet"),
        "--log-commands": ssdlab.read_commands(folder / "commands.parquet"),
        "--timeline": ssdlab.read_timeline(folder / "timeline.gz"),
        "--history": ssdlab.read_history(folder / "history.csv"),
    }
    assert set(written) == set(ssdlab.definitions()["columns"])
    assert {path.name for path in out.glob("*.parquet")} == {name for name in written if name.endswith(".parquet")}
    for name, table in written.items():
        assert types(table) == declared(name, known), name
    page = PAGE.read_text(encoding="utf-8")
    for name, _ in (column for file in written for column in declared(file, ["CAUSE"])):
        assert f"| `{name}` |" in page, name


def paths(value, at=()):
    """Yields the paths of the leaves of a document; an element of a list is ``*``."""
    children = value.items() if isinstance(value, dict) else (("*", item) for item in value) if isinstance(value, list) else ()
    leaf = True
    for name, child in children:
        leaf = False
        yield from paths(child, (*at, name))
    if leaf:
        yield ".".join(at)


def test_every_key_of_a_comparison_is_defined(examples):
    comparison = ssdlab.compare("tiny", examples / "trace.csv.gz", ["baseline", "all_fast"], stop_after=300)
    keys = [key["name"] for key in ssdlab.definitions()["keys"]["compare.json"]]
    patterns = [re.escape(key).replace("OP", r"\w+").replace("NAME", r"\w+") for key in keys]
    document = comparison.to_dict()
    assert set(document) <= set(keys)
    for path in paths({"ratios": document["ratios"]}):
        assert any(re.fullmatch(pattern, path) for pattern in patterns), path
    assert set(document["runs"][0]) <= {key["name"].split(".")[0] for key in ssdlab.definitions()["keys"]["summary.json"]}


def test_the_command_prints_the_definitions_and_the_page(cli):
    done = cli("schema", "results")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ssdlab.definitions()
    page = cli("schema", "results", "--format", "markdown").stdout
    assert page == PAGE.read_text(encoding="utf-8") == ssdlab.reference("results")
    assert json.loads(cli("schema").stdout) == ssdlab.schema()
    wrong = cli("schema", "result")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "'result' is not one of 'drive', 'workload'" in wrong.stderr
    with pytest.raises(ssdlab.InputError, match="unknown page `result`: expected one of drive, results"):
        ssdlab.reference("result")


def test_a_definition_is_plain_text_for_the_report():
    assert terms.key("power_failure") == "Effect of a power failure (Power failure). Absent unless power failed."
    assert (terms.key("power"), terms.column("latency.parquet", "op_ns")) == ("", "")
    for kind in (terms.causes(), terms.reasons(), terms.words()):
        assert not any(mark in text for text in kind.values() for mark in ("`", "](", "<", "%{"))


def test_statistics_are_those_of_their_policy():
    assert terms.statistic("ofwar", "evictions").startswith("Rewrites that made room")
    assert terms.statistic("combine", "ofwar.evictions") == terms.statistic("ofwar", "evictions")
    assert (terms.statistic("baseline", "evictions"), terms.statistic("mine.py", "a.b")) == ("", "")


def test_what_the_report_names_is_defined():
    missing = [title for title, meaning in content.measures().items() if not meaning]
    assert missing == []


def shown(html):
    """Returns the meaning that the report shows for each name in its tables."""
    found = re.findall(r'<th scope="(?:row|col)"><span title="([^"]+)">([^<]+)</span>', html)
    return {unescape(name): unescape(meaning) for meaning, name in found}


def test_names_in_the_tables_of_a_report_show_their_definitions(everything):
    result, _, _ = everything
    html = result.report()
    names = shown(html)
    assert names["p99.9"] == terms.key("latency.OP.p99_9_ns")
    assert names["host"] == terms.reasons()["host"]
    assert names["blocks erased"] == terms.key("flash.erases")
    assert names["evictions"] == terms.statistic("ofwar", "evictions")
    assert names["uber"] == terms.key("reliability.uber")
    assert names["wear stddev"] == terms.key("wear.stddev")
    assert names["read"] == terms.key("commands.OP")
    assert names["saturated"] == terms.key("saturated")
    assert names["failed"] == terms.key("read_errors.attempts.*.failed")
    assert f'<div class="card" title="{terms.key("throughput.iops")}">' in html


def test_names_in_a_comparison_show_their_definitions(everything):
    result, _, _ = everything
    names = shown(ssdlab.Comparison([result, result]).report())
    assert names["commands per second"] == terms.key("throughput.iops")
    assert names["of it for host"] == terms.reasons()["host"]
    assert names["media errors"] == terms.key("read_errors.media_errors")
    assert names["retries per 1,000 reads"].startswith("Attempts at reads")
    assert names["mapped units"] == terms.key("starting_state.mapped_units")


def test_curves_and_bars_show_their_definitions(everything):
    result, _, _ = everything
    charts = {
        "causes": (causes.stacked([result]), terms.causes()["sense"]),
        "attempts": (attempts.made_and_failed([result]), terms.causes()["sense"]),
        "amplification": (amplification.by_reason([result]), terms.reasons()["host"]),
        "percentiles": (latency.percentiles([result, result]), terms.key("latency.OP.p99_ns")),
        "timeline": (timeline.traffic([result]), terms.column("timeline.parquet", "queue_depth")),
        "utilisation": (utilisation.busy([result]), terms.key("utilisation.die_N")),
        "modes": (modes.shares([result]), terms.key("modes.write.MODE")),
    }
    for name, (chart, meaning) in charts.items():
        texts = [text for trace in chart.data for text in (trace.hovertemplate, *map(str, trace.customdata or ()))]
        assert any(terms.below(meaning) in text for text in texts), name


def test_a_result_of_a_version_with_other_names_is_shown(everything):
    result, _, _ = everything
    summary = result.summary_json.replace('"evictions"', '"expulsions"').replace('"uber"', '"rate_of_errors"')
    old = ssdlab.Result(
        summary,
        drive_toml=result.drive_toml,
        workload_toml=result.workload_toml,
        latency=result.latency_table(),
        timeline=result.timeline_table(),
    )
    html = old.report()
    assert '<th scope="row">expulsions</th>' in html
    assert '<th scope="row">rate of errors</th>' in html
