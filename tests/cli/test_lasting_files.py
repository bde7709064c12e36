"""What a command reports as done is on the disk: bytes, names, and new folders."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import Run

from adanalytics_server.local import LocalServer

DAY = "2026-01-15"
COMMANDS = [
    f"events {DAY} --hour 3 -o day.jsonl",
    f"events {DAY} --hour 3 -o day.parquet",
    f"summary {DAY} -f csv -o summary.csv",
    f"summary {DAY} -f json -o summary.json",
    f"export {DAY} -o export.csv",
    "login --api-key-stdin",
    f"sync {DAY} --to new/events",
]
# Made anew when they are lost, or, as the history of runs, of no use to the next run.
SCRATCH = {"quota", "scratch", "journal", "spool", "__pycache__", "runs.json"}


class Disk:
    """Watches which new names a power cut would lose."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, folders: bool = True) -> None:
        self._folders = folders
        self._real = os.fsync, os.replace, os.mkdir
        self._synced_files: set[int] = set()
        self.unsynced: set[Path] = set()
        self.renamed: list[Path] = []
        for name in ("fsync", "replace", "mkdir"):
            monkeypatch.setattr(os, name, getattr(self, name))

    def fsync(self, opened: int) -> None:
        found = os.fstat(opened)
        if not stat.S_ISDIR(found.st_mode):
            self._synced_files.add(found.st_ino)
        elif not self._folders:
            raise OSError(errno.EINVAL, "Invalid argument")
        folder = Path(f"/proc/self/fd/{opened}").resolve()
        self.unsynced -= {each for each in self.unsynced if each.parent == folder}
        self._real[0](opened)

    def replace(self, path: Any, target: Any) -> None:
        if Path(path).is_file() and not SCRATCH & {*Path(target).parts}:
            assert Path(path).stat().st_ino in self._synced_files, target
        self._real[1](path, target)
        self.unsynced.add(Path(target).resolve())
        self.renamed.append(Path(target))

    def mkdir(self, path: Any, *options: Any, **named: Any) -> None:
        self._real[2](path, *options, **named)
        self.unsynced.add(Path(path).resolve())

    def lost(self, below: Path) -> set[Path]:
        made = {each for each in self.unsynced if each.exists() and below in each.parents}
        return {each for each in made if not SCRATCH & {*each.parts}}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_power_cut_loses_nothing_that_was_reported(
    run: Run, service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folder)
    disk = Disk(monkeypatch)
    done = run(*command.split(), stdin=f"{service.api_key}\n")
    assert done.exit_code == 0, done.stderr
    assert disk.renamed
    assert not disk.lost(below=folder.parent)


def test_a_file_system_that_syncs_no_folders_is_enough(
    run: Run, service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Disk(monkeypatch, folders=False)
    done = run("events", DAY, "--hour", "3", "-o", "day.jsonl")
    assert done.exit_code == 0, done.stderr
