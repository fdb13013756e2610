"""Measures the simulation speed of each policy relative to `baseline`, on a drive that suits the policy.

    python bench/policies.py [POLICY ...] [--runs N] [--requests N]

There are two loads with a queue depth of 32, from the steady state of uniform overwrites: random writes, and random
accesses of which 70 % are reads. The wall-clock time of the event loop is measured, without set-up. The runs of all
policies of a drive take turns, and the shortest run of each counts. A policy may need more flash operations per request
(it moves data that the baseline leaves in place, or collects other blocks), so that these are counted as well.
`clairvoyant` runs the workload twice; its second run is measured.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import ssdlab
from ssdlab.workloads import Workload

#: Highest accepted time of a policy over that of the baseline, per request or per flash operation, whichever is lower.
LEAST = 1.15

#: Modes derived from the cell, among which `margin` and `clairvoyant` choose.
_DERIVED = (
    "flash.write_mode=[{name='normal',derive={retention='10y',at_pe_cycles=10000}},"
    "{name='fast',derive={retention='4d',at_pe_cycles=10000,by_wear=true}},"
    "{name='wide',derive={step=0.45,at_pe_cycles=10000,by_wear=true}},"
    "{name='narrow',derive={step=0.30,at_pe_cycles=10000,by_wear=true}}]"
)
#: Two lengths of retention at each of two erase depths, on a young drive, among which OFWAR and autoFTL choose.
_COMBINED = (
    "flash.write_mode=[{name='normal',derive={retention='10y',at_pe_cycles=3000}},"
    "{name='fast',derive={retention='4d',at_pe_cycles=3000}},"
    "{name='shallow',erase_level=1,derive={retention='10y',at_pe_cycles=3000,erase_shift=0.1}},"
    "{name='shallow_fast',erase_level=1,derive={retention='4d',at_pe_cycles=3000,erase_shift=0.1}}]",
    "flash.erase_mode=[{name='nominal'},{name='gentle',level=1,erase_shift=0.1,wear=0.9}]",
    "policy.combine.members=['ofwar','autoftl']",
)


@dataclass(frozen=True)
class Home:
    """A drive, and the policies that suit it."""

    drive: str
    policies: tuple[str, ...]
    set: tuple[str, ...] = ()


HOMES = (
    Home("ofwar-64g", ("separate", "ofwar", "all_fast", "wear_adaptive"), ("flash.blocks_per_plane=256",)),
    Home("ofwar-64g", ("margin", "clairvoyant"), (_DERIVED, "flash.blocks_per_plane=256")),
    Home("ofwar-64g", ("combine",), (*_COMBINED, "flash.blocks_per_plane=256")),
    Home("rr-106g", ("rr_speed",), ("flash.blocks_per_plane=512",)),
    Home("rr-ecc-106g", ("rr_ecc", "bch_ldpc"), ("flash.blocks_per_plane=512",)),
    Home("agcr-64g", ("agcr", "queue_driven", "traditional", "hcw_lcr", "lcw_hcr"), ("flash.blocks_per_plane=512",)),
    Home("dpes-enterprise", ("autoftl", "autoftl_minus")),
    Home("tlc-1tb", ("slc_cache",), ("flash.blocks_per_plane=344", "flash.pages_per_block=48")),
)
LOADS = {"write": "rw=randwrite", "mixed": "rw=randrw\nrwmixread=70"}


@dataclass
class Least:
    """Shortest of several runs."""

    #: Time of the event loop, without set-up [s].
    wall_s: float = math.inf
    operations: int = 0


def run(home: Home, policy: str, load: str, requests: int) -> dict[str, Any]:
    """Returns the summary of one run."""
    job = f"[j]\n{LOADS[load]}\nbs=4k\nnorandommap=1\niodepth=32\nio_size=1024g\nnumber_ios={requests}\n"
    return ssdlab.run(home.drive, Workload.from_text(job), policy, set=home.set, precondition="steady").summary


def measure(home: Home, policies: list[str], load: str, runs: int, requests: int) -> dict[str, Least]:
    """Measures every policy of a drive and the baseline, in turns."""
    found = {policy: Least() for policy in ("baseline", *policies)}
    for _ in range(runs):
        for policy, least in found.items():
            summary = run(home, policy, load, requests)
            least.wall_s = min(least.wall_s, summary["wall_s"])
            least.operations = sum(summary["flash"]["operations"].values())
    return found


def show(home: Home, load: str, found: dict[str, Least], requests: int) -> None:
    """Prints one line per policy."""
    base = found["baseline"]
    for policy, least in found.items():
        operations = least.operations / requests
        by_request = least.wall_s / base.wall_s
        by_operation = by_request * base.operations / least.operations
        note = f"  OVER {LEAST}" if min(by_request, by_operation) > LEAST else ""
        print(
            f"{home.drive:<16} {load:<6} {policy:<14} {requests / least.wall_s:>10,.0f} {operations:>8.3f} "
            f"{by_request:>8.3f} {by_operation:>8.3f}{note}",
            flush=True,
        )


def main() -> None:
    """Measures the policies and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", nargs="*", help="which ones; all when none is named")
    parser.add_argument("--runs", type=int, default=15, help="runs of each, of which the least counts")
    parser.add_argument("--requests", type=int, default=300_000, help="requests of a run")
    options = parser.parse_args()
    print(f"{'drive':<16} {'load':<6} {'policy':<14} {'requests/s':>10} {'ops/req':>8} {'/request':>8} {'/op':>8}")
    for home in HOMES:
        chosen = [policy for policy in home.policies if not options.policy or policy in options.policy]
        for load in LOADS if chosen else ():
            show(home, load, measure(home, chosen, load, options.runs, options.requests), options.requests)


if __name__ == "__main__":
    main()
