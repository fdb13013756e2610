"""Drives of other simulators as descriptions of ssdlab. Each source format is a module with the same four names.

A module has ``NAME`` (its name for ``--from``), ``TITLE`` (the simulator's name), ``ABOUT``, and three functions:
``recognised`` (does a text look like one of its files?), ``parameters`` (reads them, with their lines) and ``fill``
(sets the fields of a drive). A parameter that `fill` does not use is listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from ssdlab import _engine
from ssdlab.drives import Drive
from ssdlab.errors import InputError, unknown_name
from ssdlab.files import existing_file, read_bytes
from ssdlab.imports import disksim, femu, mqsim, nvmevirt, simplessd, ssdsim
from ssdlab.imports.common import Setting
from ssdlab.imports.draft import Draft, Field, Geometry, NotMapped
from ssdlab.imports.parameters import Parameters
from ssdlab.words import in_own_words

__all__ = ["SOURCES", "ImportedDrive", "import_drive"]

#: Largest file that is read [bytes]. The largest of these files that simulators bring along have some 20 KB.
_MOST = 1 << 20
#: Largest number of parameters of a file.
_MOST_PARAMETERS = 5_000
#: Place of a message of the engine: the line in the description, and the field.
_PLACE = re.compile(r"^[^\n]*?:\d+: (?P<path>[a-z_.]+)(?:\[\d+\])?: ", re.MULTILINE)


class Source(Protocol):
    """Source format."""

    NAME: str
    TITLE: str
    ABOUT: str

    def recognises(self, text: str) -> bool:
        """Returns true if a text looks like a file of this format."""

    def parameters(self, text: str, file: str, setting: Setting) -> Parameters:
        """Returns the parameters of a file."""

    def fill(self, draft: Draft, given: Parameters, setting: Setting) -> Geometry:
        """Sets the fields of a drive."""


_MODULES: tuple[Any, ...] = (mqsim, simplessd, femu, nvmevirt, ssdsim, disksim)
#: Source formats by name.
SOURCES: dict[str, Source] = {module.NAME: module for module in _MODULES}


@dataclass(frozen=True, slots=True, repr=False)
class ImportedDrive:
    """Drive of another simulator, as a description of ssdlab.

    Examples:
        >>> imported = ssdlab.import_drive("examples/mqsim.xml")
        >>> imported
        <ssdlab.ImportedDrive mqsim.xml of MQSim: 56 fields, 23 parameters without a counterpart>
    """

    #: Name of the source format.
    source: str
    #: Description (TOML), with the origin of each field as a comment.
    text: str
    #: Fields of the description, in the order in which they were set.
    fields: list[Field]
    #: Parameters of the source without a counterpart, or whose meaning is not reached.
    not_mapped: list[NotMapped]
    #: Name of the file.
    name: str

    def __repr__(self) -> str:
        title = SOURCES[self.source].TITLE
        counts = f"{len(self.fields)} fields, {len(self.not_mapped)} parameters without a counterpart"
        return f"<ssdlab.ImportedDrive {self.name} of {title}: {counts}>"

    @property
    def drive(self) -> Drive:
        """Returns the drive.

        Examples:
            >>> ssdlab.describe(ssdlab.import_drive("examples/mqsim.xml").drive)["channels"]
            8
        """
        return Drive.from_text(self.text, f"{Path(self.name).stem}.toml")

    def document(self) -> dict[str, Any]:
        """Returns all of it as a dictionary of plain values.

        Examples:
            >>> ssdlab.import_drive("examples/mqsim.xml").document()["fields"][0]["field"]
            'host.interface.kind'
        """
        return {
            "source": self.source,
            "file": self.name,
            "fields": [
                {"field": each.path, "value": each.value, "standing": each.standing, "origin": each.origin}
                for each in self.fields
            ],
            "not_mapped": [{"name": each.name, "value": each.value, "why": each.why} for each in self.not_mapped],
            "description": self.text,
        }


@in_own_words
def import_drive(
    path: str | PathLike[str],
    source: str | None = None,
    *,
    variant: str | None = None,
    capacity: str | None = None,
    occupancy: float | None = None,
) -> ImportedDrive:
    """Returns the drive that a file of another simulator describes (docs/guide/import.md).

    Args:
        path: MQSim's ``ssdconfig.xml``, SimpleSSD's ``.cfg``, a run script of FEMU, NVMeVirt's ``ssd_config.h``,
            SSDsim's ``page.parameters``, or a ``.parv`` of DiskSim with its SSD extension.
        source: Format: a name of ``SOURCES``; absent: recognised from the content.
        variant: Configuration, where the file has several (NVMeVirt: a name of ``BASE_SSD``).
        capacity: Size of the flash, such as ``64GiB``, where the file does not have it (NVMeVirt's ``memmap_size``).
        occupancy: Percentage of the addresses that hold data, MQSim's ``Initial_Occupancy_Percentage``; absent: 100.
            The user capacity is made as large as that data.

    Raises:
        InputError: the file is none of these, or describes a drive that ssdlab cannot have.

    Examples:
        >>> imported = ssdlab.import_drive("examples/mqsim.xml")
        >>> ssdlab.describe(imported.drive)["dies_working_at_once"]
        64
        >>> imported.not_mapped[0]
        NotMapped(name='Device_Parameter_Set/...', value=..., why=...)
    """
    name = fspath(path)
    text = _read(name)
    if source is not None and source not in SOURCES:
        raise unknown_name("simulator", source, list(SOURCES))
    module = SOURCES[source] if source is not None else _source_of(text, name)
    setting = Setting(variant, capacity, occupancy)
    given = module.parameters(text, name, setting)
    if sum(1 for _ in given) > _MOST_PARAMETERS:
        raise InputError(f"{name}: more than {_MOST_PARAMETERS:,} parameters: expected the parameters of a drive")
    draft = Draft(module.TITLE, given)
    geometry = module.fill(draft, given, setting)
    setting.check_used(module.TITLE)
    base = Path(name).name
    title = f"{base}: {geometry.channels} channels x {geometry.chips * geometry.dies} dies, imported from {module.TITLE}"
    head = [
        f"A drive of {module.TITLE}, made by `ssdlab import`. A comment says where each field comes from: a parameter of the "
        f"file, one that the file leaves to its default (`default`), or ssdlab, where {module.TITLE} has nothing of the kind."
    ]
    imported = ImportedDrive(module.NAME, draft.text(title, head), list(draft.fields.values()), draft.not_mapped, base)
    _check(imported, name)
    return imported


def _read(name: str) -> str:
    if name == "-":
        raise InputError("-: expected the name of a file: its name is part of the description")
    raw = read_bytes(existing_file(name), _MOST)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Comments in other encodings are common in SSDsim's files.
        text = raw.decode("latin-1")
    if "\0" in text:
        raise InputError(f"{name}: not a text file; expected {_expected_formats()}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _expected_formats() -> str:
    return ", ".join(module.ABOUT for module in SOURCES.values())


def _source_of(text: str, name: str) -> Source:
    found = [module for module in SOURCES.values() if module.recognises(text)]
    if not found:
        raise InputError(f"{name}: not recognised: expected {_expected_formats()}; --from says which it is")
    if len(found) > 1:
        names = ", ".join(module.NAME for module in found)
        raise InputError(f"{name}: looks like a file of several simulators, {names}: choose one with --from")
    return found[0]


def _check(imported: ImportedDrive, name: str) -> None:
    """Checks the description.

    Raises:
        InputError: it is invalid; the message names the parameters of the source.
    """
    origins = {field.path: field.origin for field in imported.fields}
    try:
        _engine.check(name, imported.text, [])
    except InputError as error:
        lines = str(error).splitlines()
        raise InputError("\n".join(_with_origin(line, name, origins) for line in lines)) from None


def _with_origin(line: str, name: str, origins: dict[str, str]) -> str:
    """Returns a line of the engine's message with the parameter of the source in place of the description's line."""
    found = _PLACE.match(line)
    path = found["path"] if found else ""
    if found is None:
        return line
    origin = origins.get(path) or origins.get(path.rpartition(".")[0])
    return f"{name}: {f'{origin}: ' if origin else ''}{path}: {line[found.end() :]}"
