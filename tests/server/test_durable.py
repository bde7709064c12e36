"""What a load reports as stored has a name that a power cut leaves."""

import os
from pathlib import Path

import pytest

from adanalytics_server.local import LocalServer, Sample


def test_the_folder_of_each_new_name_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    data = tmp_path / "new" / "data"
    with LocalServer(data=data, sample=Sample(events_per_day=24)):
        pass
    named = (tmp_path, tmp_path / "new", data, data / "partners")
    assert {path.stat().st_ino for path in named} <= synced
