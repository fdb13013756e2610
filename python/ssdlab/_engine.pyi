"""The engine, written in Rust (``crates/py``), which checks the input. A test compares this stub with the module."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Protocol, TypeAlias, final

#: A column of a table: strings; or a type (``"u64"``, ``"f64"``, ...) and its values as little-endian bytes;
#: or the same for codes, with the names that the codes stand for; or for numbers of which some are unknown, with one
#: byte for each, 1 if it is known.
Column: TypeAlias = list[str] | tuple[str, bytes] | tuple[str, bytes, list[str] | bytes]
Columns: TypeAlias = dict[str, Column]

class InputError(ValueError):
    """Error in the input: one line for each problem, with its place and the expected value."""

class PolicyError(InputError):
    """Error in a policy in Python, with file and line; an exception that the policy raised is the cause."""

@final
class Outcome:
    """Results of a run."""

    summary_json: str
    drive_toml: str
    workload_toml: str
    standalone: str | None
    notes: list[str]
    interrupted: bool
    setup_s: float
    latency: Columns
    #: Latency histogram of each stream; ``None`` for a workload of one stream.
    stream_latency: Columns | None
    timeline: Columns
    #: Power over time; ``None`` if power is not computed.
    power: Columns | None
    #: Files that could not be written: the option, the system's number of the error, what it said.
    unwritten: list[tuple[str, int | None, str]]
    #: Number of entries and hash of the physical history.
    history: tuple[int, str] | None

@final
class Session:
    """State that runs share if they are given the same session: aged scale models of steady states, and starting
    states.
    """

    def __init__(self, limit: str | None = None, shared: Any | None = None) -> None: ...
    @property
    def states(self) -> tuple[int, int, int, int]:
        """Figures of the starting states that are kept: their number, the runs that began with one, the sum of
        their sizes in bytes, and its limit.
        """

class DeviceError(OSError):
    """A device has not done what a call asked for: data is lost, the drive is read-only or worn out, its contents
    are full.
    """

class PowerLossError(DeviceError):
    """The device has lost power, and has not recovered."""

@final
class Answer:
    """Result of a call."""

    @property
    def data(self) -> bytes:
        """Data that was read."""
    @property
    def latency_ns(self) -> int:
        """Simulated time from submission to completion [ns]."""
    @property
    def causes(self) -> dict[str, int]:
        """The latency by cause [ns], without the causes that took no time."""
    @property
    def status(self) -> int:
        """Status of the command as NVMe has it: 0, or type and code of the error."""

@final
class Device:
    """A drive with contents, whose clock stands still between the calls of a program."""

    def __init__(self, made: dict[str, Any], call: str | int) -> None: ...
    @property
    def user_bytes(self) -> int:
        """User capacity [bytes]."""
    @property
    def now(self) -> int:
        """Simulated time [ns]."""
    @property
    def contents_bytes(self) -> tuple[int, int]:
        """Bytes of the contents that are kept, and of the tables beside them."""
    def read(self, offset: int, length: int) -> Answer: ...
    def write(self, offset: int, data: bytes, durable: bool) -> Answer: ...
    def flush(self) -> Answer: ...
    def trim(self, offset: int, length: int) -> Answer: ...
    def batch(self, requests: list[tuple[str, int, int, bytes]]) -> list[Answer]: ...
    def spend(self, time: str | int) -> None: ...
    def cut(self, events: int) -> None: ...
    def recover(self, down: str | int) -> dict[str, int]: ...
    def watch(self, look: Callable[[Device, dict[str, int]], object] | None, every: int, down: str | int) -> None: ...
    def save(self, path: PathLike[str]) -> None: ...
    def summary(self) -> str: ...

@final
class Served:
    """The end of a server."""

    summary_json: str
    interrupted: bool
    notes: list[str]
    #: Number of entries and hash of the physical history, with a record.
    history: tuple[int, str] | None
    #: Files that could not be written: the option, and what was said.
    unwritten: list[tuple[str, str]]

def serve(made: dict[str, Any], serving: dict[str, Any], remark: Callable[[str], object]) -> Served: ...

@final
class LifetimeOutcome:
    """Results of a lifetime run."""

    report_json: str
    drive_toml: str
    workload_toml: str
    notes: list[str]
    interrupted: bool
    setup_s: float
    unwritten: list[tuple[str, int | None, str]]

@final
class Dispatch:
    """Host write that is about to be bound to one program."""

    @property
    def die(self) -> int:
        """Die that takes the write."""
    @property
    def waiting(self) -> int:
        """Units of host writes that this die could take after this one: those of the whole drive where idle dies
        pull.
        """
    @property
    def others_idle(self) -> int:
        """Number of other idle dies that could take those units at once; 0 where each die has its own queue."""
    @property
    def units(self) -> tuple[int, ...]:
        """Logical units that the program writes together (numbers of mapping units), oldest first."""

class Collection:
    """Collection: a block that is being emptied."""

    @property
    def block(self) -> int:
        """The block."""
    @property
    def reason(self) -> str:
        """Reason: `gc`, `wear`, `rewrite`, `reprogram`, `scrub` or `evacuate`."""
    @property
    def background(self) -> bool:
        """True if it was begun because its die was idle, and not because its space is needed."""
    @property
    def valid(self) -> int:
        """Units that were valid when it began."""

@final
class Moving(Collection):
    """Data that a collection is about to move with one program."""

    @property
    def units(self) -> tuple[int, ...]:
        """Logical units, in the order in which they lie in the block; empty unless the policy declares `moving`.
        With several relocation streams always one unit.
        """

@final
class Placed:
    """Unit that has been bound to a place."""

    @property
    def lpn(self) -> int:
        """Logical unit."""
    @property
    def ppn(self) -> int:
        """Place in flash."""
    @property
    def mode(self) -> str:
        """Write mode."""
    @property
    def reason(self) -> str:
        """Reason of the write: `host`, or the reason of the move."""
    @property
    def stream(self) -> int | None:
        """Host stream of the write; `None` for data that was moved."""
    @property
    def superseded(self) -> int | None:
        """Place whose data it replaces; `None` if the unit had none in flash."""

@final
class UnitRead:
    """Read of a unit in flash."""

    @property
    def lpn(self) -> int:
        """Logical unit."""
    @property
    def ppn(self) -> int:
        """Place in flash."""
    @property
    def reason(self) -> str:
        """Reason of the read: `host`, or the reason for which data is moved or completed."""

@final
class Idle:
    """An idle die, and the times for which it, its channel and the drive have been idle."""

    @property
    def die(self) -> int:
        """The die."""
    @property
    def die_for(self) -> int:
        """Idle time of the die [ns]."""
    @property
    def channel(self) -> int:
        """Channel of the die."""
    @property
    def channel_for(self) -> int | None:
        """Time for which no die of the channel has worked [ns]; `None` while one does, or a host write waits."""
    @property
    def drive_for(self) -> int | None:
        """Time for which no die has worked and no host command has arrived or completed [ns]; `None` while a die
        works, a host write waits, or a host command or page move is in flight.
        """

@final
class Candidate:
    """Candidate for collection: the block with the fewest valid units among the closed blocks of a write mode and
    die.
    """

    @property
    def block(self) -> int:
        """The block."""
    @property
    def valid(self) -> int:
        """Its valid units."""
    @property
    def invalid(self) -> int:
        """Other units that it could hold in its mode."""
    @property
    def mode(self) -> str:
        """Write mode of its data."""

@final
class UnitBits:
    """Bits that a policy declared for each logical unit, indexed by `lpn`: numbers from 0 to 2**bits - 1, initially
    0.
    """

    def __getitem__(self, lpn: int, /) -> int: ...
    def __setitem__(self, lpn: int, value: int, /) -> None: ...
    def __len__(self) -> int: ...
    def used(self) -> tuple[tuple[int, int], ...]:
        """Returns the units whose value is not zero, each with its value, in ascending order."""

@final
class BlockBytes:
    """Bytes that a policy declared for each block, indexed by block number: initially 0. They outlast an erase."""

    def __getitem__(self, block: int, /) -> bytes: ...
    def __setitem__(self, block: int, value: bytes, /) -> None: ...
    def __len__(self) -> int: ...

@final
class View:
    """Read access to the drive for a policy, valid only during a call of the policy; at other times, a
    RuntimeError.

    Logical units (`lpn`), places in flash (`ppn`), blocks, dies and channels are numbered from 0. Times are in
    nanoseconds since the run began. A number that the drive does not have is an IndexError.
    """

    @property
    def bits(self) -> UnitBits:
        """Bits that the policy declared for each logical unit, indexed by `lpn`."""
    @property
    def block_bytes(self) -> BlockBytes:
        """Bytes that the policy declared for each block, indexed by block number."""
    @property
    def now(self) -> int:
        """Time since the run began [ns]."""
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
        """Capacity of the write buffer in units; 0 without a buffer."""
    @property
    def buffer_utilisation(self) -> float:
        """Occupied share of the write buffer, 0 to 1; 0 without a buffer."""
    @property
    def commands_in_flight(self) -> int:
        """Host commands that have arrived and are not done."""
    @property
    def last_host_activity(self) -> int:
        """Time of the last arrival or completion of a host command [ns]."""
    @property
    def busy_dies(self) -> int:
        """Number of dies at work."""
    def reads_of_die(self, die: int) -> int:
        """Returns the number of reads that wait for a die or are in progress on it."""
    def busy_dies_of_channel(self, channel: int) -> int:
        """Returns the number of dies of a channel that are at work."""
    def free_blocks(self, die: int) -> int:
        """Returns the number of free blocks of a die."""
    def free_blocks_by_level(self, die: int) -> tuple[int, ...]:
        """Returns the numbers of free blocks of a die by the level of their last erase."""
    def closed_blocks(self, die: int) -> tuple[int, ...]:
        """Returns the blocks of a die that are full and hold data."""
    def least_valid(self, die: int, mode: str | int) -> tuple[int, int] | None:
        """Returns the closed block of a die and write mode with the fewest valid units, and their number."""
    def channel_of(self, die: int) -> int:
        """Returns the channel of a die."""
    def place_of(self, lpn: int) -> int | None:
        """Returns the place of a unit's data in flash (`ppn`); `None` if it has none, or newer data in the write
        buffer.
        """
    def copy_on_flash(self, lpn: int) -> int | None:
        """Returns the place of a unit's copy in flash (`ppn`), also while a newer one waits in the write buffer."""
    def unit_at(self, ppn: int) -> int | None:
        """Returns the unit whose current data a place holds; `None` if it holds none."""
    def block_of(self, ppn: int) -> int:
        """Returns the block of a place."""
    def places_of(self, block: int) -> tuple[int, int]:
        """Returns the first place of a block, and the first place after it."""
    def die_of(self, block: int) -> int:
        """Returns the die of a block."""
    def block_state(self, block: int) -> str:
        """Returns the state of a block: `free`, `open`, `closed`, `victim`, `erasing` or `retired`."""
    def block_mode(self, block: int) -> str:
        """Returns the write mode of a block's data."""
    def block_valid(self, block: int) -> int:
        """Returns the number of valid units of a block."""
    def block_age(self, block: int) -> int:
        """Returns the time since the first program of a block after its last erase [ns]."""
    def block_wear(self, block: int) -> float:
        """Returns the wear of a block, in nominal erases."""
    def block_erases(self, block: int) -> int:
        """Returns the number of erases of a block."""
    def block_erase_mode(self, block: int) -> str:
        """Returns the erase mode of a block's last erase."""

@final
class Stream:
    """Stream of random numbers; equal seeds give equal numbers on every machine."""

    def next_u64(self) -> int:
        """Returns a uniform 64-bit number."""
    def unit(self) -> float:
        """Returns a uniform double in `[0, 1)`."""

class _Guest(Protocol):
    """A policy in Python, as the engine takes it."""

    def begin(self, facts: dict[str, object], stream: Stream, /) -> object: ...

def build() -> str: ...
def presets() -> list[tuple[str, str, str]]: ...
def policies() -> list[tuple[str, str]]: ...
def schema(of: str) -> str: ...
def options() -> str: ...
def policy_contract() -> str: ...
def reference() -> str: ...
def definitions() -> str: ...
def results_reference() -> str: ...
def lab(what: str, question_json: str) -> str: ...
def check(name: str, text: str, sets: list[str]) -> str: ...
def describe(name: str, text: str, sets: list[str]) -> str: ...
def diagram(name: str, text: str, sets: list[str]) -> str: ...
def files_of(name: str, text: str, sets: list[str]) -> list[str]: ...
def shrink(
    name: str, text: str, sets: list[str], to: str, base: tuple[str, str] | None
) -> tuple[str, list[tuple[str, str, str, str]]]: ...
def run(
    request_json: str,
    paths: dict[str, Any],
    hooks: dict[str, Callable[[Any], Any] | None],
    guest: tuple[str, _Guest] | None = None,
    session: Session | None = None,
) -> Outcome: ...
def starting_state_key(request_json: str, paths: dict[str, Any], guest: tuple[str, _Guest] | None = None) -> str | None: ...
def read_timeline(path: str) -> Columns: ...
def compare_histories(first: str, second: str) -> tuple[int, tuple[int, list[str], list[str], list[str]] | None]: ...
def lifetime(
    request_json: str,
    paths: dict[str, Any],
    progress: Callable[[dict[str, Any]], bool] | None,
    session: Session | None = None,
) -> LifetimeOutcome: ...
def keep_pipe(name: str, content: bytes) -> None: ...
def trace_info(path: str, options_json: str, max_memory: int | None = None) -> str: ...
def trace_analysis(what: str, path: str, options_json: str, question_json: str, max_memory: int | None = None) -> str: ...
def trace_convert(path: str, format: str, out_path: str, options_json: str, max_memory: int | None = None) -> str: ...
def trace_fit(path: str, options_json: str, max_memory: int | None = None) -> tuple[str, str]: ...
def memory_limit(text: str | None, free: int) -> int: ...
