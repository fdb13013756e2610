"""Loads and a small drive for the tests of policies in Python."""

from __future__ import annotations

import ssdlab

#: A load with reads, single writes, bursts, trims, and pauses in which dies are idle.
LOAD = """\
[mixed]
rw=randrw
rwmixread=30
bs=4k
iodepth=32
number_ios=4000
norandommap=1
rate_iops=3000
[bursts]
startdelay=1
rw=randwrite
bs=16k
iodepth=64
number_ios=3000
norandommap=1
[trims]
rw=randtrim
bs=4k
number_ios=300
rate_iops=200
"""
#: A drive with several erase levels, small enough that all its blocks are collected.
LEVELS = """\
base = "tiny"
[[flash.erase_mode]]
name = "deep"
level = 0
[[flash.erase_mode]]
name = "shallow"
level = 1
wear = 0.5
"""
SMALL = [
    "flash.blocks_per_plane=32",
    "flash.pages_per_block=16",
    "ftl.overprovisioning=0.6",
    "ftl.retention_margin=0ns",
    "state.precondition=random",
    "state.graceful_shutdown=true",
    "flash.write_mode[0].erase_level=0",
]
#: Reasons of moves.
REASONS = ["gc", "wear", "rewrite", "reprogram", "scrub", "evacuate"]
JOB = (
    "[a]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=3000\nio_size=1g\nnorandommap=1\n"
    "[b]\nstonewall\nstartdelay=1\nrw=randread\nnumber_ios=10\n[c]\nstonewall\nrw=randtrim\nbs=4k\nnumber_ios=10\n"
)


def run(policy, seed=1, **options):
    """Runs a policy on the small drive with erase levels."""
    drive = ssdlab.Drive.from_text(LEVELS)
    return ssdlab.run(drive, ssdlab.Workload.from_text(JOB), policy, set=SMALL, seed=seed, **options)


def content(result):
    """Returns all results of a run, except the policy's name and the wall time."""
    summary = {name: value for name, value in result.summary.items() if name not in ("policy", "wall_s")}
    return summary, result.latency_table(), result.timeline_table(), result.command_table(), result.span_table()
