"""On a file system without flock commands go on, with one remark."""

import errno
import fcntl
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import Run

from adanalytics_client._base import locks
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"


def refuse_locks(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: Any) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(fcntl, "flock", flock)
    # Folders of earlier tests may have had the same name.
    monkeypatch.setattr(locks, "_FOLDERS_WITHOUT_LOCKS", set())


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EBADF])
@pytest.mark.parametrize(
    ("command", "where"),
    [
        (f"sync {DAY} --to events", "events/_adanalytics"),
        (f"export {DAY} -o export.csv", "."),
        ("login --api-key-stdin", "../state/adanalytics"),
    ],
    ids=["sync", "export", "login"],
)
def test_commands_go_on_with_one_remark(
    run: Run,
    service: LocalServer,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    command: str,
    where: str,
    number: int,
) -> None:
    monkeypatch.chdir(folder)
    refuse_locks(monkeypatch, number)
    for _ in range(2):
        done = run(*command.split(), stdin=f"{service.api_key}\n")
        assert done.exit_code == 0, done.stderr
    place = (folder / where).resolve()
    told = [each for each in caplog.records if "has no locks" in each.getMessage()]
    assert [f"{place} has no locks" in each.getMessage() for each in told].count(True) == 1


def test_another_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refuse_locks(monkeypatch, errno.EIO)
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="not here"):
        locks.lock(file, tmp_path, wait=False)
