"""Devices: drives with contents in simulated time, and what is left of them by losses of power."""

from __future__ import annotations

import errno
import random

import pytest

import ssdlab

#: A drive with a volatile write buffer.
BUFFERED = {"buffer.policy": "write_back", "buffer.capacity": "256KiB", "buffer.flush_after": "1ms"}


@pytest.mark.parametrize("in_file", [False, True])
def test_what_was_written_is_read(in_file, tmp_path):
    folder = tmp_path if in_file else None
    device = ssdlab.Device("tiny", set=BUFFERED, precondition="steady", contents_folder=folder)
    generator, expected = random.Random(1), bytearray(1 << 20)
    for _ in range(2000):
        at, length = 512 * generator.randrange(1900), 512 * generator.randrange(1, 100)
        if generator.random() < 0.5:
            data = generator.randbytes(length)
            device.write(at, data)
            expected[at : at + length] = data
        else:
            assert device.read(at, length).data == expected[at : at + length]
    assert device.read(0, 1 << 20).data == expected
    kept, beside = device.contents_bytes
    assert kept > 1 << 20
    assert beside < kept / 20 + (1 << 19)
    assert not list(tmp_path.iterdir()), "the file has no name"


def test_the_same_calls_have_the_same_answers():
    def answers():
        device = ssdlab.Device("tiny", set=BUFFERED, seed=7, call="3us")
        found = [device.write(4096 * n, bytes([n]) * 8192) for n in range(50)]
        device.spend("2ms")
        found += device.batch([("read", 4096 * n, 4096) for n in range(50)])
        return [(answer.data, answer.latency_ns, answer.causes) for answer in found], device.now

    first = answers()
    assert first == answers()
    assert all(sum(causes.values()) == latency for _, latency, causes in first[0])


def test_the_time_of_the_program_passes():
    device = ssdlab.Device("tiny", set={"buffer.policy": "none"}, call="3us")
    took = device.write(0, bytes(4096)).latency_ns
    assert device.now == 3000 + took
    device.spend(17)
    device.spend("1us")
    assert device.now == 4017 + took


def test_a_batch_is_served_side_by_side():
    one, many = (ssdlab.Device("tiny", precondition="fill") for _ in range(2))
    reads = [("read", 4096 * n, 4096) for n in range(4)]
    for request in reads:
        one.read(*request[1:])
    many.batch(reads)
    assert many.now < one.now / 2


def test_after_a_loss_of_power_flushed_data_is_there():
    device = ssdlab.Device("tiny", set=BUFFERED)
    device.write(0, b"1" * 4096)
    device.flush()
    device.write(4096, b"3" * 4096, durable=True)
    device.write(0, b"2" * 4096)
    device.cut()
    for call in (lambda: device.read(0, 512), device.flush, lambda: device.spend(1), lambda: device.batch([("flush",)])):
        with pytest.raises(ssdlab.PowerLossError, match="has lost power") as raised:
            call()
        assert raised.value.errno == errno.ENODEV
    found = device.recover("2s")
    assert found["durable_lost"] == 0
    assert found["volatile_lost"] == 1
    assert found["recovery_reads"] > 0
    assert device.read(0, 4096).data == b"1" * 4096
    assert device.read(4096, 4096).data == b"3" * 4096
    assert device.now > 2e9


def test_a_watch_sees_each_event_and_an_exception_ends_the_call():
    device, found = ssdlab.Device("tiny", set={"buffer.policy": "none"}), []
    device.write(0, b"1" * 4096)
    device.watch(lambda other, recovery: found.append((other.read(0, 4096).data[:1], recovery["torn_pages"])))
    device.write(0, b"2" * 4096)
    assert {first for first, _ in found} == {b"1", b"2"}
    device.batch([("write", 4096 * n, b"3" * 4096) for n in range(1, 20)])
    assert max(torn for _, torn in found) > 1, "programs are torn while others end"
    assert device.read(0, 4096).data == b"2" * 4096, "the device itself goes on"

    def fails(other, recovery):
        raise RuntimeError("seen enough")

    device.watch(fails, every=2)
    with pytest.raises(RuntimeError, match="seen enough"):
        device.write(4096, b"4" * 4096)
    assert device.read(4096, 4096).data == b"4" * 4096, "the watch is over, and the write was served"
    device.watch(lambda other, recovery: device.now)
    with pytest.raises(ssdlab.InputError, match="another call on the device is under way"):
        device.write(8192, b"4" * 4096)
    device.watch(None)
    device.write(8192, b"5" * 4096)
    with pytest.raises(ssdlab.InputError, match=r"every: 0: expected a number of events from 1 on"):
        device.watch(fails, every=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda device: device.read(0, 100), r"read: offset 0, length 100: expected multiples of 512 bytes"),
        (lambda device: device.read(0, 0), r"read: length 0: expected 1 or more sectors"),
        (lambda device: device.write(1 << 40, bytes(512)), r"expected an end of at most 111845376, the user bytes"),
        (lambda device: device.spend("2 parsecs"), r"spend: .*parsecs"),
        (lambda device: device.spend(-1), r"spend: -1: expected a duration such as"),
        (lambda device: device.batch([("read", 0)]), r"batch: \('read', 0\): expected \("),
        (lambda device: device.batch([("write", 0, bytes(4096)), ("read", 1, 1)]), r"expected multiples of 512"),
        (lambda device: ssdlab.Device("tiny", set={"ftl.translation": "waf"}), r"contents need a map of the data"),
        (lambda device: ssdlab.Device("tinny"), r"did you mean `tiny`"),
        (lambda device: ssdlab.Device("tiny", max_memory="much"), r"max.memory.*much"),
        (lambda device: ssdlab.Device("tiny", contents_folder="nowhere"), r"nowhere: .*: expected a folder for the contents"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(call, message):
    device = ssdlab.Device("tiny")
    with pytest.raises(ssdlab.InputError, match=message):
        call(device)
    assert device.now == 0
    assert device.read(0, 4096).data == bytes(4096)


@pytest.mark.parametrize("in_file", [False, True])
def test_contents_stay_below_their_limit(in_file, tmp_path):
    device = ssdlab.Device("tiny", max_memory="64KiB", contents_folder=tmp_path if in_file else None)
    device.batch([("write", 4096 * n, bytes([n + 1]) * 4096) for n in range(16)])
    with pytest.raises(ssdlab.DeviceError, match="the contents would take more than 64 KiB") as raised:
        device.write(1 << 20, b"x" * 4096)
    assert raised.value.errno == errno.ENOSPC
    device.write(1 << 20, bytes(1 << 20))
    device.write(1 << 20, bytes([5]) * 4096)
    assert device.read(1 << 20, 4096).data == bytes([5]) * 4096, "equal units take space once, and zeroes none"


def test_contents_in_a_file_are_not_forked(tmp_path):
    device = ssdlab.Device("tiny", contents_folder=tmp_path)
    with pytest.raises(ssdlab.InputError, match="the contents are in a file, of which there is one"):
        device.watch(lambda other, recovery: None)
    device.write(0, b"1" * 4096, durable=True)
    device.write(0, b"2" * 4096)
    device.cut()
    assert device.recover()["durable_lost"] == 0
    assert device.read(0, 4096).data in (b"1" * 4096, b"2" * 4096)
