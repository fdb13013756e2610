"""Drives: presets, description files, TOML texts and dictionaries, and the engine's answers about them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from os import PathLike, fspath
from os.path import relpath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ssdlab import _engine, toml
from ssdlab.errors import InputError, unknown_name
from ssdlab.files import existing_file, is_there, read_text
from ssdlab.words import in_own_words

__all__ = [
    "Drive",
    "DriveLike",
    "Preset",
    "Settings",
    "check",
    "describe",
    "diagram",
    "policies",
    "presets",
    "reference",
    "shrink",
]


#: Title of a description, outside any section: an ordinary string without escapes.
_TITLE = re.compile(r'\A(?:(?!\[)[^\n]*\n)*?title *= *"([^"\\\n]*)"')


@dataclass(frozen=True, slots=True, repr=False)
class Preset:
    """A drive that comes with ssdlab.

    Examples:
        >>> tiny = next(preset for preset in ssdlab.presets() if preset.name == "tiny")
        >>> tiny
        <ssdlab.Preset tiny: 4 dies, 107 MiB, for tests>
    """

    #: Name that selects the preset.
    name: str
    #: Title, in one line.
    title: str
    #: Description (TOML), with the standing of each number.
    text: str

    def __repr__(self) -> str:
        return f"<ssdlab.Preset {_name_with_title(self.name, self.title)}>"


@dataclass(frozen=True, slots=True, repr=False)
class Drive:
    r"""A drive's description, not yet checked.

    Examples:
        >>> ssdlab.Drive.open("tiny")
        <ssdlab.Drive tiny: 4 dies, 107 MiB, for tests>
        >>> drive = ssdlab.Drive.from_text('base = "tiny"\nflash.channels = 4')
        >>> ssdlab.describe(drive)["channels"]
        4
    """

    #: Name of the preset or file, with which error messages begin.
    name: str
    #: The description (TOML).
    text: str

    def __repr__(self) -> str:
        title = _TITLE.search(self.text)
        return f"<ssdlab.Drive {_name_with_title(self.name, title[1] if title else '')}>"

    @classmethod
    def from_text(cls, text: str, name: str = "drive.toml") -> Drive:
        r"""Returns a drive described by a TOML text; error messages refer to it by `name`.

        Examples:
            >>> drive = ssdlab.Drive.from_text('base = "tiny"\nflash.channels = 0', name="mine.toml")
            >>> ssdlab.check(drive)
            Traceback (most recent call last):
            ssdlab.InputError: mine.toml:2: flash.channels: 0: expected 1..=256
        """
        return cls(name, text)

    @classmethod
    def from_dict(cls, fields: Mapping[str, object], name: str = "drive") -> Drive:
        """Returns a drive described by a dictionary with the fields of a description.

        Examples:
            >>> drive = ssdlab.Drive.from_dict({"base": "tiny", "flash": {"channels": 4}})
            >>> ssdlab.describe(drive)["channels"]
            4
        """
        return cls(name, toml.document(fields))

    @classmethod
    def open(cls, drive: DriveLike) -> Drive:
        r"""Returns a drive from a preset's name, a file, or a dictionary.

        Raises:
            InputError: `drive` is neither a preset nor a readable file.

        Examples:
            >>> ssdlab.Drive.open("tiny").text.splitlines()[-1]
            'precondition = "none"'
            >>> ssdlab.Drive.open({"base": "tiny"}).text
            'base = "tiny"\n'
            >>> ssdlab.Drive.open("tinny")
            Traceback (most recent call last):
            ssdlab.InputError: unknown drive `tinny`: expected one of ... (did you mean `tiny`?)
        """
        if isinstance(drive, Drive):
            return drive
        if isinstance(drive, Mapping):
            return cls.from_dict(drive)
        name = fspath(drive)
        if name == "-":
            raise InputError("-: only a workload is read from standard input: expected a preset, or the file of a description")
        for preset, _, text in _engine.presets():
            if preset == name:
                return cls(name, text)
        if not is_there(name) and Path(name).suffix != ".toml" and "/" not in name:
            raise unknown_name("drive", name, [preset.name for preset in presets()])
        try:
            return cls(name, read_text(existing_file(name)))
        except UnicodeDecodeError:
            raise InputError(f"{name}: not a text file; a drive is described in TOML") from None


def _name_with_title(name: str, title: str) -> str:
    """Returns a name with its title, which may begin with it."""
    return title if title.startswith(f"{name}:") else f"{name}: {title}" if title else name


def looks_like_drive(argument: object) -> bool:
    """Returns true if an argument names a preset, or a TOML file with the sections of a drive."""
    if not isinstance(argument, (str, PathLike)):
        return isinstance(argument, Drive)
    path = Path(argument)
    if not is_there(path):
        return any(preset.name == str(path) for preset in presets())
    if path.suffix != ".toml" or not path.is_file():
        return False
    try:
        fields = toml.loads(read_text(path))
    except (OSError, ValueError):
        return False
    return bool(fields.keys() & {"base", "host", "buffer", "flash", "ftl"})


def check_places(drive: object, workload: object) -> None:
    """Checks that a drive is not given as the workload, nor a workload as the drive.

    Raises:
        InputError: it is.
    """
    given = workload if isinstance(workload, (str, PathLike, Drive)) else getattr(workload, "path", None)
    if not looks_like_drive(given):
        return
    name = given.name if isinstance(given, Drive) else str(given)
    if isinstance(drive, (str, PathLike)) and Path(drive).is_file() and not looks_like_drive(drive):
        raise InputError(f"the arguments are swapped: {name} is a drive, and {drive!s} a workload; expected {name} {drive!s}")
    raise InputError(f"{name}: a drive, where a workload is expected: a trace, a fio job file, or a workload TOML")


#: Drive as an argument: a preset's name, a path, a :class:`Drive`, or a dictionary.
DriveLike: TypeAlias = str | PathLike[str] | Drive | Mapping[str, object]
#: Fields to override: ``{"flash.channels": 16}`` or ``["flash.channels=16"]``.
Settings: TypeAlias = Mapping[str, object] | Sequence[str]


def setting_lines(settings: Settings) -> list[str]:
    """Returns settings as the ``KEY=VALUE`` lines that the engine takes. ``None`` and an empty text remove a field."""
    if isinstance(settings, str):
        raise InputError(f"set: expected a mapping or a list of KEY=VALUE, got the string {settings!r}")
    if isinstance(settings, Mapping):
        return [f"{name}={'' if value in (None, '') else toml.value(value)}" for name, value in settings.items()]
    return list(settings)


def presets() -> list[Preset]:
    """Returns the drives that come with ssdlab.

    Examples:
        >>> [preset.name for preset in ssdlab.presets()]
        ['tlc-1tb', ..., 'tiny']
    """
    return [Preset(*row) for row in _engine.presets()]


def policies() -> dict[str, str]:
    """Returns the mode policies: a one-line description of each by its name.

    Examples:
        >>> ssdlab.policies()["ofwar"]
        'fast writes while the write queue is long or the page is hot, rewritten in idle time (OFWAR, 2014)'
    """
    return dict(_engine.policies())


def reference(of: Literal["drive", "results"] = "drive") -> str:
    """Returns a reference page in Markdown: the fields of a drive's description, or the names in results.

    Raises:
        InputError: there is no page of this name.

    Examples:
        >>> print(ssdlab.reference().splitlines()[0])
        # Reference: a drive's description
        >>> print(ssdlab.reference("results").splitlines()[0])
        # Reference: the names in results
    """
    pages = {"drive": _engine.reference, "results": _engine.results_reference}
    if of not in pages:
        raise unknown_name("page", of, [*pages])
    return pages[of]()


@in_own_words
def check(drive: DriveLike, *, set: Settings = ()) -> str:
    """Checks a drive and returns its complete description (TOML).

    Raises:
        InputError: the description is invalid; the message lists every problem, one line each.

    Examples:
        >>> text = ssdlab.check("tiny", set={"flash.channels": 4})
        >>> print(text.splitlines()[0])
        title = "derived from tiny: 4 channels x 2 dies, 213 MiB"
        >>> ssdlab.check("tiny", set={"ftl.victim": "gredy", "ftl.reserve_blocks": 0})
        Traceback (most recent call last):
        ssdlab.InputError: set ftl.reserve_blocks=0: ftl.reserve_blocks: 0: expected 1..=1024
        set ftl.victim="gredy": ftl.victim: unknown name `gredy`: expected one of ... (did you mean `greedy`?)
    """
    source = Drive.open(drive)
    return _engine.check(source.name, source.text, setting_lines(set))


def files_of(drive: DriveLike, set: Settings = ()) -> list[str]:
    """Returns the files that a drive's description names, its bases and tables; none if it cannot be read."""
    try:
        source = Drive.open(drive)
    except InputError:
        return []
    return _engine.files_of(source.name, source.text, setting_lines(set))


@in_own_words
def describe(drive: DriveLike, *, set: Settings = ()) -> dict[str, Any]:
    """Returns properties that follow from a drive's description: capacities, parallelism, bounds, modes, memory.

    Raises:
        InputError: the description is invalid; the message lists every problem, one line each.

    Examples:
        >>> facts = ssdlab.describe("tiny")
        >>> facts["user_bytes"], facts["blocks"], facts["bounds"]["random_read_iops"]
        (111845376, 512, 74482.3)
        >>> [mode["name"] for mode in facts["write_modes"]]
        ['normal', 'fast']
    """
    source = Drive.open(drive)
    facts: dict[str, Any] = json.loads(_engine.describe(source.name, source.text, setting_lines(set)))
    return facts


@in_own_words
def diagram(drive: DriveLike, *, set: Settings = ()) -> dict[str, Any]:
    """Returns the parts of a drive from the host to the cells, and the flows between them.

    A part has its stage, name and kind, the number of equal resources, its widths, rates and limits in words, and the
    names of its values in ``Result.summary["utilisation"]``.

    Raises:
        InputError: the description is invalid; the message lists every problem, one line each.

    Examples:
        >>> parts = {part["id"]: part for part in ssdlab.diagram("tiny", set={"controller.dram": "ddr"})["nodes"]}
        >>> parts["memory"]["lines"]
        ['DDR3-1333, 32 bits, 5.33 GB/s', '1 rank, 512 MiB, FR-FCFS, open page']
        >>> parts["channels"]["utilisation"]
        ['channel_0', 'channel_1']
    """
    source = Drive.open(drive)
    parts: dict[str, Any] = json.loads(_engine.diagram(source.name, source.text, setting_lines(set)))
    return parts


@in_own_words
def shrink(drive: DriveLike, to: str, *, set: Settings = ()) -> str:
    """Returns a mock-up of a drive (TOML): its channels, dies, planes and times, with about `to` of user capacity.

    Blocks become fewer first, then smaller; over-provisioning stays. The write buffer stays as large as it is, up to a
    hundredth of the capacity, as it holds what waits for the dies; read cache and mapping cache keep their ratio to the
    capacity. The description names the drive as its base and lists each field that differs, with what it was and why.
    A mock-up is filled and worn out sooner. Its throughput equals that of the whole drive where nothing
    depends on the number and size of the blocks: for reads, and with the translation layer ``waf``; with a map, write
    amplification depends on them.

    Raises:
        InputError: the description is invalid, or the drive cannot be made so small.

    Examples:
        >>> mock = ssdlab.Drive.from_text(ssdlab.shrink("tlc-1tb", "32GiB"))
        >>> facts = ssdlab.describe(mock)
        >>> facts["dies_working_at_once"], round(facts["user_bytes"] / 2**30)
        (32, 32)
    """
    return mock_up(drive, to, set=set).text


@dataclass(frozen=True, slots=True)
class MockUp:
    """A smaller drive of the same architecture."""

    #: Description (TOML).
    text: str
    #: Fields that differ from the whole drive: path, old value, new value, reason.
    changes: list[tuple[str, str, str, str]]


@in_own_words
def mock_up(drive: DriveLike, to: str, *, set: Settings = (), beside: Path | None = None) -> MockUp:
    """Returns a mock-up like :func:`shrink`, with its changes. `beside`: the file that the description is meant for."""
    source = Drive.open(drive)
    target = beside or Path("mock-up.toml")
    base = _base(source, target)
    text, changes = _engine.shrink(
        source.name, source.text, setting_lines(set), to, None if base is None else (base, str(target))
    )
    given = " ".join(f"--set {line}" for line in setting_lines(set))
    head = [f"# Mock-up of {source.name}, made by `ssdlab shrink {source.name} --to {to}{' ' if given else ''}{given}`."]
    if base is None or not text.startswith("base"):
        head += [f"# {field} was {old or 'absent'}: {why}" for field, old, _, why in changes]
    if notes := _standing(source.text):
        head += ["#", "# Of the whole drive:", *notes]
    return MockUp("\n".join(head) + "\n" + text, changes)


def _base(source: Drive, target: Path) -> str | None:
    """Returns the name under which the description in `target` finds a drive; none if that is no preset and no file."""
    if any((preset.name, preset.text) == (source.name, source.text) for preset in presets()):
        return source.name
    path = Path(source.name)
    if path.suffix != ".toml" or not path.is_file() or path.read_text(encoding="utf-8") != source.text:
        return None
    return Path(relpath(path.resolve(), target.resolve().parent)).as_posix()


def _standing(text: str) -> list[str]:
    """Returns the comments with which a description begins: where its numbers come from."""
    lines = takewhile(lambda line: line.startswith("#") or not line.strip(), text.splitlines())
    return [line.rstrip() or "#" for line in lines if not line.startswith("#:schema")]
