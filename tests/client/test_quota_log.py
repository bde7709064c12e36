"""The log of sends in its file: it grows, is damaged, removed, killed at, and counts every send."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adanalytics_client._quota import Hold, Quota, Sent
from adanalytics_client._quota_log import SendLog
from adanalytics_client._quota_records import HEAD_SIZE, RECORD_SIZE, Moment
from adanalytics_client._quota_store import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_disk_that_fills_up_loses_no_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = _quota(tmp_path / "one.log", limit=3)
    quota.settle(_sent(quota), None)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    for _ in range(2):
        quota.settle(_sent(quota), None)
    assert isinstance(quota.take(), Hold)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "head": lambda content: b"\xff" * 20 + content[20:],
    "all": lambda content: bytes(len(content)),
    "one record": lambda content: content[:170] + b"\xff" + content[171:],
    "cut": lambda content: content[: -RECORD_SIZE - 3],
    "longer": lambda content: b"\xff" + content[1:] + bytes(40),
    "something else": lambda _: b"hello\n" * 50,
    "cut in its head": lambda content: content[:60],
    "a word": lambda _: b"hello\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_read_counts_as_sent_now(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path, hour = tmp_path / "one.log", [0.0]
    quota = _quota(path, limit=6, hour=hour)
    for _ in range(3):
        quota.settle(_sent(quota), None)
    hour[0] = 0.5
    for _ in range(2):
        quota.settle(_sent(quota), None)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    again = _quota(path, limit=6, hour=hour)
    hour[0] = 0.6
    assert sum(isinstance(again.take(), Sent) for _ in range(7)) <= 1
    hour[0] = 1.05
    remaining = again.state().remaining
    assert remaining is not None
    assert remaining <= 4
    assert any("is damaged" in each for each in caplog.messages)
    hour[0] = 2.2
    assert again.state().remaining == 6


def test_a_larger_limit_gets_a_larger_log_and_nothing_is_forgotten(tmp_path: Path) -> None:
    small = _quota(tmp_path / "one.log", limit=3)
    waiting = [_sent(small) for _ in range(3)]
    large = _quota(tmp_path / "one.log", limit=8)
    assert large.state().remaining == 5
    for each in waiting:
        small.settle(each, None)
    for _ in range(5):
        _sent(large)
    assert isinstance(large.take(), Hold)
    assert isinstance(small.take(), Hold)
    assert (tmp_path / "one.log").stat().st_size == HEAD_SIZE + 8 * RECORD_SIZE


def test_a_log_that_somebody_removed_is_begun_anew_by_all(tmp_path: Path) -> None:
    quota, other = (_quota(tmp_path / "one.log", limit=3) for _ in range(2))
    for each in (quota, other):
        _sent(each)
    (tmp_path / "one.log").unlink()
    _sent(quota)
    assert other.state().remaining == 2


def test_a_forked_child_does_not_share_the_lock(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "one.log")
    store.run(lambda blocks: blocks.write(0, b""))
    before = store._file
    assert before is not None
    before.process = -1
    store.run(lambda blocks: blocks.write(0, b""))
    assert store._file is not before


def test_a_kill_between_record_and_head_sends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now = tmp_path / "one.log", Moment(1e9, 1e4)
    quota = _quota(path, limit=2)
    for _ in range(2):
        quota.settle(_sent(quota), None)
    FileStore(path).run(lambda blocks: SendLog.open(blocks, now, capacity=2).append())
    hour = [1.1]
    again = _quota(path, limit=2, hour=hour)
    assert again.state().remaining == 2
    assert [type(again.take()) for _ in range(3)] == [Sent, Sent, Hold]
    assert caplog.messages == []


HAMMER = """
import sys
from pathlib import Path
from adanalytics_client._clock import SystemClock
from adanalytics_client._quota import Quota
from adanalytics_client._quota_records import Moment
from adanalytics_client._quota_store import FileStore
clock = SystemClock()
now = lambda: Moment(clock.time(), clock.monotonic())
quota = Quota(400, reserve=0, store=FileStore(Path(sys.argv[1])), now=now)
while True:
    sent = quota.take()
    print(getattr(sent, "number", "held"), flush=True)
    if hasattr(sent, "number"):
        quota.settle(sent, None)
"""


def test_killed_at_any_instant_the_log_is_whole_and_counts_every_send(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two processes write as fast as they can and are killed, again and again."""
    path, seen, chance = tmp_path / "one.log", list[str](), random.Random(7)
    for _ in range(4):
        command = [sys.executable, "-c", HAMMER, str(path)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 60)):
                seen.append(process.stdout.readline().strip())
            process.kill()
        for process in processes:
            seen.extend(each for each in process.communicate()[0].split("\n")[:-1] if each)
    told = [int(each) for each in seen if each != "held"]
    numbers = set(told)
    assert len(told) == len(numbers)
    blocks = FileStore(path)
    head = blocks.run(lambda each: SendLog.open(each, _now(), capacity=400).head)
    assert len(numbers) <= head.following <= 400
    # Of each process one send may have been noted and not told.
    assert head.following - len(numbers) <= 8
    assert numbers <= set(range(head.following))
    assert caplog.messages == []


def _now() -> Moment:
    return Moment(time.time(), time.monotonic())


def _quota(path: Path, *, limit: int, hour: list[float] | None = None) -> Quota:
    hour = hour or [0.0]
    return Quota(
        limit,
        reserve=0,
        store=FileStore(path),
        now=lambda: Moment(1e9 + hour[0] * 3600, 1e4 + hour[0] * 3600),
    )


def _sent(quota: Quota) -> Sent:
    leave = quota.take()
    assert isinstance(leave, Sent)
    return leave
