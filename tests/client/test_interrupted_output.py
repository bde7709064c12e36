"""A process that ends in the middle of a file leaves what was there before."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.client.stand_in import Asked, Say, StandIn

from adanalytics_client import Client

PROGRAM = """
import sys
from adanalytics_client import Client
with Client(sys.argv[1], api_key="k", partner="acme") as client:
    client.events("2026-01-15", split="none", per_page=1).write(sys.argv[2])
"""


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.csv", "x.parquet"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_old_file_stays(
    stand_in: StandIn, tmp_path: Path, name: str, how: signal.Signals
) -> None:
    gate, second = threading.Event(), threading.Event()

    def script(asked: Asked) -> Say:
        if asked.query["page"] == "1":
            return Say({"events": [{"event_id": "e"}], "has_more": True})
        second.set()
        return Say({"events": []}, gate=gate)

    stand_in.script = script
    path = tmp_path / name
    path.write_text("old")
    command = [sys.executable, "-c", PROGRAM, stand_in.url, str(path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        assert second.wait(30)
        process.send_signal(how)
        assert process.wait(30) != 0
    gate.set()
    assert path.read_text() == "old"
    if how is signal.SIGKILL:
        # The next run removes the part that this one could not.
        with Client(stand_in.url, api_key="k", partner="acme") as client:
            client.events("2026-01-15", split="none", per_page=1).write(path)
    assert [each.name for each in tmp_path.iterdir()] == [name]
