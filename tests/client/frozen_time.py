"""Processes on a frozen clock: it stands still while any of them works.

When all wait, it jumps to the moment at which the first of them wants to go on: hours pass in
seconds, and no request is on its way during a jump.
"""

import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from adanalytics_server.clock import Clock

HOUR = 3_600_000

FROZEN = """
import sys

class Frozen:
    now = 0.0
    def begin(self):
        self.now = float(sys.stdin.readline())
    def time(self):
        return self.now
    def monotonic(self):
        return self.now
    def sleeping(self, until):
        print(until, flush=True)
        self.now = float(sys.stdin.readline())
        return ()
    def running(self, change):
        pass
"""
"""The clock of such a process, as the beginning of its program; `begin` waits to be told first."""


@dataclass
class Worker:
    """A process that tells until when it wants to sleep, and waits to be told the time."""

    process: subprocess.Popen[str]
    until: float = 0.0

    @classmethod
    def start(cls, command: list[str], environment: dict[str, str]) -> Self:
        """Start one; its errors are those of this process."""
        return cls(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )
        )

    def wake(self, now: float) -> None:
        """Tell the time."""
        assert self.process.stdin
        self.process.stdin.write(f"{now!r}\n")
        self.process.stdin.flush()

    def works_on(self) -> bool:
        """Wait until it sleeps; False when it has ended instead."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        self.until = float(line or 0)
        return bool(line)


def run_all(
    workers: list[Worker], clock: Clock, before_jump: Callable[[], None] = lambda: None
) -> list[int]:
    """Let all of them work until they end, the server's clock in step, and give how they ended."""
    now = clock.milliseconds() / 1000
    working, everyone = list(workers), list(workers)
    while everyone:
        for worker in working:
            worker.wake(now)
        everyone = [each for each in everyone if each not in working or each.works_on()]
        before_jump()
        now = min((each.until for each in everyone), default=now)
        clock.set(datetime.fromtimestamp(now, UTC))
        working = [each for each in everyone if each.until <= now]
    for worker in workers:
        worker.process.communicate()
    return [worker.process.returncode for worker in workers]


def most_in_an_hour(moments: Iterable[int]) -> int:
    """The most of these moments, in ms, that any hour holds."""
    moments = sorted(moments)
    most = begin = 0
    for number, moment in enumerate(moments):
        while moments[begin] <= moment - HOUR:
            begin += 1
        most = max(most, number - begin + 1)
    return most
