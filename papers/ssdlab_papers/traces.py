"""Traces by name: a user's own files, found and checked, or look-alikes that come with the experiments.

The traces of the source works are not ours to distribute. A folder that holds them (``ssdlab paper --traces DIR``) is
searched by name. Each file found is compared with the known properties of the whole trace: a published value may be
asserted only if they agree. Without a file, an experiment runs a fitted look-alike, which is another workload, and its
entries say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab import InputError, Workload
from ssdlab.errors import unknown_name
from ssdlab.traces import trace_info

__all__ = ["KNOWN", "MSR_VOLUMES", "Known", "Load", "Traces", "files_in"]

_LOOK_ALIKES = Path(__file__).parent / "lookalikes"
#: Tolerance of a number of requests, relative to the known one (some are quoted rounded), and of a share of writes (two
#: percentage points, FACTS 7).
_COUNT_TOLERANCE, _SHARE_TOLERANCE = 0.005, 0.02
#: Relative tolerance of a trace's span. The week of MSR Cambridge spans 6.7 to 6.9 days in the volumes that are known
#: whole; a trace of a day may be cut as much.
_SPAN_TOLERANCE = 0.07
#: Replay options of a look-alike and their accepted values; the first value is the default.
_LOOK_ALIKE_OPTIONS = {"replay": ("open", "gaps"), "address": ("compact", "wrap")}
#: Suffixes of files that are never traces, whatever their names.
_NOT_TRACES = (".md", ".toml", ".json", ".html", ".pdf", ".py", ".sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Known properties of a whole trace."""

    #: Name by which experiments request the trace.
    name: str
    #: Name in messages and tables.
    title: str
    #: Regular expression that a file's name contains, case aside. The match may not follow a letter or digit, nor
    #: precede a digit.
    pattern: str
    #: Number of requests.
    requests: int | None = None
    #: Share of writes among the requests.
    writes: float | None = None
    #: Time from the first to the last request [days].
    days: float | None = None
    #: Standing of these values: ``stated``, ``found``, ``derived``, ``recalled``.
    standing: str = "recalled"

    def matches(self, path: Path) -> bool:
        """Returns true if a file's name is that of the trace."""
        return re.search(rf"(?<![a-z0-9])(?:{self.pattern})(?![0-9])", path.name.lower()) is not None

    def differences(self, info: dict[str, Any]) -> tuple[str, ...]:
        """Returns the differences between a file and the whole trace, in words.

        `info` is the result of :func:`ssdlab.trace_info`. Without a known number of requests a file always counts as
        different.
        """
        found: list[str] = []
        count, span = int(info["requests"]), info["span_ns"] / 86_400e9
        share = info["writes"] / count if count else 0.0
        if self.requests is None:
            found.append("how many requests it has is not known here")
        elif abs(count / self.requests - 1) > _COUNT_TOLERANCE:
            found.append(f"{count:,} requests of {self.requests:,}")
        if self.days is not None and abs(span / self.days - 1) > _SPAN_TOLERANCE:
            found.append(f"{span:.3g} days of {self.days:g}")
        if self.writes is not None and abs(share - self.writes) > _SHARE_TOLERANCE:
            found.append(f"{share:.1%} writes, not {self.writes:.1%}")
        return tuple(found)


def _msr(volume: str) -> Known:
    """Returns a volume of MSR Cambridge: a week (stated by the works), requests and share of writes recalled."""
    return Known(
        name=volume,
        title=f"MSR Cambridge {volume}",
        pattern=volume,
        requests=_MSR_REQUESTS[volume],
        writes=_MSR_WRITES.get(volume),
        days=7.0,
        standing="stated and recalled",
    )


#: Requests of the volumes of MSR Cambridge: names of servers, with the numbers of their volumes (Narayanan, Donnelly,
#: Rowstron, FAST'08).
_MSR_REQUESTS = {
    "hm_0": 3_993_316, "hm_1": 609_311, "mds_0": 1_211_034, "mds_1": 1_637_711, "prn_0": 5_585_886, "prn_1": 11_233_411,
    "proj_0": 4_224_524, "proj_1": 23_639_742, "proj_2": 29_266_482, "proj_3": 2_244_644, "proj_4": 6_465_639,
    "prxy_0": 12_518_968, "prxy_1": 168_638_964, "rsrch_0": 1_433_655, "rsrch_1": 13_780, "rsrch_2": 207_587,
    "src1_0": 37_415_613, "src1_1": 45_746_222, "src1_2": 1_907_773, "src2_0": 1_557_814, "src2_1": 657_987,
    "src2_2": 1_156_885, "stg_0": 2_030_915, "stg_1": 2_196_861, "ts_0": 1_801_734, "usr_0": 2_237_889, "usr_1": 45_283_980,
    "usr_2": 10_570_046, "wdev_0": 1_143_261, "wdev_1": 1_055, "wdev_2": 181_266, "wdev_3": 682, "web_0": 2_029_945,
    "web_1": 160_891, "web_2": 5_175_368, "web_3": 31_380,
}  # fmt: skip
MSR_VOLUMES = tuple(_MSR_REQUESTS)
_MSR_WRITES = {
    "hm_0": 0.645, "prn_0": 0.892, "proj_0": 0.875, "prxy_0": 0.969, "src1_2": 0.746, "stg_0": 0.848, "usr_0": 0.596,
    "web_0": 0.701,
}  # fmt: skip

#: Traces that the source works and these experiments name. Numbers of requests and shares of writes: FACTS 1.4 and 7.
KNOWN: dict[str, Known] = {
    known.name: known
    for known in (
        Known(name="iozone", title="IOzone", pattern="iozone", requests=100_000, writes=1.0, standing="derived"),
        Known(name="postmark", title="Postmark", pattern="postmark", requests=62_257, writes=0.168, standing="derived"),
        Known(name="financial1", title="Financial1", pattern="financial_?1", requests=5_334_987, writes=0.768),
        Known(name="financial2", title="Financial2", pattern="financial_?2", requests=3_700_000, writes=0.177),
        Known(name="websearch1", title="WebSearch1", pattern="web_?search_?1", requests=1_055_448, writes=0.0, standing="found"),
        Known(name="tpc_c", title="TPC-C", pattern="tpc[-_]?c", days=1.0, standing="stated"),
        Known(name="hadoop", title="Hadoop", pattern="hadoop", days=1.0, standing="stated"),
        *(_msr(volume) for volume in MSR_VOLUMES),
        Known(
            name="msr_mixed", title="MSR Cambridge, 20 % reads", pattern="msr_window_rw20-80", requests=10_000, standing="found"
        ),
        Known(
            name="msr_reads",
            title="MSR Cambridge, read burst",
            pattern="msr_window_read-burst",
            requests=10_000,
            standing="found",
        ),
        # Two volumes whose number of requests is found, not recalled: these entries replace those above.
        Known(name="rsrch_1", title="MSR Cambridge rsrch_1", pattern="rsrch_1", requests=13_780, days=7.0, standing="found"),
        Known(name="wdev_1", title="MSR Cambridge wdev_1", pattern="wdev_1", requests=1_055, days=7.0, standing="found"),
        Known(name="game", title="a game on a phone", pattern="cod_exec", requests=223_998, days=6.67, standing="found"),
        Known(
            name="diablo", title="another game on a phone", pattern="diablo_exec", requests=337_415, days=60.7, standing="found"
        ),
        Known(name="desktop", title="desktop PC", pattern="desktop", requests=32_527, writes=0.617, standing="found"),
        Known(name="vm", title="CloudPhysics virtual machine", pattern="cloudphysics", requests=113_872, standing="found"),
        Known(name="copy", title="copying to a phone", pattern="copyhtod", requests=9_278, writes=0.66, standing="found"),
        Known(name="download", title="downloading to a phone", pattern="156_download", requests=11_670, standing="found"),
        Known(name="slideshow", title="slideshow on a phone", pattern="slideshow_exec", requests=84_197, standing="found"),
        Known(name="mail", title="mail server", pattern="mail-day2", standing="found"),
        Known(name="telegram", title="Telegram on a phone", pattern="telegram_exec", requests=251_879, standing="found"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load that an experiment runs for a trace: the whole trace, a part of it, or a look-alike."""

    #: Known properties of the trace.
    known: Known
    #: File of the trace or of the look-alike.
    path: Path
    #: True if the file is a trace, false if it is a look-alike.
    is_trace: bool
    #: Number of requests in the file; for a look-alike, the number it was fitted to.
    requests: int
    #: Differences between the file and the whole trace.
    differences: tuple[str, ...] = ()
    #: Upper limit of the requests of a run, whatever number is requested.
    at_most: int | None = None

    @property
    def name(self) -> str:
        """The trace's name."""
        return self.known.name

    @property
    def title(self) -> str:
        """Name in tables, which marks a part of a trace and a look-alike."""
        return self.known.title if self.is_whole else f"{self.known.title} ({'part' if self.is_trace else 'look-alike'})"

    @property
    def is_whole(self) -> bool:
        """True if this is the whole trace, so that a value published for it may be asserted."""
        return self.is_trace and not self.differences

    @property
    def note(self) -> str:
        """Reason why a published value is not asserted; empty for the whole trace."""
        if self.is_whole:
            return ""
        if self.is_trace:
            return f"other workload: {self.path.name} is not the whole trace ({'; '.join(self.differences)})"
        return "other workload: look-alikes, as the traces themselves are not at hand (ssdlab paper --traces DIR)"

    def workload(self, requests: int | None = None, time_scale: float = 1.0, **options: Any) -> Workload:
        """Returns a workload of the first `requests` requests (absent: all), `time_scale` times as fast as recorded.

        `requests` is limited to `at_most`. Addresses of a trace are compacted in order of first touch, unless `options`
        say otherwise.

        Args:
            requests: Number of requests. A look-alike delivers any number; a trace that has fewer is repeated in whole
                passes, rounded up.
            time_scale: Speed of the replay relative to the recording.
            **options: For a trace, those of :class:`ssdlab.Workload`. For a look-alike, only `replay` (``open`` or
                ``gaps``) and `address` (``compact`` or ``wrap``).

        Raises:
            InputError: an option that a look-alike does not accept.
        """
        if self.at_most is not None:
            requests = min(requests or self.at_most, self.at_most)
        if self.is_trace:
            given = {"address": "compact", "replay": "open", **options}
            repeat = max(1, math.ceil((requests or 1) / self.requests))
            return Workload(self.path, time_scale=time_scale, repeat=repeat, max_requests=requests, **given)
        unknown = [key for key, value in options.items() if value not in _LOOK_ALIKE_OPTIONS.get(key, ())]
        if unknown:
            raise InputError(f"{self.path.name}: a look-alike is played as it is: no {', '.join(unknown)}")
        fields = {"speed": repr(float(time_scale)), "requests": str(requests or self.requests)}
        fields |= {key: f'"{value}"' for key, value in options.items() if value != _LOOK_ALIKE_OPTIONS[key][0]}
        text = self.path.read_text(encoding="utf-8")
        for field, value in fields.items():
            text = _replaced(text, field, value)
        return Workload.from_text(text)

    def fields(self, requests: int | None = None, time_scale: float = 1.0, **options: Any) -> dict[str, object]:
        """Returns the fields of a point of a sweep (:func:`ssdlab_papers.sweeps.samples`) with this workload.

        The arguments, and the run, are those of :meth:`workload`.

        Raises:
            InputError: an option that a look-alike does not accept.
        """
        given = self.workload(requests, time_scale, **options)
        if self.is_trace:
            return {"workload": str(self.path), **{f"workload.{key}": value for key, value in given.options().items()}}
        if self.at_most is not None:
            requests = min(requests or self.at_most, self.at_most)
        changed = {key: value for key, value in options.items() if value != _LOOK_ALIKE_OPTIONS[key][0]}
        fields = {"speed": float(time_scale), "requests": requests or self.requests, **changed}
        return {"workload": str(self.path), **{f"workload.{key}": value for key, value in fields.items()}}


def titles(loads: Sequence[Load]) -> str:
    """Returns the titles of loads."""
    return ", ".join(load.title for load in loads)


def _replaced(text: str, field: str, value: str) -> str:
    """Returns a look-alike's text with a top-level field set to `value`, added if it is not stated."""
    changed, count = re.subn(rf"(?m)^{field} = .*$", f"{field} = {value}", text, count=1)
    return changed if count == 1 else text.replace('kind = "lookalike"\n', f'kind = "lookalike"\n{field} = {value}\n', 1)


def files_in(folder: Path) -> list[Path]:
    """Returns the files in a folder and its subfolders that may be traces, sorted by path.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: {'a file' if folder.exists() else 'no such folder'}: expected a folder")
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() not in _NOT_TRACES)


class Traces:
    """A user's folder of traces, or none."""

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        """Lists the files of the folder without reading them.

        Raises:
            InputError: there is no such folder, or none of its files has the name of a known trace.
        """
        self.folder = None if folder is None else Path(folder)
        self._files: list[Path] = []
        self._found: dict[str, Load | None] = {}
        if self.folder is None:
            return
        if not self.folder.is_dir():
            raise InputError(
                f"--traces {self.folder}: {'a file' if self.folder.exists() else 'no such folder'}: expected a folder"
            )
        # Larger files first: a trace comes before an excerpt of it.
        self._files = sorted(files_in(self.folder), key=lambda path: (-path.stat().st_size, path.name))
        if not any(known.matches(path) for path in self._files for known in KNOWN.values()):
            names = ", ".join(name for name in KNOWN if name not in MSR_VOLUMES)
            raise InputError(
                f"--traces {self.folder}: no file is called like a trace that an experiment runs: expected one of {names}, "
                f"or a volume of MSR Cambridge ({MSR_VOLUMES[0]}, ...)"
            )

    def find(self, name: str) -> Load | None:
        """Returns a file of this trace, measured and compared with the known properties; ``None`` without such a file.

        Of several files the first whole one is taken, else the largest.

        Raises:
            InputError: the file cannot be read as a trace; no trace of this name is known.
        """
        if name not in KNOWN:
            raise unknown_name("trace", name, [*KNOWN])
        if name not in self._found:
            self._found[name] = self._look_for(KNOWN[name])
        return self._found[name]

    def _look_for(self, known: Known) -> Load | None:
        loads: list[Load] = []
        for path in self._files:
            if known.matches(path):
                info = trace_info(path)
                differences = known.differences(info)
                loads.append(Load(known=known, path=path, is_trace=True, requests=int(info["requests"]), differences=differences))
                if not differences:
                    return loads[-1]
        return loads[0] if loads else None

    def load(self, name: str) -> Load | None:
        """Returns the load for this trace: the user's file, else the look-alike of that name, else ``None``.

        Raises:
            InputError: as for :meth:`find`.
        """
        found = self.find(name)
        path = _LOOK_ALIKES / f"{name}.toml"
        if found is not None or not path.is_file():
            return found
        fitted = re.search(r"(?m)^fitted_requests = (\d+)$", path.read_text(encoding="utf-8"))
        assert fitted is not None, f"{path.name} says how many requests it was fitted to"
        return Load(known=KNOWN[name], path=path, is_trace=False, requests=int(fitted.group(1)))
