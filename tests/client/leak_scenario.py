"""Leave a pull early in one of several ways, then print what is still left after a while.

python leak_scenario.py URL sync|async break|exception|interrupt|cancel|waiting

The last one is interrupted from outside, too, but in an hour's wait for quota.
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from adanalytics_client import AsyncClient, Client, Observer, QuotaPolicy
from adanalytics_client.observers import WaitStarted

DAY = "2026-01-15"


def reached(way: str) -> bool:
    """With the first event in hand, while other requests hang; True to break the loop.

    The signal and the cancellation come from outside, while the next event is waited for.
    """
    print("pulling", flush=True)
    if way == "exception":
        raise ZeroDivisionError
    return way == "break"


class Waiting(Observer):
    """Says when a wait begins."""

    def wait(self, info: WaitStarted) -> None:  # noqa: ARG002  # the name is the observer's
        print("pulling", flush=True)


def pull(url: str, way: str, options: dict[str, Any]) -> None:
    with Client(url, **options) as client:
        if way == "waiting":
            client.dates()
            client.dates()
        for _event in client.events(DAY):
            if reached(way):
                break


async def pull_async(url: str, way: str, options: dict[str, Any]) -> int:
    async def work() -> None:
        async with AsyncClient(url, **options) as client:
            if way == "waiting":
                await client.dates()
                await client.dates()
            async for _event in client.events(DAY):
                if reached(way):
                    break
                if way == "cancel":
                    asyncio.get_running_loop().call_later(0.05, task.cancel)

    task = asyncio.ensure_future(work())
    await asyncio.gather(task, return_exceptions=way not in {"interrupt", "waiting"})
    gc.collect()
    await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


def sockets() -> list[str]:
    links = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(each.readlink()))
        except OSError:
            continue
    return [link for link in links if link.startswith("socket:")]


def main() -> None:
    url, variant, way = sys.argv[1:]
    options: dict[str, Any] = {
        "api_key": "k",
        "partner": "acme",
        "quota": QuotaPolicy(log="memory"),
    }
    if way == "waiting":
        options |= {"quota": QuotaPolicy(limit=1, log="memory"), "observer": Waiting()}
    before, tasks = len(sockets()), 0
    try:
        if variant == "sync":
            pull(url, way, options)
        else:
            tasks = asyncio.run(pull_async(url, way, options))
    except (ZeroDivisionError, KeyboardInterrupt) as error:
        # A traceback would keep the frames of the pull.
        error.__traceback__ = None
    # A second is enough on a machine of one's own. The service never answers what is left, so
    # ten prove as much, and a busy machine cannot fail them.
    until = time.monotonic() + 10
    while time.monotonic() < until and (threading.active_count() > 1 or len(sockets()) > before):
        time.sleep(0.01)
    threads = [each.name for each in threading.enumerate()][1:]
    left = {"threads": threads, "tasks": tasks, "sockets": len(sockets()) - before}
    print(json.dumps(left), flush=True)
    # A thread that hangs is the failure; it must not hang the test as well.
    os._exit(0)


if __name__ == "__main__":
    main()
