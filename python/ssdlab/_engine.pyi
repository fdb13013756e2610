"""The engine, written in Rust (``crates/py``). Everything checked is checked there."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

#: A column of a table: strings; or a type (``"u64"``, ``"f64"``, ...) and its values as little-endian bytes;
#: or the same for codes, with the names that the codes stand for.
Column: TypeAlias = list[str] | tuple[str, bytes] | tuple[str, bytes, list[str]]
Columns: TypeAlias = dict[str, Column]

class InputError(ValueError):
    """Something is wrong with the input: one line for each thing, with the place and what would be right."""

class PolicyError(InputError):
    """What is wrong with a policy in Python: file and line of each thing; an exception that it raised is the cause."""

class Outcome:
    """What a run hands back."""

    summary_json: str
    drive_toml: str
    workload_toml: str
    notes: list[str]
    interrupted: bool
    setup_s: float
    latency: Columns
    timeline: Columns
    #: Files that could not be written: the option, the system's number of the error, what it said.
    unwritten: list[tuple[str, int | None, str]]
    #: Of the physical history the number of entries and a hash.
    history: tuple[int, str] | None

class Session:
    """What several runs share."""

class LifetimeOutcome:
    """What a lifetime run hands back."""

    report_json: str
    drive_toml: str
    workload_toml: str
    notes: list[str]
    interrupted: bool
    setup_s: float
    unwritten: list[tuple[str, int | None, str]]

class Dispatch:
    """A program of host data that is about to be bound."""

    @property
    def die(self) -> int:
        """The die that takes it."""
    @property
    def units(self) -> tuple[int, ...]:
        """The logical units that it writes together (numbers, in units of 4 KiB), oldest first."""
    @property
    def waiting(self) -> int:
        """Units of host writes that this die could take after it: those of the whole drive where idle dies pull."""
    @property
    def others_idle(self) -> int:
        """Other dies that have nothing to do and could take those at once; 0 where each die has its own."""

class Collection:
    """A block that is emptied."""

    @property
    def block(self) -> int:
        """The block."""
    @property
    def reason(self) -> str:
        """Why: ``gc``, ``wear``, ``rewrite``, ``reprogram``, ``scrub`` or ``evacuate``."""
    @property
    def background(self) -> bool:
        """It was begun because its die was idle, not because somebody needs its space."""
    @property
    def valid(self) -> int:
        """Units that were valid when it began."""

class Moving(Collection):
    """Data that a collection is about to move with one program: the collection, and the data."""

    @property
    def units(self) -> tuple[int, ...]:
        """The logical units, oldest first; empty unless the policy declares `moving`."""

class Placed:
    """Data that has found its place."""

    @property
    def lpn(self) -> int:
        """The logical unit."""
    @property
    def ppn(self) -> int:
        """Its place in flash."""
    @property
    def mode(self) -> str:
        """The write mode."""
    @property
    def reason(self) -> str:
        """Why it was written: ``host``, or why it was moved."""
    @property
    def stream(self) -> int | None:
        """The host stream it was written through; ``None`` for data that was moved."""
    @property
    def superseded(self) -> int | None:
        """The place whose data it replaces; ``None`` if the unit had none in flash."""

class UnitRead:
    """A read of a unit in flash."""

    @property
    def lpn(self) -> int:
        """The logical unit."""
    @property
    def ppn(self) -> int:
        """Its place in flash."""
    @property
    def reason(self) -> str:
        """Why: ``host``, or why something is moved or completed."""

class Idle:
    """Who is idle, and for how long."""

    @property
    def die(self) -> int:
        """The die that has nothing to do."""
    @property
    def die_for(self) -> int:
        """For how long [ns]."""
    @property
    def channel(self) -> int:
        """Its channel."""
    @property
    def channel_for(self) -> int | None:
        """For how long no die of the channel has worked [ns]; ``None`` while one does, or a host write waits."""
    @property
    def drive_for(self) -> int | None:
        """For how long no die has worked and no host command was in flight [ns]; ``None`` while there is either."""

class Candidate:
    """A block that might be collected: the least valid of its write mode."""

    @property
    def block(self) -> int:
        """The block."""
    @property
    def valid(self) -> int:
        """Its valid units."""
    @property
    def invalid(self) -> int:
        """What else it could hold in its mode [units]."""
    @property
    def mode(self) -> str:
        """The write mode of its data."""

class UnitBits:
    """Bits declared by a policy for each logical unit: numbers from 0 to 2**bits - 1, at first 0."""

    def __getitem__(self, lpn: int, /) -> int: ...
    def __setitem__(self, lpn: int, value: int, /) -> None: ...
    def __len__(self) -> int: ...
    def used(self) -> tuple[tuple[int, int], ...]:
        """The units whose value is not zero, each with its value, in order."""

class BlockBytes:
    """The bytes that a policy declared for each block, by its number: zeros at first. They outlast an erase."""

    def __getitem__(self, block: int, /) -> bytes: ...
    def __setitem__(self, block: int, value: bytes, /) -> None: ...
    def __len__(self) -> int: ...

class View:
    """What a policy sees of the drive at the moment at which it is asked; at other times, a RuntimeError.

    Logical units (`lpn`), places in flash (`ppn`), blocks, dies and channels go by their numbers, from 0. Times are in
    nanoseconds since the run began. A number that the drive does not have is an IndexError.
    """

    @property
    def bits(self) -> UnitBits:
        """The bits that the policy declared for each logical unit."""
    @property
    def block_bytes(self) -> BlockBytes:
        """The bytes that the policy declared for each block."""
    @property
    def now(self) -> int:
        """The time [ns]."""
    @property
    def queued_write_pages(self) -> int:
        """Units of host writes that wait for a die."""
    @property
    def queued_write_requests(self) -> int:
        """Host commands with units that wait for a die."""
    @property
    def buffered_pages(self) -> int:
        """Units in the write buffer."""
    @property
    def buffer_capacity_pages(self) -> int:
        """Units that fit into the write buffer; 0 without one."""
    @property
    def buffer_utilisation(self) -> float:
        """How full the write buffer is, 0 to 1; 0 without one."""
    @property
    def commands_in_flight(self) -> int:
        """Host commands that have arrived and are not done."""
    @property
    def last_host_activity(self) -> int:
        """When a host command last arrived or was done [ns]."""
    @property
    def busy_dies(self) -> int:
        """Dies at work."""
    def reads_of_die(self, die: int) -> int:
        """Reads that wait for a die or are under way there."""
    def busy_dies_of_channel(self, channel: int) -> int:
        """Dies of a channel at work."""
    def free_blocks(self, die: int) -> int:
        """Free blocks of a die."""
    def free_blocks_by_level(self, die: int) -> tuple[int, ...]:
        """Free blocks of a die by the level of their last erase."""
    def closed_blocks(self, die: int) -> tuple[int, ...]:
        """The blocks of a die that are full and hold data."""
    def least_valid(self, die: int, mode: str | int) -> tuple[int, int] | None:
        """Returns the closed block of a die and write mode with the fewest valid units, and their number."""
    def channel_of(self, die: int) -> int:
        """The channel of a die."""
    def place_of(self, lpn: int) -> int | None:
        """Where a unit's data is in flash (`ppn`); ``None`` if it is nowhere, or newer in the write buffer."""
    def copy_on_flash(self, lpn: int) -> int | None:
        """Where the copy of a unit on flash is (`ppn`), also while a newer one waits in the write buffer."""
    def unit_at(self, ppn: int) -> int | None:
        """The unit whose current data a place holds; ``None`` if it holds none."""
    def block_of(self, ppn: int) -> int:
        """The block of a place."""
    def places_of(self, block: int) -> tuple[int, int]:
        """The first place of a block, and the first behind it."""
    def die_of(self, block: int) -> int:
        """The die of a block."""
    def block_state(self, block: int) -> str:
        """``free``, ``open``, ``closed``, ``victim``, ``erasing`` or ``retired``."""
    def block_mode(self, block: int) -> str:
        """The write mode of a block's data."""
    def block_valid(self, block: int) -> int:
        """Valid units of a block."""
    def block_age(self, block: int) -> int:
        """The time since the first program of a block after its last erase [ns]."""
    def block_wear(self, block: int) -> float:
        """A block's wear, in nominal erases."""
    def block_erases(self, block: int) -> int:
        """Erases that a block has behind it."""
    def block_erase_mode(self, block: int) -> str:
        """The erase mode of a block's last erase."""

class Stream:
    """A stream of random numbers, the same on every machine for one seed."""

    def next_u64(self) -> int:
        """64 random bits."""
    def unit(self) -> float:
        """A number from 0 up to 1."""

class _Guest(Protocol):
    """A policy in Python, as the engine takes it."""

    def begin(self, facts: dict[str, object], stream: Stream, /) -> object: ...

def build() -> str: ...
def presets() -> list[tuple[str, str, str]]: ...
def policies() -> list[tuple[str, str]]: ...
def schema() -> str: ...
def reference() -> str: ...
def lab(what: str, question_json: str) -> str: ...
def check(name: str, text: str, sets: list[str]) -> str: ...
def describe(name: str, text: str, sets: list[str]) -> str: ...
def run(
    request_json: str,
    paths: dict[str, Any],
    hooks: dict[str, Callable[[Any], Any] | None],
    guest: tuple[str, _Guest] | None = None,
    session: Session | None = None,
) -> Outcome: ...
def read_timeline(path: str) -> Columns: ...
def compare_histories(first: str, second: str) -> tuple[int, tuple[int, list[str], list[str], list[str]] | None]: ...
def lifetime(
    request_json: str,
    paths: dict[str, Any],
    progress: Callable[[dict[str, Any]], bool] | None,
    session: Session | None = None,
) -> LifetimeOutcome: ...
def trace_info(path: str, options_json: str) -> str: ...
def trace_analysis(what: str, path: str, options_json: str, question_json: str) -> str: ...
def trace_convert(path: str, format: str, out_path: str, options_json: str) -> str: ...
def trace_fit(path: str, options_json: str) -> tuple[str, str]: ...
