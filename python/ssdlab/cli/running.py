"""Work of ``ssdlab run``, without Typer, which takes longer to start than a short run takes."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import drives, policy_file, simulate
from ssdlab.cli import given
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import outcome_of, remark_on
from ssdlab.cli.progress import watch_size
from ssdlab.cli.watching import observed
from ssdlab.errors import InputError
from ssdlab.runs import PolicyLike

if TYPE_CHECKING:
    from ssdlab.presentation import Result


def run(
    drive: str,
    workload: str,
    *,
    policy: str | None,
    chosen: dict[str, Any],
    reading: dict[str, Any],
    profile_firmware: bool = False,
    watch: bool = False,
    out: Path | None,
    force: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Runs a workload on a drive, and shows and writes the results.

    Args:
        drive: A preset's name or a description.
        workload: A file.
        policy: A policy's name, or ``FILE.py:CLASS``.
        chosen: Options of the run.
        reading: Options of the workload; the format may be ``fio``, that of the result.
        profile_firmware: Print the work of the firmware, which a core must execute.
        watch: Show the run on a live page.
        out: Folder of the results.
        force: Replace what is there.
        json: Print the results as JSON.
        quiet: Print no remarks.

    Raises:
        InputError: the input is invalid.
        SystemExit: the run was interrupted, or the results could not be shown or written.
    """
    as_fio = reading["format"] == "fio"
    if as_fio and json:
        raise InputError("--format fio, --json: each prints a document on standard output; give one of them")
    if profile_firmware:
        _check_profile(drive, chosen, as_fio or json)
    targets = given.Targets(
        out,
        force,
        save=chosen["save"],
        timeline=chosen["timeline"],
        log_commands=chosen["log_commands"],
        history=chosen["history"],
        record_firmware=chosen["record_firmware"],
        load=chosen["load"],
        reads=(drive, workload, _file(policy), chosen["faults"]),
        sets=tuple(chosen["set"] or ()),
    )
    with targets.reserved(), observed(watch, drive, workload, chosen["set"] or ()) as observe:
        policy_like = _policy(policy)
        if not quiet and begins_empty(drive, chosen):
            remark(EMPTY)
        source = given.workload(workload, {**reading, "format": None} if as_fio else reading)
        result, ending = outcome_of(
            lambda start: simulate.run(
                drive,
                source,
                policy_like,
                progress=observe("", watch_size(start("run"), targets.growing_files(), targets.timeline, quiet)),
                **given.arguments(chosen),
            ),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        folder = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.summary_json)
        meaning = "the results are partial" if result.status == "partial" else "the results are complete"
        conclude(lambda: _show(result, as_fio, json, profile_firmware), folder, ending, meaning, quiet=quiet)


#: Remark before the run of a drive that holds no data, unless the user chose that.
EMPTY = (
    "the drive begins empty: reads of addresses that were never written cost no flash operation, and writes need no "
    "collection (--precondition fill: every address has data; steady: as after long use; none: without this remark)"
)


def begins_empty(drive: str, chosen: dict[str, Any]) -> bool:
    """Returns true if a run begins with a drive without data and the user has not said how it is to begin."""
    if chosen["precondition"] is not None or chosen["load"] is not None:
        return False
    try:
        found = tomllib.loads(drives.check(drive, set=chosen["set"] or ()))
    except InputError:
        return False  # The run says what is wrong.
    translation = found["ftl"].get("translation", "page_map")
    kind = translation.get("kind") if isinstance(translation, dict) else translation
    was_set = any(line.partition("=")[0].strip() == "state.precondition" for line in chosen["set"] or ())
    return kind == "page_map" and not was_set and found["state"]["precondition"] == "none"


def _check_profile(drive: str, chosen: dict[str, Any], prints_document: bool) -> None:
    """Raises an error if the work of the firmware cannot be printed."""
    if prints_document:
        raise InputError(
            "--profile-firmware: --json has it as `firmware`, and --format fio prints nothing else; give one of them"
        )
    found = tomllib.loads(drives.check(drive, set=chosen["set"] or ()))
    kind = found.get("controller", {}).get("firmware", {}).get("kind", "ideal")
    if kind != "riscv":
        raise InputError(
            f'--profile-firmware: no core executes firmware of kind "{kind}": expected --set controller.firmware.kind=riscv'
        )


def _file(policy: str | None) -> str | None:
    """Returns the file of a policy in Python; any other policy as it is."""
    if policy is None or ".py" not in policy:
        return policy
    return policy_file.split(policy)[0]


def _policy(policy: str | None) -> PolicyLike | None:
    """Returns the policy that was named."""
    if policy is None or ".py" not in policy:
        return policy
    return policy_file.policy_of(policy)


def _show(result: Result, as_fio: bool, json: bool, profile_firmware: bool) -> None:
    """Prints the result in the requested form."""
    if as_fio:
        print_json(result.fio())
    elif json:
        sys.stdout.write(result.summary_json.rstrip("\n") + "\n")
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import views

        views.show_run(standard_output(), result)
        if profile_firmware:
            views.show_firmware(standard_output(), result)
