"""Energy and power of the flash: results, files, report, and bad input."""

import pytest

import ssdlab

POWER = {
    "supply": "3.3V",
    "idle": "10uA",
    "read": {"kind": "constant", "current": "12mA"},
    "program": {"kind": "pulses", "base": "2mA", "peak": "20mA", "width": "20us", "period": "100us"},
    "erase": {"kind": "constant", "current": "9mA"},
}
READ_UA, SUPPLY_MV, IDLE_UA = 12_000, 3_300, 10
JOB = "[j]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=1500\n"


def drive(**changes):
    return ssdlab.Drive.from_dict({"base": "tiny", "power": {**POWER, **changes}})


@pytest.fixture(scope="module")
def result():
    return ssdlab.run(drive(), ssdlab.Workload.from_text(JOB), precondition="fill")


def pulses(begin, end):
    """Yields the pieces of a program that is not suspended: start, end, current."""
    for at in range(begin, end, 100_000):
        yield at, min(at + 20_000, end), 20_000
        yield min(at + 20_000, end), min(at + 100_000, end), 2_000


def test_the_timeline_gives_the_energy_to_the_last_digit(tmp_path):
    path = tmp_path / "timeline.gz"
    run = ssdlab.run(drive(), ssdlab.Workload.from_text(JOB), precondition="fill", timeline=path)
    table = ssdlab.read_timeline(path)
    arrays = [row for row in table.to_pylist() if row["track"].startswith("array ")]
    assert {row["name"] for row in arrays} == {"read 0", "program 0"}
    charge = IDLE_UA * 4 * run.simulated_ns
    for row in arrays:
        begin, end = row["begin_ns"], row["end_ns"]
        pieces = [(begin, end, READ_UA)] if row["name"] == "read 0" else pulses(begin, end)
        charge += sum((current - IDLE_UA) * (last - first) for first, last, current in pieces)
    energy = run.summary["energy"]
    assert int(energy["flash_aj"]) == charge * SUPPLY_MV
    assert energy["flash_j"] == energy["total_j"] == pytest.approx(charge * SUPPLY_MV * 1e-18)
    assert energy["mean_w"] == pytest.approx(energy["total_j"] / (run.simulated_ns * 1e-9))
    assert energy["parts"] == ["flash"]
    assert energy["dram_j"] is None


def test_power_is_in_tables_files_and_the_report(result, tmp_path):
    table = result.power_table()
    assert max(table["peak_w"].to_pylist()) == result.summary["energy"]["peak_w"]
    again = ssdlab.load_result(result.save(tmp_path / "out"))
    assert again.power_table().equals(table)
    page = result.report()
    assert again.report() == page
    assert "<h3>Power</h3>" in page
    assert 'Plotly.newPlot("figure-power"' in page
    both = ssdlab.compare(drive(), ssdlab.Workload.from_text(JOB), ["baseline", "all_fast"], precondition="fill")
    assert "<h3>Power</h3>" in both.report()
    # Half the program time: half the pulses.
    slow, fast = (run.summary["energy"]["by_operation"]["program"] for run in both.runs)
    assert fast == pytest.approx(slow / 2)


def test_a_drive_without_currents_has_no_power():
    plain = ssdlab.run("tiny", ssdlab.Workload.from_text(JOB))
    assert plain.power_table() is None
    assert "<h3>Power</h3>" not in plain.report()
    with pytest.raises(ssdlab.InputError, match="power: not computed: expected a drive with a section"):
        plain.to_arrow("power")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"read": {"kind": "constant", "current": "-3mA"}}, "negative"),
        ({"read": {"kind": "constant", "current": "3"}}, "without a unit"),
        ({"program": {"kind": "pulses", "base": "1mA", "peak": "9mA", "width": "2us", "period": "2us"}}, "shorter pulses"),
        ({"program": {"kind": "steps", "length": "1us", "steps": []}}, "0 steps"),
        ({"program": {"kind": "file", "file": "nowhere.csv"}}, "nowhere.csv"),
        ({"program": [{"kind": "constant", "current": "1mA"}] * 2}, "2 waveforms"),
        ({"erase": {"kind": "sine"}}, "sine"),
        ({"window": "5ns"}, "expected 100ns to 1ms"),
        ({"supply": "230V"}, "expected 1mV to 20V"),
    ],
)
def test_bad_currents_are_refused(change, told):
    with pytest.raises(ssdlab.InputError, match=told) as caught:
        ssdlab.run(drive(**change), ssdlab.Workload.from_text(JOB))
    assert "power." in str(caught.value)


def test_a_waveform_comes_from_a_file_beside_the_description(tmp_path, cli, examples):
    (tmp_path / "program.csv").write_text("time_us,current_ma\n0,5\n300,20\n600,0\n")
    text = 'base = "tiny"\n[power]\nsupply = "3.3V"\nidle = "0uA"\nread = { kind = "constant", current = "1mA" }\n'
    text += 'program = { kind = "file", file = "program.csv" }\nerase = { kind = "constant", current = "1mA" }\n'
    (tmp_path / "d.toml").write_text(text)
    run = ssdlab.run(tmp_path / "d.toml", ssdlab.Workload.from_text("[j]\nrw=write\nbs=4k\nnumber_ios=7\n"))
    assert int(run.summary["energy"]["flash_aj"]) == 7 * (5_000 * 300_000 + 20_000 * 300_000) * 3_300
    assert "current_ma" not in run.drive_toml
    (tmp_path / "program.csv").write_text("time_us,current_ma\n0,5\n-300,20\n600,0\n")
    done = cli("run", tmp_path / "d.toml", examples / "randwrite.fio")
    assert done.returncode == 2
    assert "program.csv:3: time `-300`" in done.stderr


def test_a_cap_limits_the_power_of_every_window():
    plain = ssdlab.run(drive(), ssdlab.Workload.from_text(JOB), precondition="fill")
    capped = ssdlab.run(drive(), ssdlab.Workload.from_text(JOB), precondition="fill", power_cap="100mW")
    assert max(capped.power_table()["peak_w"].to_pylist()) <= 0.1 < plain.summary["energy"]["peak_w"]
    cap = capped.summary["energy"]["cap"]
    # The least: one die draws 20 mA, and three draw 10 uA.
    assert (cap["cap_w"], cap["counts"], cap["least_w"]) == (0.1, ["flash"], pytest.approx((20_000 + 30) * 3.3e-6))
    assert cap["waits"] > 100
    assert plain.summary["energy"]["cap"] is None
    assert capped.simulated_ns > plain.simulated_ns
    assert capped.summary["causes"]["read"]["power_wait"] > 0
    with pytest.raises(ssdlab.InputError, match=r"power_cap: 60mW: expected at least 0\.066099 W"):
        ssdlab.run(drive(), ssdlab.Workload.from_text(JOB), power_cap="60mW")
    with pytest.raises(ssdlab.InputError, match="power_cap: the drive describes no currents"):
        ssdlab.run("tiny", ssdlab.Workload.from_text(JOB), power_cap="3W")


PARTS = {
    "host": {"interface": {"kind": "nvme", "generation": 4, "lanes": 4}},
    "controller": {"firmware": {"kind": "cores", "count": 2}, "dram": {"kind": "bandwidth", "rate": "3GB/s"}},
}
POWER_OF_PARTS = {
    "dram": {
        "supply": "1.5V",
        "devices": 2,
        "idd0": "130mA",
        "idd2n": "70mA",
        "idd3n": "90mA",
        "idd4r": "255mA",
        "idd4w": "300mA",
        "idd5": "305mA",
    },
    "cores": {"active": "100mW", "idle": "10mW"},
    "link": {"to_device": "300mW", "to_host": "310mW", "idle": "100mW"},
    "static": {"power": "200mW"},
}


def whole(**changes):
    return ssdlab.Drive.from_dict({"base": "tiny", **PARTS, "power": {**POWER, **POWER_OF_PARTS, **changes}})


def test_parts_follow_from_the_utilisation_of_their_resources():
    run = ssdlab.run(whole(), ssdlab.Workload.from_text(JOB), precondition="fill")
    energy, span = run.summary["energy"], run.simulated_ns
    busy = {name: round(share * span) for name, share in run.summary["utilisation"].items()}
    cores = busy["core_0"] + busy["core_1"]
    assert int(energy["core_aj"]) == (cores * 100 + (2 * span - cores) * 10) * 10**6
    carried = busy["link_to_device"] * 300 + busy["link_to_host"] * 310
    idle = (2 * span - busy["link_to_device"] - busy["link_to_host"]) * 100
    assert int(energy["link_aj"]) == (carried + idle) * 10**6
    assert int(energy["dram_aj"]) == (187_500 * busy["dram"] + 90_000 * span) * 1_500 * 2
    assert int(energy["static_aj"]) == span * 200 * 10**6
    assert energy["parts"] == ["flash", "dram", "core", "link", "static"]
    assert int(energy["total_aj"]) == sum(int(energy[f"{part}_aj"]) for part in energy["parts"])
    assert energy["ecc_j"] is None
    assert energy["interconnect_j"] is None
    assert sum(map(int, energy["by_die_aj"])) == sum(map(int, energy["by_channel_aj"])) == int(energy["flash_aj"])
    host_bytes = 4096 * run.summary["latency"]["all"]["count"]
    assert energy["per_host_byte_j"] == pytest.approx(energy["total_j"] / host_bytes)
    page = run.report()
    assert 'Plotly.newPlot("figure-components"' in page
    assert "encoders and decoders" not in page


def test_a_drive_of_flash_alone_has_no_figure_of_parts(result):
    assert "figure-components" not in result.report()


def test_powers_of_parts_that_do_not_suit_the_drive_are_refused(tmp_path, cli, examples):
    with pytest.raises(ssdlab.InputError, match=r"power\.ecc: stored data has no errors"):
        ssdlab.run(whole(ecc={"encode": "1nJ", "decode": "1nJ"}), ssdlab.Workload.from_text(JOB))
    text = 'base = "ssdpower-16x8"\n[power.static]\npower = "-1W"\n[power.heater]\npower = "1W"\n'
    (tmp_path / "d.toml").write_text(text)
    done = cli("run", tmp_path / "d.toml", examples / "randwrite.fio", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "power: unknown field `heater`" in done.stderr
    assert 'power.static.power: "-1W": a negative value' in done.stderr
    assert not (tmp_path / "out").exists()
