"""The file of the quota's log: shared by clients, private, or done without."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import AsyncClient, Client, _quota_store, errors
from adanalytics_client._quota_records import HEAD_SIZE, RECORD_SIZE

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, OpenWorld, Say, StandIn

DATES = {"dates": ["2026-01-15"]}


def only_file(folder: Path) -> Path:
    (path,) = folder.rglob("*.log")
    return path


def counting(stand_in: StandIn, folder: Path, *, limit: int) -> Client:
    return Client(
        stand_in.url, api_key="k", partner="acme", on_limit="raise", limit=limit, quota_log=folder
    )


def test_the_file_is_private_named_by_a_hash_and_counts_in_the_next_run(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(DATES))
    for run in range(3):
        world = open_world(limit=3, on_limit="raise", api_key="aak_secret")
        assert world.client.quota.remaining == 3 - run
        world.call("dates")
    with pytest.raises(errors.QuotaExceeded):
        open_world(limit=3, on_limit="raise", api_key="aak_secret").call("dates")
    assert open_world(limit=3, api_key="aak_other").client.quota.remaining == 3
    state = Path(os.environ["XDG_STATE_HOME"])
    (path,) = [each for each in state.rglob("*.log") if each.stat().st_size > HEAD_SIZE]
    assert path.parent == state / "adanalytics" / "quota"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "secret" not in path.name
    assert b"secret" not in path.read_bytes()
    assert path.stat().st_size == HEAD_SIZE + 3 * RECORD_SIZE


def test_a_login_counts_by_its_email_and_a_partner_does_not_matter(
    stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(login=[say({"token": "t-1"})], dates=[say(DATES)])
    left = []
    for name in ("acme", "other"):
        with Client(
            stand_in.url, email="Jo@x.example", password=name, partner=name, quota_log=tmp_path
        ) as client:
            client.dates()
            left.append(client.quota.remaining)
    assert left == [999, 998]
    only_file(tmp_path)


def test_in_memory_nothing_is_written(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(DATES))
    world = open_world(limit=3, quota_log="memory")
    world.call("dates")
    assert world.client.quota.remaining == 2
    assert not list(Path(os.environ["XDG_STATE_HOME"]).iterdir())


def test_a_429_holds_the_others_too(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says(say(status=429, headers={"Retry-After": "120"}), say(DATES))
    with pytest.raises(errors.RateLimited):
        open_world(on_limit="raise").call("dates")
    until = datetime.fromtimestamp(clock.now + 120, tz=UTC)
    other = open_world(on_limit="raise", reserve=10)
    assert other.client.quota.resumes_at == until
    with pytest.raises(errors.QuotaExceeded) as caught:
        other.call("dates")
    assert caught.value.resumes_at == until
    assert len(stand_in.asked) == 1
    open_world().call("dates")
    assert clock.sleeps == [120.0]


def test_threads_and_tasks_of_several_clients_share_one_limit(
    stand_in: StandIn, say: type[Say], clock: MovedClock, tmp_path: Path
) -> None:
    stand_in.says(say(DATES))
    options: dict[str, Any] = {
        "api_key": "k",
        "partner": "acme",
        "limit": 10,
        "on_limit": "raise",
        "quota_log": tmp_path,
        "clock": clock,
    }

    async def tasks() -> None:
        async with AsyncClient(stand_in.url, **options) as client:
            await asyncio.gather(*[client.dates() for _ in range(6)], return_exceptions=True)

    def threads() -> None:
        with Client(stand_in.url, **options) as client:

            def ask() -> None:
                with contextlib.suppress(errors.QuotaExceeded):
                    client.dates()

            _run_all([ask] * 6)

    _run_all([threads, lambda: asyncio.run(tasks())] * 2)
    assert len(stand_in.asked) == 10


def _run_all(works: list[Any]) -> None:
    running = [threading.Thread(target=work) for work in works]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def test_without_a_folder_the_client_counts_alone_and_says_so_once(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "state").write_text("not a folder")
    stand_in.says(say(DATES))
    world = open_world(limit=3, quota_log=tmp_path / "state" / "deeper")
    world.call("dates")
    world.call("dates")
    assert world.client.quota.remaining == 1
    (told,) = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert "cannot be used" in told
    assert "counted by this client alone" in told


def test_a_file_that_others_may_read_becomes_private_again(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """As a copy from a backup may be."""
    stand_in.says(say(DATES))
    open_world(limit=5, quota_log=tmp_path).call("dates")
    path = only_file(tmp_path)
    path.chmod(0o666)
    world = open_world(limit=5, quota_log=tmp_path)
    world.call("dates")
    assert path.stat().st_mode & 0o777 == 0o600
    assert world.client.quota.remaining == 3


def test_a_file_that_has_another_name_too_is_not_taken_for_the_one_that_replaced_it(
    stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """As after a backup by hard links, where a larger limit then needs a larger file."""
    stand_in.says(say(DATES))
    with (
        counting(stand_in, tmp_path / "quota", limit=3) as first,
        counting(stand_in, tmp_path / "quota", limit=4) as second,
    ):
        first.dates()
        (tmp_path / "backup").hardlink_to(only_file(tmp_path))
        second.dates()
        first.dates()
        with pytest.raises(errors.QuotaExceeded):
            first.dates()
        second.dates()
        with pytest.raises(errors.QuotaExceeded):
            second.dates()


def test_a_log_whose_folder_was_moved_away_is_begun_anew_by_all(
    stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say(DATES))
    with (
        counting(stand_in, tmp_path / "quota", limit=2) as first,
        counting(stand_in, tmp_path / "quota", limit=2) as second,
    ):
        first.dates()
        (tmp_path / "quota").rename(tmp_path / "moved")
        second.dates()
        first.dates()
        for each in (first, second):
            with pytest.raises(errors.QuotaExceeded):
                each.dates()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_something_else_than_a_file_is_neither_read_nor_waited_for(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    stand_in.says(say(DATES))
    open_world(limit=5, quota_log=tmp_path / "log").call("dates")
    path = only_file(tmp_path / "log")
    path.unlink()
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").write_bytes(b"x" * 300)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    world = open_world(limit=5, quota_log=tmp_path / "log")
    world.call("dates")
    assert world.client.quota.remaining == 4
    (told,) = caplog.messages
    assert "counted by this client alone" in told


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE])
def test_a_passing_failure_sends_nothing_and_is_tried_again(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    """To count alone from then on would let twice the limit through."""
    stand_in.says(say(DATES))
    open_world(limit=2, on_limit="raise").call("dates")
    world = open_world(limit=2, on_limit="raise")
    with monkeypatch.context() as broken:
        broken.setattr(_quota_store, "_opened", raising(OSError(number, os.strerror(number))))
        with pytest.raises(errors.TransportError, match=os.strerror(number)):
            world.call("dates")
        assert len(stand_in.asked) == 1
    world.call("dates")
    with pytest.raises(errors.QuotaExceeded):
        world.call("dates")
    assert len(stand_in.asked) == 2


def raising(error: OSError) -> Callable[[Path], int]:
    def fail(_path: Path) -> int:
        raise error

    return fail
