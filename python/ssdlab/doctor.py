"""Examination of the machine and the installation: what is there, what is missing, and what it would add."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ssdlab import _engine, drives, experiments, memory
from ssdlab.simulate import run
from ssdlab.workloads import Workload

__all__ = ["findings"]

#: Optional packages: name, what it adds, command that installs it.
PACKAGES = (
    ("optuna", "`ssdlab optimise`: the search for the best drive", "pip install 'ssdlab[search]'"),
    ("scipy", "designs `latin_hypercube` and `sobol` of a sweep, sampler `gp` of a search", "pip install 'ssdlab[search]'"),
    ("torch", "sampler `gp` of a search", "pip install torch"),
    ("distributed", "`ssdlab sweep --scheduler`: sweeps on many machines", "pip install 'ssdlab[cluster]'"),
    ("pandas", "tables as pandas frames (`Result.to_pandas`)", "pip install 'ssdlab[pandas]'"),
    ("polars", "tables as polars frames (`Result.to_polars`)", "pip install polars"),
)
#: Programs beside ssdlab: names, what they add, what installs them (Debian and Ubuntu).
PROGRAMS = (
    (("fio",), "jobs of `examples/` on a real drive, to compare with `ssdlab run --format fio`", "apt install fio"),
    (("chromium", "chromium-browser", "google-chrome"), "tests of the report's page", "apt install chromium"),
    (("cc", "gcc", "clang"), "programs in C that embed the engine (`make c`)", "apt install gcc"),
    (("c++", "g++", "clang++"), "the example in SystemC (`make c`)", "apt install g++"),
    (("cargo",), "the engine and the C library from source", "https://rustup.rs"),
)
SYSTEMC = ("SystemC", "the example in SystemC (`make c`)", "apt install libsystemc-dev")
PAPERS = ("ssdlab-papers", "`ssdlab paper`: the published experiments", "pip install ./papers (in a clone)")
#: Time that a compiler has to look for a header [s].
_PATIENCE = 20

#: Name and least version of a requirement that every installation has.
_NEEDED = re.compile(r"([\w.-]+)\s*(?:>=\s*([\w.]+))?[^;]*")


def findings() -> dict[str, Any]:
    """Returns what is known of machine, installation, presets and optional parts.

    `problems` has what is broken of what every run needs; it is empty in a sound installation.

    Examples:
        >>> from ssdlab import doctor
        >>> found = doctor.findings()
        >>> found["problems"], found["machine"]["cores"] > 0
        ([], True)
    """
    packages, problems = _packages()
    problems += _self_check()
    machine = _machine()
    return {
        "ok": not problems,
        "problems": problems,
        "versions": {
            "ssdlab": _engine.build().partition("+")[0],
            "engine": _engine.build(),
            "python": platform.python_version(),
            "packages": packages,
        },
        "machine": machine,
        "presets": _presets(machine["memory_available_bytes"]),
        "optional": [*_optional_packages(), _papers(), *_programs()],
    }


def _packages() -> tuple[dict[str, str | None], list[str]]:
    """Returns the versions of the packages that every installation needs, and what is wrong with them."""
    found: dict[str, str | None] = {}
    problems = []
    for needed in importlib.metadata.requires("ssdlab") or ():
        match = _NEEDED.match(needed)
        if match is None or "extra ==" in needed:
            continue
        name, least = match[1], match[2] or "0"
        again = f"pip install --force-reinstall {name}"
        try:
            found[name] = importlib.metadata.version(name)
            importlib.import_module(name.replace("-", "_"))
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
            problems.append(f"{name}: not installed: {again}")
        except Exception as error:
            problems.append(f"{name}: cannot be imported ({type(error).__name__}: {error}): {again}")
        if (version := found[name]) is not None and _numbers(version) < _numbers(least):
            problems.append(f"{name} {version}: too old: expected {least} or later: pip install --upgrade {name}")
    return found, problems


def _numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers with which a version begins."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()


def _self_check() -> list[str]:
    """Returns what is wrong with a short run, in which every request must complete."""
    job = Workload.from_text("[check]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=200\nnorandommap=1\n")
    try:
        done = sum(run("tiny", job).commands.values())
    except Exception as error:
        return [f"a short run fails: {type(error).__name__}: {error}"]
    return [] if done == 200 else [f"a short run completes {done} of 200 requests"]


def _machine() -> dict[str, Any]:
    total, available = memory.machine()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": _cores(),
        "memory_bytes": total,
        "memory_available_bytes": available,
        "huge_pages": _huge_pages(),
    }


def _cores() -> int:
    """Returns the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _huge_pages() -> str | None:
    """Returns how the system gives transparent huge pages, as Linux names it; none if it does not say."""
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return None
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else None


def _presets(available: int | None) -> list[dict[str, Any]]:
    """Returns the memory that the map of each preset takes when the drive is full, and whether it fits."""
    found = []
    for preset in drives.presets():
        needed = drives.describe(preset.name)["simulator_map_bytes"]
        fits = None if needed is None or available is None else needed <= available
        found.append({"name": preset.name, "map_bytes": needed, "fits": fits})
    return found


def _optional_packages() -> Iterable[dict[str, Any]]:
    for name, adds, install in PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = None
        yield _part(name, version, adds, install)


def _papers() -> dict[str, Any]:
    name, adds, install = PAPERS
    is_there = any(True for _ in importlib.metadata.entry_points(group=experiments.GROUP))
    return _part(name, importlib.metadata.version(name) if is_there else None, adds, install)


def _programs() -> Iterable[dict[str, Any]]:
    for names, adds, install in PROGRAMS:
        yield _part(names[0], next(filter(None, map(shutil.which, names)), None), adds, install)
    name, adds, install = SYSTEMC
    yield _part(name, _systemc(), adds, install)


def _systemc() -> str | None:
    """Returns the compiler that finds the header of SystemC, if one does."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None
    command = [compiler, "-std=c++17", "-M", "-x", "c++", "-"]
    try:
        done = subprocess.run(command, input=b"#include <systemc>\n", capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return compiler if done.returncode == 0 else None


def _part(name: str, found: str | None, adds: str, install: str) -> dict[str, Any]:
    """Returns an optional part: its version or place, or none if it is missing."""
    return {"name": name, "found": found, "adds": adds, "install": install}
