"""Drives of other simulators: descriptions, figures, errors, and files that mean harm."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import ssdlab
from conftest import Command
from ssdlab.errors import InputError
from ssdlab.imports import SOURCES
from ssdlab.imports.common import Setting
from ssdlab.imports.expression import Unknown, evaluate
from test_bounds import assert_refused

HERE = Path(__file__).parent / "imports"
GIB = 1 << 30


@dataclass(frozen=True)
class Case:
    """A file of another simulator, with what it states."""

    name: str
    source: str
    file: Path
    physical: int
    user: Fraction
    #: Dies, and the slowest and fastest array read [ns].
    dies: int
    read: tuple[int, int]
    #: Bytes of a channel in a second.
    channel: float
    variant: str | None = None
    capacity: str | None = None

    def imported(self) -> ssdlab.ImportedDrive:
        return ssdlab.import_drive(self.file, variant=self.variant, capacity=self.capacity)

    @property
    def words(self) -> list[str]:
        found = ["import", str(self.file)]
        found += ["--variant", self.variant] if self.variant else []
        return found + (["--capacity", self.capacity] if self.capacity else [])


EXAMPLE = Path(__file__).parents[2] / "examples" / "mqsim.xml"
HEADER = HERE / "ssd_config.h"
MIBS = 1 << 20
CASES = [
    Case("mqsim", "mqsim", EXAMPLE, 64 * GIB, 64 * GIB * Fraction(9, 10), 64, (60_000, 80_000), 333e6),
    Case(
        "simplessd",
        "simplessd",
        HERE / "simplessd.cfg",
        16 * 2 * 128 * 256 * 16384,
        16 * 2 * 128 * 256 * 16384 * Fraction(4, 5),
        16,
        (45_000, 65_000),
        400e6,
    ),
    Case("femu", "femu", HERE / "femu.sh", 3200 << 20, Fraction(2560 << 20), 32, (45_000, 45_000), 4800e6),
    Case(
        "nvmevirt",
        "nvmevirt",
        HEADER,
        8 * GIB,
        8 * GIB / Fraction("1.07"),
        16,
        (30_000, 42_000),
        800 * MIBS,
        "FLASH_DRIVE",
        "8GiB",
    ),
    # 11 zones of 768 MiB; a byte takes its time on the channel, and 400 ns for each 4 KiB come to it.
    Case(
        "nvmevirt-zones",
        "nvmevirt",
        HEADER,
        8448 << 20,
        Fraction(8448 << 20),
        8,
        (58_000, 58_000),
        4096 / (4096 / (450 * MIBS) + 400e-9),
        "ZONED_DRIVE",
        "8GiB",
    ),
    Case("ssdsim", "ssdsim", HERE / "page.parameters", 512 << 20, (512 << 20) * Fraction(4, 5), 8, (44_000, 44_000), 40e6),
    # 12 % of 256 blocks of a plane are reserved, 30 whole blocks, and a page of each block holds its summary.
    Case("disksim", "disksim", HERE / "ssd.parv", 4 * GIB, 4 * GIB * Fraction(226 * 63, 256 * 64), 16, (25_000, 25_000), 40e6),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def drive_of(path: Path, text: str, **options: str) -> ssdlab.ImportedDrive:
    path.write_text(text)
    return ssdlab.import_drive(path, **options)


@each_case
def test_description(case: Case):
    golden = HERE / f"{case.name}.toml"
    text = case.imported().text
    if os.environ.get("SSDLAB_BLESS"):
        golden.write_text(text)
    assert text == golden.read_text(), "SSDLAB_BLESS=1 writes the file anew"


@each_case
def test_figures_are_those_that_the_file_states(case: Case):
    imported = case.imported()
    facts = ssdlab.describe(imported.drive)
    assert facts["physical_bytes"] == case.physical
    assert 0 <= case.user - facts["user_bytes"] < 4096 + case.user / 10**9, "rounded down to a mapping unit"
    assert facts["dies_working_at_once"] == case.dies
    fields = {field.path: field.value for field in imported.fields}
    times = fields["flash.read_time"] if isinstance(fields["flash.read_time"], list) else [fields["flash.read_time"]]
    assert (min(map(ns, times)), max(map(ns, times))) == case.read
    units = {"T/s": 1, "kT/s": 1e3, "MT/s": 1e6, "GT/s": 1e9}
    rate = fields["flash.transfer_rate"]
    number = rate.rstrip("kMGT/s")
    assert float(number) * units[rate.removeprefix(number)] == pytest.approx(case.channel, rel=1e-9)


def ns(duration: str) -> int:
    for unit, size in (("ns", 1), ("us", 1000), ("ms", 10**6), ("s", 10**9)):
        if duration.endswith(unit) and duration.removesuffix(unit).isdigit():
            return int(duration.removesuffix(unit)) * size
    raise AssertionError(duration)


@each_case
def test_imported_drive_runs(case: Case):
    fill = "fill" if case.name != "nvmevirt-zones" else "none"
    job = "[job]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=400\nsize=16m\n"
    if case.name == "nvmevirt-zones":
        job = "[job]\nrw=write\nbs=64k\niodepth=8\nnumber_ios=400\n"
    result = ssdlab.run(case.imported().drive, ssdlab.Workload.from_text(job), precondition=fill)
    assert sum(result.commands.values()) == 400
    assert result.status == "complete"


@each_case
def test_every_parameter_is_used_or_listed(case: Case):
    given = SOURCES[case.source].parameters(case.file.read_text(), str(case.file), Setting(case.variant, case.capacity))
    names = [entry.name for name in given if (entry := given.entry(name)) is not None]
    assert len(names) > 10
    imported = case.imported()
    origins = " ".join(f"{field.origin} " for field in imported.fields)
    listed = {each.name for each in imported.not_mapped}
    lost = [name for name in names if f"{name} = " not in origins and name not in listed]
    assert lost == []


UNKNOWN = {
    "mqsim": ("<Seed>21</Seed>", "<Seed>21</Seed><Colour>blue</Colour>", "Device_Parameter_Set/Colour"),
    "simplessd": ("[icl]", "[icl]\nColour = blue", "[icl] Colour"),
    "femu": ('",queues=4"', '",queues=4,colour=blue"', "colour"),
    "nvmevirt": ("#define MDTS (6)", "#define MDTS (6)\n#define COLOUR 7", "COLOUR"),
    "ssdsim": ("t_CS = 20;", "t_CS = 20;\ncolour = 7;", "colour"),
    "disksim": ("Write policy = 2,", "Write policy = 2,\nColour = 7,", "Colour"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_parameter_is_listed(name: str, tmp_path: Path):
    case = next(case for case in CASES if case.name == name)
    old, new, shown = UNKNOWN[name]
    text = case.file.read_text()
    assert old in text
    path = tmp_path / case.file.name
    imported = drive_of(path, text.replace(old, new), **options(case))
    listed = {each.name: each for each in imported.not_mapped}
    assert listed[shown].value in ("blue", "7")
    assert "not a parameter of" in listed[shown].why
    assert f"# - {shown} = {listed[shown].value}" in imported.text


def options(case: Case) -> dict[str, str]:
    given = {"variant": case.variant, "capacity": case.capacity}
    return {name: value for name, value in given.items() if value is not None}


def test_mqsim_by_its_meaning(tmp_path: Path):
    text = EXAMPLE.read_text()
    fields = {field.path: field.value for field in ssdlab.import_drive(EXAMPLE).fields}
    assert fields["ftl.overprovisioning"] == pytest.approx(1 / 9), "a tenth of the physical capacity"
    assert (fields["ftl.victim.kind"], fields["ftl.victim.d"]) == ("d_choices", 8), "log2 of 256 blocks"
    assert (fields["ftl.gc_critical_blocks"], fields["ftl.gc_low_blocks"]) == (5, 10), "2 and 4 % of 256"
    assert fields["flash.scheduler"] == "read_first"
    assert fields["flash.suspension.suspend_time"] == "500us"
    assert fields["flash.suspension.least_remaining"] == "600us"
    rigid = text.replace("<Preemptible_GC_Enabled>true", "<Preemptible_GC_Enabled>false")
    fields = {field.path: field.value for field in drive_of(tmp_path / "rigid.xml", rigid).fields}
    assert (fields["ftl.gc_critical_blocks"], fields["ftl.gc_low_blocks"], fields["ftl.gc_preemptible"]) == (10, 10, False)
    both = text.replace("<CMD_Suspension_Support>ERASE", "<CMD_Suspension_Support>PROGRAM_ERASE")
    fields = {field.path: field.value for field in drive_of(tmp_path / "both.xml", both).fields}
    assert fields["flash.suspension.program"]
    assert fields["flash.suspension.suspend_time"] == "90us"
    cached = text.replace("<Ideal_Mapping_Table>true", "<Ideal_Mapping_Table>false")
    fields = {field.path: field.value for field in drive_of(tmp_path / "cached.xml", cached).fields}
    assert (fields["ftl.map_cache.size"], fields["ftl.map_cache.memory"]) == ("2MiB", "sram")
    slow = text.replace("<PCIe_Lane_Bandwidth>1.0", "<PCIe_Lane_Bandwidth>0.4")
    fields = {field.path: field.value for field in drive_of(tmp_path / "slow.xml", slow).fields}
    assert (fields["host.interface.kind"], fields["host.interface.bandwidth"]) == ("plain", "1600MB/s")
    sata = text.replace("<HostInterface_Type>NVME", "<HostInterface_Type>SATA")
    imported = drive_of(tmp_path / "sata.xml", sata)
    fields = {field.path: field.value for field in imported.fields}
    assert (fields["host.interface.queue_depth"], fields["host.cpu.submission"]) == (32, "400us")
    assert "IO_Queue_Depth" in " ".join(each.name for each in imported.not_mapped)


def test_source_leaves_all_to_its_defaults(tmp_path: Path):
    imported = drive_of(tmp_path / "bare.xml", "<Execution_Parameter_Set></Execution_Parameter_Set>")
    facts = ssdlab.describe(imported.drive)
    # 8 channels x 4 chips x 2 dies x 2 planes x 2048 blocks x 256 pages of 8 KiB, of which 2 % are spare.
    assert facts["physical_bytes"] == 512 * GIB
    assert {field.standing for field in imported.fields} == {"default", "ssdlab"}
    assert "# Device_Parameter_Set" not in imported.text
    assert "# Channel_Transfer_Rate = 300 MT/s (default)" in imported.text.replace("Flash_Comm_Protocol = NVDDR2 (default), ", "")
    # Thresholds of collection that do not fit beside the data of so full a drive are cut, and said so.
    assert any("GC_Exec_Threshold" in each.name for each in imported.not_mapped)


def test_nvmevirt_read_takes_its_time(tmp_path: Path):
    """A read of 4 KiB alone: firmware, array, channel and link, as its sources add them up."""
    case = next(case for case in CASES if case.name == "nvmevirt")
    drive = case.imported().drive
    job = ssdlab.Workload.from_text("[job]\nrw=randread\nbs=4k\niodepth=1\nnumber_ios=2000\n")
    result = ssdlab.run(drive, job, precondition="fill")
    channel, link = (4096 / (rate * MIBS) * 1e9 for rate in (800, 3300))
    expected = 20_000 + (30_000 + 42_000) / 2 + channel + link
    # Command, address and turn-around of the channel, which NVMeVirt does not have, are below half a microsecond.
    assert 0 <= result.latency["read"].mean_ns - expected < 500


def test_ssdsim_orders_of_static_allocation(tmp_path: Path):
    text = (HERE / "page.parameters").read_text()
    for number, order in enumerate(("WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW")):
        changed = text.replace("static_allocation=2", f"static_allocation={number}")
        fields = {field.path: field.value for field in drive_of(tmp_path / "page.parameters", changed).fields}
        assert (fields["ftl.write_allocation"], fields["ftl.allocation_order"]) == ("static", order)


def test_femu_options_in_one_line_and_plain_names(tmp_path: Path):
    line = "qemu-system-x86_64 -m 4G -device femu,devsz_mb=12288,femu_mode=1,nchs=8,luns_per_ch=8 -nographic\n"
    imported = drive_of(tmp_path / "run.sh", line)
    facts = ssdlab.describe(imported.drive)
    assert (facts["physical_bytes"], facts["user_bytes"]) == (16 * GIB, 12 * GIB)
    names = ["secsz=512", "secs_per_pg=8", "pgs_per_blk=256", "blks_per_pl=256", "luns_per_ch=8", "nchs=8", "ssd_size=12288"]
    facts = ssdlab.describe(drive_of(tmp_path / "names.conf", "\n".join(names)).drive)
    assert facts["user_bytes"] == 12 * GIB


#: Changes that make a file wrong: case, old text, new text, expected words.
WRONG = [
    (
        "mqsim",
        "<Flash_Channel_Count>8",
        "<Flash_Channel_Count>eight",
        "mqsim.xml:44: Device_Parameter_Set/Flash_Channel_Count: 'eight'",
    ),
    ("mqsim", "<Flash_Channel_Count>8", "<Flash_Channel_Count>0", "Flash_Channel_Count: '0': expected a number, 1 to"),
    (
        "mqsim",
        "<Flash_Channel_Count>8",
        "<Flash_Channel_Count>999",
        "Flash_Channel_Count = 999: flash.channels: 999: expected 1..=256",
    ),
    ("mqsim", "<Flash_Technology>MLC", "<Flash_Technology>MLX", "expected one of SLC, MLC, TLC (did you mean `MLC`?)"),
    ("mqsim", "<Address_Mapping>PAGE_LEVEL", "<Address_Mapping>HYBRID", "expected PAGE_LEVEL"),
    ("mqsim", "<Page_Capacity>8192", "<Page_Capacity>5000", "Page_Capacity = 5000 B: flash.page_size: "),
    ("mqsim", "<Seed>21</Seed>", "<Seed>21", "mqsim.xml:69: not well-formed XML: mismatched tag"),
    ("mqsim", "<Seed>21</Seed>", "<Seed>21</Seed><Seed>22</Seed>", "mqsim.xml:11: Seed: given twice, first in line 11"),
    ("mqsim", "CWDP", "CWDD", "expected an order such as CWDP"),
    ("simplessd", "NANDType = 2", "NANDType = 7", "[pal] NANDType: '7': expected one of 0, 1, 2"),
    ("simplessd", "Channel = 4", "Channel 4", "simplessd.cfg:27: 'Channel 4': expected [section] or NAME = VALUE"),
    ("simplessd", "PageAllocation = CWDP", "PageAllocation = CWDX", "expected an order of C, W, D and P"),
    ("simplessd", "Plane = 2", "Plane = 2\nPlane = 2", "pal.Plane: given twice"),
    ("femu", "femu_mode=1", "femu_mode=2", "femu_mode: '2': expected 1, the black-box drive"),
    ("femu", "ssd_size=2560", "ssd_size=4000", "devsz_mb: '4000': expected less than the flash has, 3200 MiB"),
    ("femu", "nchs=8", "nchs=eight", "nchs: 'eight': expected a number"),
    ("femu", '",queues=4"', '",queues"', "'queues': expected NAME=VALUE after -device femu"),
    ("nvmevirt", "#define NAND_CHANNELS (8)", "#define NAND_CHANNELS (8", "ssd_config.h:27: NAND_CHANNELS: '(8': `)` is missing"),
    (
        "nvmevirt",
        "#define NAND_CHANNELS (8)",
        "#define NAND_CHANNELS (EIGHT)",
        "NAND_CHANNELS: '(EIGHT)': `EIGHT` is not defined",
    ),
    ("nvmevirt", "(FLASH_PAGE_SIZE * 1)", "(FLASH_PAGE_SIZE / 0)", "a division by zero"),
    (
        "nvmevirt",
        "#elif (BASE_SSD == ZONED_DRIVE)",
        "#endif\n#endif\n#elif (BASE_SSD == ZONED_DRIVE)",
        "#elif: expected it after an #if",
    ),
    ("ssdsim", "chip number = 4;", "chip number = 5;", "expected the chips of 2 channels together"),
    ("ssdsim", "chip number[1] = 2;", "chip number[1] = 3;", "channels have the same number of chips"),
    ("ssdsim", "address mapping=1", "address mapping=2", "expected 1, page mapping"),
    ("ssdsim", "t_R = 22000;", "t_R 22000;", "page.parameters:22: 't_R 22000;': expected NAME = VALUE;"),
    ("ssdsim", "page capacity = 2048", "page capacity = 3000", "page capacity = 3000 B: flash.page_size"),
    ("disksim", "Elements per gang = 2", "Elements per gang = 3", "expected a divisor of the 8 elements"),
    (
        "disksim",
        "Chip xfer latency = 0.000025",
        "Chip xfer latency = 0.0128",
        "Chip xfer latency: '0.0128': expected the time of one byte",
    ),
    ("disksim", "Page size = 8,", "", "Page size: missing: expected a value"),
    ("disksim", "}  # end of SSD spec", "", "expected"),
]


@pytest.mark.parametrize(("name", "old", "new", "expected"), WRONG, ids=[f"{each[0]}-{at}" for at, each in enumerate(WRONG)])
def test_wrong_files(cli: Command, tmp_path: Path, name: str, old: str, new: str, expected: str):
    case = next(case for case in CASES if case.name == name)
    text = case.file.read_text()
    assert old in text
    path = tmp_path / case.file.name
    path.write_text(text.replace(old, new, 1))
    done = cli("import", path, *case.words[2:], "--out", "made.toml")
    assert_refused(done, expected, case.file.name)
    assert done.stdout == ""
    assert list((tmp_path / "here").iterdir()) == []


def deep(opening: str, closing: str, inner: str = "") -> str:
    return opening * 5000 + inner + closing * 5000


LAUGHS = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">' for at in range(1, 10))
#: Files that mean harm: name, content, expected words.
HARM = [
    (
        "bomb.xml",
        f'<!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]><Execution_Parameter_Set>&a9;</Execution_Parameter_Set>',
        "a document type",
    ),
    (
        "outside.xml",
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><Execution_Parameter_Set><Seed>&a;</Seed></Execution_Parameter_Set>',
        "a document type",
    ),
    ("deep.xml", f"<Execution_Parameter_Set>{deep('<a>', '</a>')}</Execution_Parameter_Set>", "at most 16 levels"),
    ("many.xml", f"<Execution_Parameter_Set>{'<a/>' * 30_000}</Execution_Parameter_Set>", "20000 elements"),
    ("other.xml", "<Execution_Parameter_SetX/>", "expected <Execution_Parameter_Set>"),
    ("cut.xml", "<Execution_Parameter_Set><Seed>", "not well-formed XML: no element found"),
    ("many.cfg", "[pal]\n" + "".join(f"a{at} = 1\n" for at in range(6000)) + "[ftl]\n", "more than 5,000 parameters"),
    (
        "doubling.sh",
        "a=xx\n" + "".join("a=$a$a\n" for _ in range(64)) + "qemu -device femu,nchs=$a\n",
        "more than 65,536 characters",
    ),
    ("round.h", "#define NAND_CHANNELS LUNS\n#define LUNS NAND_CHANNELS\n", "nested too deeply"),
    ("deep.h", f"#define NAND_CHANNELS {'(' * 900}8{')' * 900}\n", "nested too deeply"),
    ("shift.h", "#define NAND_CHANNELS (1 << 2000000000) << 2000000000\n", "a number that is too large"),
    ("power.h", "#define NAND_CHANNELS " + " * ".join(["999999999999"] * 50) + "\n", "a number that is too large"),
    ("deep.parv", "ssdmodel_ssd SSD { Scheduler = " + deep("{", "}") + " }", "at most 16 levels"),
    ("two.parv", "ssdmodel_ssd A { Page size = 8 }\nssdmodel_ssd B { Page size = 8 }", "two.parv:2: a second SSD, B"),
    ("binary.xml", "<Execution_Parameter_Set>\0</Execution_Parameter_Set>", "not a text file"),
    ("nothing.txt", "", "not recognised: expected MQSim's device configuration"),
    ("words.txt", "a drive of mine", "not recognised"),
    (
        "both.txt",
        "t_PROG = 1;\nchannel number = 2;\nssdmodel_ssd SSD {\n",
        "looks like a file of several simulators, ssdsim, disksim",
    ),
]


@pytest.mark.parametrize(("name", "content", "expected"), HARM, ids=[each[0] for each in HARM])
def test_harmful_files(cli: Command, tmp_path: Path, name: str, content: str, expected: str):
    path = tmp_path / name
    path.write_text(content)
    assert_refused(cli("import", path, "--out", "made.toml"), expected, name)
    assert list((tmp_path / "here").iterdir()) == []


def test_input_without_end(cli: Command, tmp_path: Path):
    assert_refused(cli("import", "/dev/zero"), "/dev/zero: more than 1 MiB: expected a smaller file")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def pour() -> None:
        try:
            with pipe.open("w") as writing:
                while True:
                    writing.write("secsz=512\n" * 1000)
        except BrokenPipeError:
            pass

    pouring = threading.Thread(target=pour, daemon=True)
    pouring.start()
    assert_refused(cli("import", pipe), "more than 1 MiB: expected a smaller file")
    pouring.join(timeout=60)
    assert not pouring.is_alive()


def test_names_cannot_break_out_of_comments(tmp_path: Path):
    text = (HERE / "simplessd.cfg").read_text().replace("[icl]", '[icl]\na\x1b[31m\x0bb = "\x1b]0;x\x07" \x0cx')
    imported = drive_of(tmp_path / "odd.cfg", text)
    assert "\x1b" not in imported.text
    assert ssdlab.check(imported.drive)
    odd = tmp_path / 'a"\n[flash]\nchannels = 3\n#.xml'
    odd.write_text(EXAMPLE.read_text())
    assert ssdlab.describe(ssdlab.import_drive(odd).drive)["channels"] == 8


def test_command(cli: Command, tmp_path: Path):
    done = cli("import", EXAMPLE)
    assert done.returncode == 0
    assert done.stdout == (HERE / "mqsim.toml").read_text()
    assert "57.60 GiB of user capacity" in done.stderr
    assert "no counterpart: Device_Parameter_Set/Seed = 21: the seed is an option of a run, --seed" in done.stderr
    assert cli("import", EXAMPLE, "--out", "mine.toml").returncode == 0
    made = tmp_path / "here" / "mine.toml"
    assert made.read_text() == done.stdout
    assert cli("show", "mine.toml").returncode == 0
    assert_refused(cli("import", EXAMPLE, "--out", "mine.toml"), "it exists; choose another name, or replace it with --force")
    assert cli("import", EXAMPLE, "--out", "mine.toml", "--force").returncode == 0
    assert_refused(cli("import", EXAMPLE, "--force"), "no --out is given")
    assert_refused(cli("import", EXAMPLE, "--from", "mqsin"), "did you mean `mqsim`?")
    assert_refused(cli("import", EXAMPLE, "--from", "disksim"), "no `ssdmodel_ssd NAME {`")
    assert_refused(cli("import", EXAMPLE, "--variant", "X"), "--variant X: a file of MQSim says it itself")
    assert_refused(cli("import", EXAMPLE, "--capacity", "8GiB"), "--capacity 8GiB: a file of MQSim says it itself")
    assert_refused(cli("import", "nowhere.xml"), "nowhere.xml: no such file")
    assert_refused(cli("import", HEADER), "choose one with --variant: FLASH_DRIVE, ZONED_DRIVE")
    assert_refused(cli("import", HEADER, "--variant", "FLASH_DRIV"), "did you mean `FLASH_DRIVE`?")
    assert_refused(cli("import", HEADER, "--variant", "FLASH_DRIVE", "--capacity", "some"), "expected a size such as 64GiB")


def test_a_drive_that_is_not_full(cli: Command, tmp_path: Path):
    full = ssdlab.describe(ssdlab.import_drive(EXAMPLE).drive)["user_bytes"]
    imported = ssdlab.import_drive(EXAMPLE, occupancy=75)
    assert ssdlab.describe(imported.drive)["user_bytes"] == pytest.approx(0.75 * full, rel=1e-3)
    over = next(field for field in imported.fields if field.path == "ftl.overprovisioning")
    assert "the rest of the flash beside the 75 % that is stored is spare" in over.origin
    assert cli("import", EXAMPLE, "--occupancy", "75").stdout == imported.text
    assert_refused(cli("import", EXAMPLE, "--occupancy", "0.5"), "--occupancy 0.5: expected a percentage from 1 to 100")
    refused = "--occupancy 75: only workloads of MQSim say how full the drive is, not FEMU's"
    assert_refused(cli("import", HERE / "femu.sh", "--occupancy", "75"), refused)


def test_free_blocks_that_leave_nothing_for_stale_data_are_told(tmp_path: Path):
    text = EXAMPLE.read_text().replace(
        "<Overprovisioning_Ratio>0.1</Overprovisioning_Ratio>", "<Overprovisioning_Ratio>0.07</Overprovisioning_Ratio>"
    )
    text = text.replace("<GC_Exec_Threshold>0.04</GC_Exec_Threshold>", "<GC_Exec_Threshold>0.05</GC_Exec_Threshold>")
    assert text != EXAMPLE.read_text()
    (tmp_path / "full.xml").write_text(text)

    def is_remarked(**given: float) -> bool:
        found = ssdlab.import_drive(tmp_path / "full.xml", **given).not_mapped
        return any("are left for stale data" in each.why for each in found)

    assert is_remarked()
    assert not is_remarked(occupancy=75)


def test_json(cli: Command):
    done = cli("import", EXAMPLE, "--json")
    document = json.loads(done.stdout)
    assert document["source"] == "mqsim"
    assert document["description"] == (HERE / "mqsim.toml").read_text()
    channels = next(each for each in document["fields"] if each["field"] == "flash.channels")
    origin = "Device_Parameter_Set/Flash_Channel_Count = 8"
    assert channels == {"field": "flash.channels", "value": 8, "standing": "file", "origin": origin}
    assert {"name": "Device_Parameter_Set/Seed", "value": "21", "why": "the seed is an option of a run, --seed"} in document[
        "not_mapped"
    ]


def test_errors_in_python_name_arguments(tmp_path: Path):
    with pytest.raises(InputError, match="choose one with variant"):
        ssdlab.import_drive(HEADER)
    both = tmp_path / "both.txt"
    both.write_text("t_PROG = 1;\nchannel number = 2;\nssdmodel_ssd SSD {\n")
    with pytest.raises(InputError, match="choose one with source"):
        ssdlab.import_drive(both)
    with pytest.raises(InputError, match="unknown simulator `x`"):
        ssdlab.import_drive(EXAMPLE, "x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % 4", 3),
        ("KB(32) * 3", 98304),
        ("MB(2ULL)", 2 << 20),
        ("0x10 + 010", 24),
        ("1 << 4", 16),
        ("A * 2", 10),
        ("A == 5 && !(B > 3)", 1),
        ("0.07", Fraction("0.07")),
        ("(35760 - 6000)", 29760),
    ],
)
def test_expressions(text: str, value: Fraction | int):
    assert evaluate(text, {"A": "(B + 2)", "B": "3"}) == value


@pytest.mark.parametrize("text", ["", "1 +", "(1", "1)", "1 2", "x", "1 / 0", "$", "KB", "2 ** 3", "09"])
def test_what_is_no_expression(text: str):
    with pytest.raises(Unknown):
        evaluate(text, {})


@each_case
@pytest.mark.parametrize("cut", [0.1, 0.35, 0.6, 0.85, 0.97])
def test_cut_files_are_refused_or_imported(case: Case, cut: float, tmp_path: Path):
    """A file that ends early never crashes: it is refused with its name, or what is missing takes a default."""
    text = case.file.read_text()
    path = tmp_path / case.file.name
    path.write_text(text[: int(len(text) * cut)])
    try:
        imported = ssdlab.import_drive(path, case.source, **options(case))
    except InputError as error:
        said = str(error)
    else:
        said = f"{case.file.name}: {len(ssdlab.check(imported.drive))}"
    assert case.file.name in said or "configuration" in said


#: Changes of the files that show what depends on a parameter: case, old text, new text.
OTHERWISE = [
    ("mqsim", "<HostInterface_Type>NVME", "<HostInterface_Type>SATA"),
    ("mqsim", "<PCIe_Lane_Bandwidth>1.0", "<PCIe_Lane_Bandwidth>0.4"),
    ("mqsim", "<Ideal_Mapping_Table>true", "<Ideal_Mapping_Table>false"),
    ("mqsim", "<CMD_Suspension_Support>ERASE", "<CMD_Suspension_Support>PROGRAM"),
    ("mqsim", "<Flash_Technology>MLC", "<Flash_Technology>TLC"),
    ("ssdsim", "allocation=1;", "allocation=0;"),
    ("disksim", "Cleaning in background = 0", "Cleaning in background = 1"),
]
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "import.md"
MARK = "<!-- tables -->\n"


def rows(case: Case, folder: Path) -> dict[str, dict[str, list[str]]]:
    """Returns the fields of each parameter with notes, in the order of the file; "": the reason for none."""
    text = case.file.read_text()
    texts = [text, *(text.replace(old, new, 1) for name, old, new in OTHERWISE if name == case.name)]
    given = SOURCES[case.source].parameters(text, "file", Setting(case.variant, case.capacity))
    found: dict[str, dict[str, list[str]]] = {entry.name: {} for name in given if (entry := given.entry(name)) is not None}
    for changed in texts:
        imported = drive_of(folder / case.file.name, changed, **options(case))
        for field in imported.fields:
            for name in field.parameters:
                notes = found.setdefault(name, {}).setdefault(field.path, [])
                notes += [field.note] if field.note not in notes else []
        for each in imported.not_mapped:
            notes = found.setdefault(each.name, {}).setdefault("", [])
            notes += [each.why] if each.why not in notes else []
    return found


def tables(folder: Path) -> str:
    """Returns the tables of the page."""
    lines = []
    for source, module in SOURCES.items():
        lines += [f"### {module.TITLE}", "", "| parameter | field | how |", "| --- | --- | --- |"]
        merged: dict[str, dict[str, list[str]]] = {}
        for case in CASES:
            for name, fields in rows(case, folder).items() if case.source == source else ():
                for path, notes in fields.items():
                    merged.setdefault(name, {}).setdefault(path, []).extend(notes)
        for name, fields in merged.items():
            mapped = {path: notes for path, notes in fields.items() if path} or fields
            paths = ", ".join(f"`{path}`" if path else "–" for path in mapped)
            notes = dict.fromkeys(note for each in mapped.values() for note in each if note)
            lines.append(f"| `{name}` | {paths} | {'; '.join(notes).replace('|', '/')} |")
        lines.append("")
    return "\n".join(lines)


def test_page_lists_every_parameter(tmp_path: Path):
    text = PAGE.read_text()
    head = text[: text.index(MARK) + len(MARK)] + "\n"
    made = head + tables(tmp_path).rstrip() + "\n"
    if os.environ.get("SSDLAB_BLESS"):
        PAGE.write_text(made)
    assert made == PAGE.read_text(), "SSDLAB_BLESS=1 writes the page anew"


def test_page_has_the_figures_of_its_experiment(tmp_path: Path):
    """The table of docs/guide/coming_from.md: the same drive and scenario in MQSim's files, at two depths."""
    page = (PAGE.parent / "coming_from.md").read_text()
    drive = ssdlab.import_drive(EXAMPLE).drive
    scenario = (EXAMPLE.parent / "mqsim-scenario.xml").read_text()
    deep = ssdlab.run(drive, ssdlab.Workload.from_text(scenario), precondition="fill")
    read = deep.latency["read"]
    for shown in (f"{deep.summary['throughput']['iops']:,.0f}", f"{read.mean_ns / 1000:.1f} us", f"{read.p99_ns / 1000:.1f} us"):
        assert f"| not measured | {shown} |" in page or f"| not in its results | {shown} |" in page, shown
    alone = scenario.replace("Queue>32<", "Queue>1<").replace("50000", "10000")
    causes = ssdlab.run(drive, ssdlab.Workload.from_text(alone), precondition="fill").summary["causes"]["read"]
    assert set(causes) == {"link", "bus_command", "sense", "transfer"}, "a read alone waits for nothing"
    for cause, time_ns in causes.items():
        assert f"| {time_ns / 1000:.2f} us |" in page, cause
