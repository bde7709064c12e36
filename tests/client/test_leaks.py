"""Soon after a pull was left, however it was left, nothing of it is there any more."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.stand_in import Asked, Say, StandIn

SCRIPT = Path(__file__).parent / "leak_scenario.py"


@pytest.fixture
def slow(stand_in: StandIn) -> Iterator[StandIn]:
    """Of the events only the first page is answered; all others hang until the test is over."""
    gate = threading.Event()

    def script(asked: Asked) -> Say:
        if asked.path.endswith("/dates"):
            return Say({"dates": []})
        first = (asked.query.get("hour"), asked.query["page"]) == ("0", "1")
        return Say({"events": [{"event_id": "e"}], "has_more": False}, gate=None if first else gate)

    stand_in.script = script
    yield stand_in
    gate.set()


@pytest.mark.parametrize(
    ("variant", "way"),
    [
        *(("sync", way) for way in ("break", "exception", "interrupt", "waiting")),
        *(("async", way) for way in ("break", "exception", "interrupt", "waiting", "cancel")),
    ],
)
def test_nothing_is_left(slow: StandIn, variant: str, way: str) -> None:
    command = [sys.executable, str(SCRIPT), slow.url, variant, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "pulling\n"
        if way in {"interrupt", "waiting"}:
            process.send_signal(signal.SIGINT)
        left = json.loads(process.stdout.readline())
    assert left == {"threads": [], "tasks": 0, "sockets": 0}
