"""Live pages: samples of the engine, their figures, the page of a drive, of a run and of a sweep."""

from __future__ import annotations

import copy
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from chromium import FINDINGS, tab
from conftest import PATIENCE, wait_for
from ssdlab.cli import watching
from ssdlab.report.content import value_text
from ssdlab.serving import control
from ssdlab.watching import feed as feeds
from ssdlab.watching import figures
from ssdlab.watching.drives import Drive
from ssdlab.watching.feed import POINTS, Feed
from ssdlab.watching.pace import Pace
from ssdlab.watching.runs import Observer
from ssdlab.watching.searches import Rows
from ssdlab.watching.site import page, site

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=20000\nnorandommap=1\n"


def contents(feed: Feed) -> dict[str, Any]:
    """Returns what a browser that comes now receives."""
    return json.loads(feed.since(0)[1])


def observed(**options: Any) -> tuple[ssdlab.Result, dict[str, Any]]:
    """Returns a run that was watched, and the state of its page."""
    feed = Feed()
    observer = Observer(feed, "tiny", "job", ssdlab.diagram("tiny"), None)
    result = ssdlab.run("tiny", ssdlab.Workload.from_text(JOB), progress=observer, **options)
    return result, contents(feed)


@pytest.fixture(scope="module")
def run() -> tuple[ssdlab.Result, dict[str, Any]]:
    """A run that was watched."""
    return observed(precondition="steady")


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    """The last sample of a run."""
    taken: list[str] = []

    class Hook:
        def __call__(self, progress: ssdlab.Progress) -> bool:
            return True

        def live(self, stage: str, fraction: float | None, text: str | None = None) -> bool | None:
            if text is None:
                return True if stage == "end" else None
            taken.append(text)
            return None

    ssdlab.run("tiny", ssdlab.Workload.from_text(JOB), progress=Hook(), precondition="steady")
    assert len(taken) == 1
    return json.loads(taken[0])


# The contents of a page.


def test_a_browser_receives_what_is_newer_than_what_it_has():
    feed = Feed()
    feed.put({"at": 1}, a=1, b=2)
    version, text = feed.since(0)
    assert json.loads(text) == {"a": 1, "b": 2, "points": [{"at": 1}], "whole": True}
    feed.put({"at": 2}, b=3)
    version, text = feed.since(version)
    assert json.loads(text) == {"b": 3, "points": [{"at": 2}], "whole": False}
    assert json.loads(feed.since(version)[1])["points"] == []
    feed.restart()
    feed.put({"at": 3})
    assert json.loads(feed.since(version)[1]) == {"points": [{"at": 3}], "whole": True}


def test_points_are_bounded_and_parts_are_made_once():
    feed, made = Feed(), []
    for number in range(POINTS + 50):
        feed.put({"at": number}, part=lambda: made.append(1) or "drawn")
    assert made == []
    assert [point["at"] for point in contents(feed)["points"]] == [*range(50, POINTS + 50)]
    assert contents(feed)["part"] == "drawn"
    assert len(made) == 1


def test_characters_that_a_page_obeys_are_shown():
    feed = Feed()
    feed.put(head={"title": "a\u202eb", "more": ["\x1b"]})
    assert contents(feed)["head"] == {"title": "a[U+202E]b", "more": ["[U+001B]"]}


def test_who_waits_is_woken_by_news_and_by_the_end():
    feed = Feed()
    assert not feed.wait(0, 0.0)
    feed.put(a=1)
    assert feed.wait(0, PATIENCE)
    heard = threading.Thread(target=lambda: feed.wait(1, PATIENCE))
    heard.start()
    feed.end()
    heard.join(PATIENCE)
    assert not heard.is_alive()


# Figures of a window.


def made_of(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(dict(figures.EMPTY)), **changes}


def test_the_figures_of_a_window_are_differences():
    before = made_of(
        simulated_ns=1_000_000,
        commands={"read": 100, "write": 10},
        latency={"read": {"ranges": [[500, 100]]}, "write": {"ranges": [[900, 10]]}},
        causes={"read": {"sense": 40_000}, "write": {}},
        host_units_written=10,
        programs={"host": 10, "gc": 5},
        utilisation={"die_0": 0.5},
    )
    after = made_of(
        simulated_ns=3_000_000,
        commands={"read": 300, "write": 10},
        latency={"read": {"ranges": [[500, 150], [800, 148], [9000, 2]]}, "write": {"ranges": [[900, 10]]}},
        causes={"read": {"sense": 60_000, "link": 8_000}, "write": {}},
        host_units_written=30,
        programs={"host": 30, "gc": 25},
        utilisation={"die_0": 0.7},
    )
    found = figures.point(before, after, 7.5, 0.25)
    assert (found["commands"], found["per_second"], found["per_simulated_second"]) == (200, 800.0, 100_000.0)
    assert found["write_amplification"] == 2.0
    # Of 200 reads 50 took up to 500 ns and 148 up to 800 ns: two lie beyond the 99th percentile, too few for it.
    assert found["read"] == {
        "p50_ns": 800,
        "p99_ns": None,
        "p99_9_ns": None,
        "count": 200,
        "causes": {"sense": 100.0, "link": 40.0},
    }
    assert found["write"] == {"p50_ns": None, "p99_ns": None, "p99_9_ns": None, "count": 0, "causes": {}}
    # Busy for 0.7 x 3 ms - 0.5 x 1 ms of 2 ms.
    assert figures.window_utilisation(before, after) == {"die_0": pytest.approx(0.8)}
    assert figures.window_utilisation(after, after) is None
    assert figures.has_restarted(after, before)
    assert not figures.has_restarted(before, after)


def test_a_window_of_the_whole_run_has_the_percentiles_of_its_summary(sample):
    found = figures.point(figures.EMPTY, sample, 1.0, 1.0)
    for op in ("read", "write"):
        assert found[op]["count"] == sample["commands"][op] > 5_000
        for name in ("p50_ns", "p99_ns"):
            exact = sample["latency"][op][name]
            assert exact <= found[op][name] <= exact * (1 + 1 / 64) + 1
        assert sum(found[op]["causes"].values()) * found[op]["count"] == pytest.approx(
            sum(sample["causes"][op].values()), rel=1e-4
        )


def test_a_sample_has_the_figures_of_the_summary(run, sample):
    result, state = run
    now, summary = state["now"], json.loads(result.summary_json)
    assert now["simulated_ns"] == summary["simulated_ns"]
    assert now["commands"] == summary["commands"]
    assert now["write_amplification"] == summary["write_amplification"]
    assert now["programs"] == summary["flash"]["programs"]
    assert now["erases"] == sum(summary["flash"]["erases"].values())
    assert now["utilisation"] == summary["utilisation"]
    assert now["free_blocks"] == summary["free_blocks"]["at_end"]
    for op in ("read", "write"):
        assert now["latency"][op] == {name: summary["latency"][op][name] for name in ("p50_ns", "p99_ns", "p99_9_ns")}
        mean = sum(sample["causes"][op].values()) / sample["commands"][op]
        assert mean == pytest.approx(summary["latency"][op]["mean_ns"])
    wear = state["wear"]
    assert (wear["min"], wear["max"], wear["mean"]) == tuple(summary["wear"][name] for name in ("min", "max", "mean"))
    assert len(wear["rows"]) == wear["dies"] == 4
    cells = [value for row in wear["rows"] for value in row]
    assert summary["wear"]["min"] <= min(cells) <= summary["wear"]["mean"] <= max(cells) <= summary["wear"]["max"]


def test_a_large_drive_has_a_map_of_bounded_size():
    taken: list[str] = []

    class Hook:
        def __call__(self, progress: ssdlab.Progress) -> bool:
            return True

        def live(self, stage: str, fraction: float | None, text: str | None = None) -> bool | None:
            if text is not None:
                taken.append(text)
            return stage == "end" or None

    sets = {"flash.channels": 16, "flash.chips_per_channel": 8, "flash.blocks_per_plane": 200}
    ssdlab.run("tiny", ssdlab.Workload.from_text(JOB), progress=Hook(), set=sets, stop_after=100)
    wear = json.loads(taken[-1])["wear"]
    assert wear["dies"] == 128
    assert (len(wear["rows"]), wear["dies_per_row"]) == (64, 2)
    assert len(wear["rows"][0]) <= 64
    assert len(wear["rows"][0]) * wear["blocks_per_column"] >= wear["blocks_per_die"]


def test_samples_that_cost_much_come_rarely():
    now = [0.0]
    pace = Pace(0.5, lambda: now[0])
    assert pace.is_due()
    assert pace.is_wear_due()
    pace.taken(0.1, wear=False)
    assert pace.until() == pytest.approx(20.0)
    now[0] = 19.9
    assert not pace.is_due()
    now[0] = 20.1
    assert pace.is_due()
    # The map costs 0.4 s beyond the sample.
    pace.taken(0.5, wear=True)
    now[0] += 159.0
    assert not pace.is_wear_due()
    now[0] += 2.0
    assert pace.is_wear_due()
    pace.taken(0.0001, wear=False)
    assert pace.until() == pytest.approx(0.5)


# The server of a page.


class Stream:
    """Server-sent events of a page."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
        self.link = HTTPConnection(host, int(port), timeout=PATIENCE)
        self.link.request("GET", "/events")
        self.answer = self.link.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["Content-Type"] == "text/event-stream"
        #: Parts and points, as the page has them.
        self.state: dict[str, Any] = {"points": []}

    def next(self) -> dict[str, Any] | None:
        """Takes one event into the state and returns it; none at the end of the stream."""
        end = time.monotonic() + PATIENCE
        while line := self.answer.readline():
            # Signs of life may come for ever.
            assert time.monotonic() < end, f"nothing happens: {self.state.get('status')}"
            if line.startswith(b"data: "):
                found = json.loads(line[6:])
                points = [] if found["whole"] else self.state["points"]
                self.state |= {**found, "points": [*points, *found["points"]]}
                return found
        return None

    def until(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Takes events until the state meets a condition."""
        end = time.monotonic() + PATIENCE
        while not condition(self.state):
            assert time.monotonic() < end, f"it does not happen: {self.state.get('status')}"
            assert self.next() is not None, f"the stream has ended: {self.state.get('status')}"
        return self.state

    def rest(self) -> dict[str, Any]:
        """Takes all events to the end."""
        while self.next() is not None:
            pass
        return self.state

    def close(self) -> None:
        self.link.close()


def asked(address: str, method: str = "GET", path: str = "/", **headers: str) -> tuple[int, Any, bytes]:
    """Returns status, headers and content of an answer."""
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    with closing(HTTPConnection(host, int(port), timeout=PATIENCE)) as link:
        link.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            link.putheader(name, value)
        link.endheaders()
        answer = link.getresponse()
        return answer.status, answer.headers, answer.read()


def test_the_page_asks_nobody_else():
    with site(Feed()) as address:
        status, headers, text = asked(address)
        assert status == 200
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self'" in policy
        assert "http" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert b"http://" not in text.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in text
        assert b"@@" not in text


def test_other_names_methods_and_paths_are_refused():
    with site(Feed()) as address:
        port = address.rstrip("/").rpartition(":")[2]
        assert asked(address, Host=f"localhost:{port}")[0] == 200
        for host in ("example.com", f"example.com:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1:{port}.example.com", ""):
            assert asked(address, Host=host)[0] == 421, host
            assert asked(address, path="/events", Host=host)[0] == 421, host
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"):
            status, headers, _ = asked(address, method)
            assert (status, headers["Allow"]) == (405, "GET"), method
        for path in ("/index.html", "/../etc/passwd", "/events/", "*"):
            assert asked(address, path=path)[0] == 404, path


def test_a_page_is_on_the_loopback_alone():
    with site(Feed()) as address:
        assert address.startswith("http://127.0.0.1:")


def test_several_browsers_see_the_same_and_the_end():
    feed = Feed()
    feed.put({"at": 0}, head="first")
    with site(feed) as address:
        streams = [Stream(address) for _ in range(3)]
        for stream in streams:
            assert stream.until(lambda state: state["points"])["head"] == "first"
        feed.put({"at": 1}, head="second")
        for stream in streams:
            stream.until(lambda state: len(state["points"]) == 2)
            assert stream.state["head"] == "second"
        feed.end(status="over")
        assert [stream.rest()["status"] for stream in streams] == ["over"] * 3


def test_a_browser_that_stalls_holds_nobody_up():
    feed, large = Feed(), "x" * 1_000_000
    feed.put(head="0")
    with site(feed) as address, socket.socket() as stalled:
        port = int(address.rstrip("/").rpartition(":")[2])
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect(("127.0.0.1", port))
        stalled.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        stream = Stream(address)
        for number in range(1, 40):
            feed.put(head=str(number), more=large)
            stream.until(lambda state, number=number: state.get("head") == str(number))
        # Parts that the stalled one has not taken are kept once, not forty times.
        assert len(feed.since(0)[1]) < 1.1 * len(large)
        stream.close()
        feed.end()


def test_connections_are_bounded(monkeypatch):
    monkeypatch.setattr("ssdlab.watching.site._CONNECTIONS", 2)
    feed = Feed()
    feed.put(head="there")
    with site(feed) as address:
        streams = [Stream(address), Stream(address)]
        for stream in streams:
            stream.until(lambda state: "head" in state)
        with pytest.raises(ConnectionError):
            asked(address)
        feed.end()
        for stream in streams:
            stream.rest()


def test_a_taken_port_is_an_error():
    with site(Feed()) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        with (
            pytest.raises(ssdlab.InputError, match=rf"--port {port}: Address already in use: expected a free port"),
            site(Feed(), port),
        ):
            pass


# A served drive.


class Watched:
    """A drive that is served, and the command that watches it."""

    def __init__(self, start: Callable[..., Any], at: Path) -> None:
        self._start, self.at = start, at
        self.server = self.serve()

    def serve(self) -> Any:
        """Starts the server."""
        running = self._start("serve", "tiny", "--socket", self.at, "--json", "--precondition", "fill")
        wait_for(lambda: Path(f"{self.at}.ctl").exists() or running.poll() is not None, "the server does not listen")
        assert running.poll() is None, running.communicate()[1]
        return running

    def watch(self, *words: object) -> tuple[Any, str]:
        """Starts the watch, and returns the process and the address."""
        running = self._start("watch", self.at, "--every", "100ms", *words)
        line = running.stderr.readline()
        assert line.startswith("ssdlab: watch: http://127.0.0.1:"), line + running.stderr.read()
        return running, line.split()[-1]


@pytest.fixture
def watched(start: Callable[..., Any], tmp_path: Path) -> Watched:
    return Watched(start, tmp_path / "s")


@contextmanager
def nbd(at: Path) -> Iterator[Callable[[int, int], None]]:
    """Yields a function that writes units of 4 KiB to a served drive."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(at))
        link.settimeout(PATIENCE)

        def read(count: int) -> bytes:
            return link.recv(count, socket.MSG_WAITALL)

        assert read(18)[:8] == b"NBDMAGIC"
        # Fixed negotiation without zeroes, and the export without a name.
        link.sendall((3).to_bytes(4, "big") + b"IHAVEOPT" + (1).to_bytes(4, "big") + (0).to_bytes(4, "big"))
        assert len(read(10)) == 10

        def write(first: int, count: int) -> None:
            for unit in range(first, first + count):
                head = (0x25609513).to_bytes(4, "big") + bytes(2) + (1).to_bytes(2, "big") + unit.to_bytes(8, "big")
                link.sendall(head + (4096 * unit).to_bytes(8, "big") + (4096).to_bytes(4, "big") + bytes([unit % 251]) * 4096)
                assert read(16)[4:8] == bytes(4)

        yield write


def test_a_watch_has_the_figures_of_ctl(watched):
    running, address = watched.watch()
    stream = Stream(address)
    stream.until(lambda state: state.get("now"))
    with nbd(watched.at) as write:
        write(0, 300)
    state = stream.until(lambda state: state["now"]["commands"]["write"] == 300)
    stats = control(watched.at, "stats")
    assert state["now"]["simulated_ns"] == stats["simulated_ns"]
    assert state["now"]["commands"] == stats["commands"]
    assert state["now"]["write_amplification"] == stats["write_amplification"]
    assert state["now"]["utilisation"] == stats["utilisation"]
    assert state["now"]["server"]["written_bytes"] == stats["server"]["written_bytes"] == 300 * 4096
    assert state["now"]["latency"]["write"]["p50_ns"] == stats["latency"]["write"]["p50_ns"]
    assert sum(point["write"]["count"] for point in state["points"]) == 300
    assert state["diagram"].startswith("<svg")
    assert state["status"] == {"kind": "live", "text": "live"}
    assert state["head"]["title"] == "tiny"
    running.send_signal(signal.SIGINT)
    assert stream.rest()["status"] == {"kind": "over", "text": "the watch has ended; this is its last state"}
    assert stream.state["now"]["commands"] == stats["commands"]
    assert running.communicate(timeout=PATIENCE) == ("", "")
    assert running.returncode == 130


def test_a_drive_without_power_and_one_that_is_gone_are_named(watched):
    _, address = watched.watch()
    stream = Stream(address)
    stream.until(lambda state: state.get("now"))
    control(watched.at, "power-cut", down="1s", after_events=None)
    stream.until(lambda state: state["status"]["kind"] == "power")
    assert stream.state["status"]["text"] == "the drive has lost power, and is back"
    assert stream.state["now"]["server"]["power_losses"] == 1
    assert [point["lost_power"] for point in stream.state["points"]].count(True) == 1
    control(watched.at, "stop")
    watched.server.communicate(timeout=PATIENCE)
    gone = stream.until(lambda state: state["status"]["kind"] == "gone")
    assert "the drive is gone: " in gone["status"]["text"]
    assert gone["now"]["server"]["power_losses"] == 1, "the last state stays"
    watched.server = watched.serve()
    back = stream.until(lambda state: state["status"]["kind"] == "live")
    assert back["now"]["server"]["power_losses"] == 0
    stream.close()


def test_bad_input_has_status_2(cli, tmp_path, watched):
    missing = cli("watch", tmp_path / "missing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "missing.ctl: No such file or directory: expected the socket of a server" in missing.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        busy = cli("watch", watched.at, "--port", port)
        assert busy.returncode == 2
        assert f"--port {port}: Address already in use: expected a free port" in busy.stderr
    for every in ("0s", "99ms", "2d", "fast", "61min", "-1s"):
        wrong = cli("watch", watched.at, "--every", every)
        assert wrong.returncode == 2, every
    assert cli("watch", watched.at, "--port", 65536).returncode == 2


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"NBDMAGIC\n", b"[]\n", b"{}\n", b""])
def test_another_protocol_is_named(cli, tmp_path, answer):
    at = tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{at}.ctl")
        listening.listen()

        def serve() -> None:
            link, _ = listening.accept()
            with link:
                link.recv(1000)
                link.sendall(answer)

        other = threading.Thread(target=serve)
        other.start()
        done = cli("watch", at)
        other.join(PATIENCE)
    assert done.returncode == 2
    assert f"{at}.ctl: " in done.stderr
    assert "expected the socket of a server" in done.stderr or "ended without an answer" in done.stderr


def test_a_served_drive_shows_itself(start, tmp_path):
    at = tmp_path / "s"
    running = start("serve", "tiny", "--socket", at, "--json", "--watch")
    address = running.stderr.readline().split()[-1]
    stream = Stream(address)
    stream.until(lambda state: state.get("now"))
    control(at, "stop")
    assert stream.rest()["status"]["kind"] == "over"
    assert running.wait(PATIENCE) == 0


# Runs, sweeps and searches.


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Feed]:
    """The contents of the pages that commands have shown."""
    made: list[Feed] = []

    class Kept(Feed):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(feeds, "Feed", Kept)
    return made


def without_wall(text: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(text).items() if name != "wall_s"}


def test_a_watched_run_has_the_same_results(cli, job, pages):
    words = ("run", "tiny", job, "--precondition", "steady", "--json", "--history")
    plain, shown = (cli(*words, name, *more) for name, more in (("a.csv", ()), ("b.csv", ("--watch",))))
    assert "watch: http://127.0.0.1:" in shown.stderr
    assert "watch:" not in plain.stderr
    assert without_wall(shown.stdout) == without_wall(plain.stdout)
    here = job.parent / "here"
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    (state,) = map(contents, pages)
    assert state["status"] == {"kind": "over", "text": "the command has ended; this is its last state"}
    assert state["head"]["title"] == "tiny under mixed.fio"
    assert state["now"]["commands"] == json.loads(shown.stdout)["commands"]
    assert sum(point["commands"] for point in state["points"]) == 20_000


def test_a_watched_run_that_fails_says_so_and_ends(cli, tmp_path, pages):
    done = cli("run", "tiny", tmp_path / "missing.fio", "--watch")
    assert done.returncode == 2
    assert contents(pages[0])["status"]["kind"] == "over"


def test_a_comparison_shows_one_run_after_the_other(cli, job, pages):
    done = cli("compare", "tiny", job, "--policy", "baseline,ofwar", "--stop-after", 2000, "--json", "--watch")
    assert done.returncode == 0, done.stderr
    (state,) = map(contents, pages)
    assert state["head"]["subtitle"] == "ofwar"
    assert sum(point["commands"] for point in state["points"]) == 2000, "those of the last run alone"


def test_a_sweep_shows_its_rows(cli, job, tmp_path, pages):
    spec = tmp_path / "spec.toml"
    spec.write_text(f'drive = "tiny"\nworkload = "{job}"\n[options]\nstop_after = 500\n[vary]\n"flash.channels" = [1, 2, 3]\n')
    plain, shown = (cli("sweep", spec, "--out", name, "--jobs", 1, *more) for name, more in (("a", ()), ("b", ("--watch",))))
    assert (plain.returncode, shown.returncode) == (0, 0), shown.stderr
    (state,) = map(contents, pages)
    rows = state["rows"]
    cards = {label: value for value, label in rows["cards"]}
    assert (cards["done"], cards["failed"], cards["to do"]) == ("3", "0", "0")
    assert rows["share"] == 1.0
    assert rows["columns"][:4] == ["index", "flash.channels", "seed", "status"]
    assert {row[1] for row in rows["rows"]} == {"1", "2", "3"}
    table = ssdlab.load_sweep(tmp_path / "here/b").table.to_pylist()
    best = min(row["latency.all.mean_ns"] for row in table)
    assert state["points"][-1]["best"] == best
    assert cards["best latency.all.mean_ns"] == value_text("latency.all.mean_ns", best)
    assert [row["latency.all.mean_ns"] for row in ssdlab.load_sweep(tmp_path / "here/a").table.to_pylist()] == [
        row["latency.all.mean_ns"] for row in table
    ]


def test_a_search_shows_its_front(cli, job, tmp_path, pages):
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'drive = "tiny"\nworkload = "{job}"\n[options]\nstop_after = 300\n'
        '[search]\n"flash.channels" = { choices = [1, 2, 4] }\n'
        '[[objective]]\nkey = "latency.all.mean_ns"\n[[objective]]\nkey = "cost"\n'
    )
    done = cli("optimise", spec, "--out", "o", "--trials", 4, "--jobs", 1, "--no-comparison", "--watch", "--json")
    assert done.returncode == 0, done.stderr
    (state,) = map(contents, pages)
    cards = {label: value for value, label in state["rows"]["cards"]}
    assert cards["done"] == "4"
    assert int(cards["on the front"]) == len(json.loads(done.stdout)["front"])
    assert state["rows"]["columns"][:2] == ["trial", "flash.channels"]
    assert len(state["rows"]["rows"]) == 4


def test_rows_that_failed_are_kept_apart():
    feed = Feed()
    rows = Rows(feed, "sweep", "", ["a"], number="n")
    rows.show([], 1, 1, 4, 0.5, {"index": 0, "a": 1, "seed": 1, "status": "failed"}, None)
    for index in range(1, 31):
        rows.show([], index, 1, 40, 0.5, {"index": index, "a": 2, "seed": 1, "status": "ok"}, 3.0)
    state = contents(feed)["rows"]
    assert len(state["rows"]) == 20
    assert state["rows"][0][:4] == ["30", "2", "1", "ok"]
    assert {label: value for value, label in state["cards"]}["left at this rate"] == "20 s"


def test_the_page_of_a_run_is_over_at_its_end(job):
    feed = Feed()
    with site(feed) as address:
        stream = Stream(address)
        observer = Observer(feed, "t", "", None, lambda progress: None)
        ssdlab.run("tiny", job, progress=observer)
        stream.until(lambda state: state.get("now"))
        feed.end(status={"kind": "over", "text": "over"})
        assert stream.rest()["status"]["kind"] == "over"


def test_a_command_without_watch_opens_nothing():
    with watching.observed(False, "tiny", "job", ()) as observe:
        assert observe("a", None) is None


# The page in a browser.

MARKUP = "<img src=x onerror='document.title=1'> & <b>drive</b>"


def scaled(sample: dict[str, Any], times: float) -> dict[str, Any]:
    """Returns a sample as it was when a part of the commands was done."""
    found = copy.deepcopy(sample)
    found["simulated_ns"] = round(found["simulated_ns"] * times)
    found["host_units_written"] = round(found["host_units_written"] * times)
    for group in ("commands", "programs"):
        found[group] = {name: round(number * times) for name, number in found[group].items()}
    for op in ("read", "write"):
        found["latency"][op]["ranges"] = [[end, round(count * times)] for end, count in found["latency"][op]["ranges"]]
        found["causes"][op] = {name: round(ns * times) for name, ns in found["causes"][op].items()}
    return found


def filled(sample: dict[str, Any]) -> Feed:
    """Returns the contents of a page with some windows."""
    feed, clock = Feed(), iter(range(1000))
    drive = Drive(feed, lambda: float(next(clock)))
    drive.begin(MARKUP, MARKUP, {**ssdlab.diagram("tiny"), "drive": MARKUP}, is_new=True)
    for part in range(1, 11):
        # Enough commands in each window for a 99.9th percentile.
        drive.show(scaled(sample, 2 * part), status={"kind": "live", "text": MARKUP})
    return feed


def value_when(page: Any, script: str, condition: str) -> Any:
    """Waits until a condition holds in a page, and returns a value there."""
    wait_for(lambda: page.value(condition), f"{condition}: does not hold")
    return page.value(script)


def test_the_page_draws_every_part(sample, tmp_path):
    feed = filled(sample)
    with site(feed) as address, tab(tmp_path / "profile") as browser:
        browser.open(address)
        curves = {
            "per_second": 1,
            "per_simulated_second": 1,
            "write_amplification": 1,
            "latency-read": 3,
            "latency-write": 3,
        }
        found = browser.value(
            "Object.fromEntries([...document.querySelectorAll('.live[data-curves]')].map((e) => [e.id, +e.dataset.curves]))"
        )
        assert {name: found[name] for name in curves} == curves
        assert found["causes-read"] == len(sample["causes"]["read"])
        assert found["causes-write"] == len(sample["causes"]["write"])
        assert browser.value("document.querySelectorAll('#diagram svg rect').length") > 10
        cells = sum(len(row) for row in sample["wear"]["rows"])
        assert browser.value("+document.getElementById('wear').dataset.cells") == cells
        assert browser.value("document.querySelectorAll('#percentiles tbody tr').length") == 4
        assert browser.value("document.querySelectorAll('#cards .card').length") >= 9
        # Names are texts.
        assert browser.value("document.getElementById('title').textContent") == MARKUP
        assert browser.value("document.getElementById('status').textContent") == MARKUP
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        # Later parts are drawn, and the last state stays.
        feed.put(status={"kind": "power", "text": "the drive has lost power, and is back"})
        value_when(browser, "1", "document.getElementById('status').dataset.kind === 'power'")
        feed.end(status={"kind": "over", "text": "over"})
        value_when(browser, "1", "source.readyState === 2 && document.getElementById('status').textContent === 'over'")
        assert browser.value("document.querySelectorAll('#diagram svg').length") == 1


def test_the_page_tries_again_when_the_command_is_lost(sample, tmp_path):
    feed = filled(sample)
    with tab(tmp_path / "profile") as browser:
        with site(feed) as address:
            port = int(address.rstrip("/").rpartition(":")[2])
            browser.open(address)
        value_when(browser, "1", "document.getElementById('status').dataset.kind === 'lost'")
        again = filled(sample)
        with site(again, port):
            value_when(browser, "1", "document.getElementById('status').dataset.kind === 'live'")
            assert browser.value("state.points.length") == 10, "not those of both"


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window(sample, tmp_path, width, scheme):
    with site(filled(sample)) as address, tab(tmp_path / "profile") as browser:
        browser.open(address, width, scheme)
        assert browser.value("document.documentElement.dataset.theme") == scheme
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        browser.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 20_000


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(sample, tmp_path, axe, scheme):
    with site(filled(sample)) as address, tab(tmp_path / "profile") as browser:
        for width in (1400, 400):
            browser.open(address, width, scheme)
            browser.value(f"{axe}; 0")
            assert browser.value(FINDINGS) == []


def test_the_page_of_a_sweep_has_its_table(tmp_path):
    feed = Feed()
    rows = Rows(feed, MARKUP, "", ["a"], number="latency.all.mean_ns")
    for index in range(3):
        row = {"index": index, "a": MARKUP, "seed": 1, "status": "ok", "latency.all.mean_ns": 5e4}
        rows.show([("50 us", "best")], index + 1, 0, 3, 2.0, row, 5e4)
    with site(feed) as address, tab(tmp_path / "profile") as browser:
        browser.open(address)
        assert browser.value("document.querySelectorAll('#last-rows tbody tr').length") == 3
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert browser.value("document.getElementById('progress').value") == 1
        assert browser.value("+document.getElementById('best').dataset.curves") == 1


def test_the_script_of_the_page_is_the_one_that_may_run():
    text, policy = page()
    assert text.count(b"<script>") == 1
    assert "'sha256-" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
