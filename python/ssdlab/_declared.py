"""Types of the options, for type checkers and editors.

Made from the declarations in Rust, which ``docs/reference/options.md`` shows. Do not edit: after a change of a
declaration, ``SSDLAB_BLESS=1 cargo test -p drive reference`` writes this file anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypedDict

from ssdlab.drives import Settings


class SetupKeywords(TypedDict, total=False):
    """Options of the drive at the start of a run."""

    #: Override of a field of the drive, such as `flash.channels=16`. `KEY=` removes a field that the drive's base
    #: gives. May be repeated; in Python a dictionary, such as `{"flash.channels": 16}`, or a list of such texts.
    set: Settings
    #: Seed of all random streams. Equal inputs and seeds give equal results, byte for byte, except for `wall_s`.
    seed: int
    #: Starting state: `none`, `fill`, `random` or `steady`; absent: the drive's own.
    precondition: str | None
    #: Cap on the power of the flash, such as `3W`; absent: the drive's own (`power.cap`), if it has one. An operation
    #: whose current would exceed it waits (docs/models/power.md). The drive's description has a section `[power]`.
    power_cap: str | None


class SavedDriveKeywords(TypedDict, total=False):
    """Files of saved drives."""

    #: Saved drive to start from, which an earlier run wrote with `save`. Under the same description, policy and seed
    #: it goes on exactly where it was. Otherwise the saved state is adopted, and a note gives the reason
    #: (docs/guide/saving.md).
    load: str | PathLike[str] | None
    #: File to save the drive to at the end of the run. An existing file is replaced; the command requires `--force`
    #: for that.
    save: str | PathLike[str] | None


class WorkloadKeywords(TypedDict, total=False):
    """Options of a workload: how a trace is read and replayed."""

    #: Format of the trace; absent: recognised from its content.
    format: str | None
    #: Columns of a table of any format, such as `time=1:us,op=4,offset=5:B,size=6:B`, counted from 1, or by their
    #: names in its header, such as `time=Timestamp:iso,op=Type,offset=Offset:B,size=Size:B`.
    #: docs/reference/workloads.md has all units and roles.
    columns: str | None
    #: Event that is the arrival of a request, where a trace records several: `queued` (the block layer has it) or
    #: `issued` (the device has it). Absent: `queued` where the trace has such events, otherwise `issued`. Formats:
    #: `blkparse`, `most`, `ftrace` and `biosnoop`.
    arrival: str | None
    #: Meaning of the number of an object in a trace of a cache: an address in units of a `sector` (512 B), a `page` (4
    #: KiB) or a `byte`, or a `name`, whose object lies behind those that were requested before it. Absent: `sector`.
    #: Format: `oraclegeneral`.
    object_id: str | None
    #: Treatment of addresses past the drive's end: `error`, `wrap`, `scale` or `compact`.
    address: str | None
    #: Placement of the devices of one trace: `stack`, one after the other, or `overlay`, all from byte 0. Stacked
    #: devices begin at multiples of 1 MiB.
    layout: str | None
    #: Labels of the streams (devices, volumes) to keep; absent: all.
    streams: Sequence[str] | None
    #: Factor by which recorded times are divided: 2 replays twice as fast as recorded.
    time_scale: float | None
    #: Number of times that the trace is played. A repetition starts one mean gap after the last arrival of the
    #: previous one, and has the same addresses.
    repeat: int | None
    #: Part of the trace that is played: requests (`0..1000`) or times (`10s..20s`), without the end. Requests count
    #: from 0, including trims and flushes; times count from the first request. Either bound may be left out.
    slice: str | None
    #: Pacing of a trace: `open` (at recorded times), `gaps` (at recorded gaps after the previous submission) or
    #: `closed:DEPTH`. Absent: `open`, or `closed:1` for a trace without times.
    replay: str | None
    #: Treat any step back in time as an error.
    strict_time: bool | None
    #: Maximum number of requests of one pass, after `streams` and `slice`.
    max_requests: int | None
    #: Time from the start whose commands are left out of the statistics, such as `2w`.
    ramp_time: str | None
    #: Keys of a fio job (`verify,sync`) or elements of an XML profile to leave out, even if they would take effect.
    ignore: Sequence[str] | None
    #: Values of the `${VARIABLES}` of a fio job file, as NAME=VALUE; others are taken from the environment.
    var: Sequence[str] | None
    #: Number of the scenario of an MQSim file that is run, from 1; absent: the file has one.
    scenario: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFields:
    """Options of a workload: how a trace is read and replayed."""

    #: Format of the trace; absent: recognised from its content.
    format: str | None = None
    #: Columns of a table of any format, such as `time=1:us,op=4,offset=5:B,size=6:B`, counted from 1, or by their
    #: names in its header, such as `time=Timestamp:iso,op=Type,offset=Offset:B,size=Size:B`.
    #: docs/reference/workloads.md has all units and roles.
    columns: str | None = None
    #: Event that is the arrival of a request, where a trace records several: `queued` (the block layer has it) or
    #: `issued` (the device has it). Absent: `queued` where the trace has such events, otherwise `issued`. Formats:
    #: `blkparse`, `most`, `ftrace` and `biosnoop`.
    arrival: str | None = None
    #: Meaning of the number of an object in a trace of a cache: an address in units of a `sector` (512 B), a `page` (4
    #: KiB) or a `byte`, or a `name`, whose object lies behind those that were requested before it. Absent: `sector`.
    #: Format: `oraclegeneral`.
    object_id: str | None = None
    #: Treatment of addresses past the drive's end: `error`, `wrap`, `scale` or `compact`.
    address: str | None = None
    #: Placement of the devices of one trace: `stack`, one after the other, or `overlay`, all from byte 0. Stacked
    #: devices begin at multiples of 1 MiB.
    layout: str | None = None
    #: Labels of the streams (devices, volumes) to keep; absent: all.
    streams: Sequence[str] | None = None
    #: Factor by which recorded times are divided: 2 replays twice as fast as recorded.
    time_scale: float | None = None
    #: Number of times that the trace is played. A repetition starts one mean gap after the last arrival of the
    #: previous one, and has the same addresses.
    repeat: int | None = None
    #: Part of the trace that is played: requests (`0..1000`) or times (`10s..20s`), without the end. Requests count
    #: from 0, including trims and flushes; times count from the first request. Either bound may be left out.
    slice: str | None = None
    #: Pacing of a trace: `open` (at recorded times), `gaps` (at recorded gaps after the previous submission) or
    #: `closed:DEPTH`. Absent: `open`, or `closed:1` for a trace without times.
    replay: str | None = None
    #: Treat any step back in time as an error.
    strict_time: bool | None = None
    #: Maximum number of requests of one pass, after `streams` and `slice`.
    max_requests: int | None = None
    #: Time from the start whose commands are left out of the statistics, such as `2w`.
    ramp_time: str | None = None
    #: Keys of a fio job (`verify,sync`) or elements of an XML profile to leave out, even if they would take effect.
    ignore: Sequence[str] | None = None
    #: Values of the `${VARIABLES}` of a fio job file, as NAME=VALUE; others are taken from the environment.
    var: Sequence[str] | None = None
    #: Number of the scenario of an MQSim file that is run, from 1; absent: the file has one.
    scenario: int | None = None


class RunKeywords(TypedDict, total=False):
    """Options of a run."""

    #: Run until the drive is steady by the SNIA rule, and then measure five rounds.
    steady_state: bool
    #: Length of a round of the SNIA rule, such as `1s`; requires `steady_state`.
    steady_round: str | None
    #: Loss of power without warning: a time from the start of the run, such as `10s`, or `event:N`, after N steps of
    #: the simulation. With `,graceful` (`10s,graceful`) the host stops first (docs/models/power_failure.md).
    power_cut: str | None
    #: Script of faults in TOML: programs, erases and reads that fail or are slow, dies and channels that are lost,
    #: errors of the host link, hangs of the controller, a loss of power (docs/models/faults.md).
    faults: str | PathLike[str] | None
    #: Time without power, such as `30d`, in which the drive's data ages: 1 s by default; requires `power_cut`.
    power_down: str | None
    #: Number of commands left out at the beginning of each job, so that a workload continues on a loaded drive.
    skip_commands: int
    #: Number of commands of each job after which the host stops.
    stop_after: int | None
    #: Number of commands of each job after which the drive is brought to rest, as it would be to be saved, and
    #: continues; the measurement begins there.
    rest_after: int | None
    #: Number of batches of commands, 2 to 100, from which confidence intervals of means and percentiles follow;
    #: absent: no intervals. 20 suits most runs. The measured commands are divided into this number of batches, or up
    #: to twice as many, each of the same number of commands; the summary then has a section `intervals`
    #: (docs/guide/explore.md).
    batches: int | None
    #: Start of the timeline and of the recorded spans, such as `10ms`, from the start of the measurement; absent:
    #: immediately.
    timeline_from: str | None
    #: Length of the timeline and of the recorded spans, such as `1ms`; absent: to the end of the run.
    timeline_for: str | None


class RecordsKeywords(TypedDict, total=False):
    """Records of a run: files that are written during the run, and rows that are kept in memory."""

    #: Keep a row for each command in memory: `Result.command_table`.
    record_commands: bool
    #: Keep the activities of channels and dies in memory: `Result.span_table`.
    record_spans: bool
    #: File for a row for each command with its causes: `.parquet`, `.csv` or `.csv.gz`. `ssdlab.read_commands` reads
    #: it.
    log_commands: str | PathLike[str] | None
    #: File for the activities of channels and dies, for Perfetto; compressed if its name ends in `.gz` or `.zst`.
    #: `ssdlab.read_timeline` reads it.
    timeline: str | PathLike[str] | None
    #: File for the physical history, every completion and every start and end of a flash operation: `.csv`, `.csv.gz`
    #: or `.csv.zst`. `ssdlab.read_history` reads it, `ssdlab.compare_histories` compares two of them.
    history: str | PathLike[str] | None
    #: File for the firmware trace: the flash operations of the translation layer, which `ftl.translation = "replay"`
    #: replays (docs/reference/firmware_trace.md).
    record_firmware: str | PathLike[str] | None


class LifeKeywords(TypedDict, total=False):
    """Options of a life."""

    #: Criterion that ends the drive's life: `mean_wear`, `first_block`, `error_rate` or `spare`. `mean_wear`: the mean
    #: wear of the blocks reaches the limit. `first_block`: the wear of the first block does. `error_rate`: in the
    #: first block the code no longer corrects data that was kept for `retention`. `spare`: worn-out blocks are
    #: retired, and a die can spare no more.
    until: str
    #: Method: `full`, every erase is simulated, or `extrapolate`, a steady round is simulated in each interval of wear
    #: and stands for it.
    method: str
    #: Effective wear at which a block is worn out, in nominal erases; absent: the rated cycles.
    wear_limit: float | None
    #: Time for which data must stay correctable, such as `1y`, for `error_rate`; absent: the time that the mode
    #: `normal` promises.
    retention: str | None
    #: Largest number of passes of a full run.
    max_passes: int | None
    #: Number of equal intervals of the rated endurance; absent: six. Results are stated for each interval, and
    #: extrapolation adds them up.
    intervals: int | None
    #: Least mean number of cycles per block in a round of extrapolation; absent: four, or as many as make 4,096 erases
    #: in total.
    round_cycles: float | None
    #: Relative difference in wear per erase and in write amplification up to which two consecutive rounds of
    #: extrapolation count as steady; absent: 0.01.
    agreement: float | None


class LimitsKeywords(TypedDict, total=False):
    """Limits of what a run may take."""

    #: Most memory, such as `4GiB`, or a share of what is free at the start, such as `50%`; absent: `90%`. A drive
    #: whose tables take more in the starting state is refused. A run that comes to take more ends with an error, and
    #: nothing is written. In Python also a number of bytes.
    max_memory: str | int | None
