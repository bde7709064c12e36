"""The exact window of 3,600 seconds, whoever sends, and the file of its log."""

import asyncio
import contextlib
import logging
import os
import resource
import shutil
import sqlite3
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Say, StandIn
from tests.programs import run_program

from adanalytics_client import AsyncClient, Client, QuotaPolicy, errors
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._quota.store import QuotaStore
from adanalytics_client._quota.window import Moment, Permit, Quota, Wait

ANSWER = ResponseHead(200, {})


@dataclass
class Machine:
    """True time, and the two clocks that a process can see: one may be set, one restarts."""

    true: float = 1_000_000.0
    set_by: float = 0.0
    started: float = 0.0

    def now(self) -> Moment:
        return Moment(self.true + self.set_by, self.true - self.started)


def quota_of(
    machine: Machine, limit: int | None, *, reserve: int = 0, store: QuotaStore | None = None
) -> Quota:
    return Quota(limit, reserve=reserve, store=store or QuotaStore(None), now=machine.now)


def sent(quota: Quota) -> Permit:
    leave = quota.take()
    assert isinstance(leave, Permit)
    return leave


def held(quota: Quota) -> float:
    leave = quota.take()
    assert isinstance(leave, Wait)
    return leave.seconds


def test_nothing_is_held_too_long() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    quota.settle(sent(quota), ANSWER)
    machine.true += 10
    quota.settle(sent(quota), ANSWER)
    machine.true += 10
    assert held(quota) == 3580.0
    assert quota.state().remaining == 0
    machine.true += 3580
    assert quota.state().remaining == 1
    sent(quota)


def test_requests_on_their_way_count_until_they_must_have_arrived() -> None:
    machine = Machine()
    quota = quota_of(machine, 1)
    sent(quota)
    machine.true += 3600
    assert held(quota) == 300.0
    machine.true += 300
    sent(quota)


def test_a_request_without_an_answer_counts_until_it_must_have_arrived() -> None:
    """A timeout does not end a request that waits in a proxy: it may count five minutes later."""
    machine = Machine()
    quota = quota_of(machine, 1)
    lost = sent(quota)
    machine.true += 20
    quota.settle(lost, None)
    assert held(quota) == 3600 + 300 - 20
    machine.true += 3600 + 280
    answered = sent(quota)
    machine.true += 20
    quota.settle(answered, ANSWER)
    assert held(quota) == 3600


def test_less_left_at_the_service_is_believed_until_its_window_frees_up() -> None:
    machine, store = Machine(), QuotaStore(None)
    quota, other = (quota_of(machine, 1000, store=store) for _ in range(2))
    machine.true += 1
    quota.settle(sent(quota), ResponseHead(200, {"ratelimit": '"hour";r=1;t=60'}))
    assert other.state().remaining == 1
    machine.true += 1
    sent(other)
    machine.true += 1
    assert held(quota) == 58.0
    machine.true += 58
    sent(quota)


def test_what_is_on_its_way_is_taken_off_what_the_service_says() -> None:
    quota = quota_of(Machine(), 1000)
    first, second, _ = sent(quota), sent(quota), sent(quota)
    quota.settle(second, ResponseHead(200, {"ratelimit": '"hour";r=10;t=60'}))
    assert quota.state().remaining == 8
    quota.settle(first, ResponseHead(200, {"ratelimit": '"hour";r=9;t=60'}))
    assert quota.state().remaining == 8


def test_a_reserve_is_left_to_others() -> None:
    machine, store = Machine(), QuotaStore(None)
    job = quota_of(machine, 10, reserve=4, store=store)
    person = quota_of(machine, 10, store=store)
    for _ in range(3):
        job.settle(sent(job), ANSWER)
        person.settle(sent(person), ANSWER)
    assert (job.state().remaining, person.state().remaining) == (0, 4)
    assert held(job) == 3600.0
    person.settle(sent(person), ResponseHead(200, {"ratelimit": '"hour";r=3;t=60'}))
    assert person.state().remaining == 3


def test_a_reserve_is_kept_by_the_count_of_the_service_too() -> None:
    quota = quota_of(Machine(), 1000, reserve=200)
    quota.settle(sent(quota), ResponseHead(200, {"ratelimit": '"hour";r=201;t=1800'}))
    assert quota.state().remaining == 1
    sent(quota)
    assert held(quota) == 1800.0


def test_a_hold_is_news_once_and_holds_everybody() -> None:
    machine, store = Machine(), QuotaStore(None)
    quota, other = quota_of(machine, None, store=store), quota_of(machine, 5, store=store)
    assert quota.hold(100).is_new
    machine.true += 1
    assert not quota.hold(99).is_new
    machine.true += 49
    leave = quota.take()
    assert isinstance(leave, Wait)
    assert (leave.seconds, leave.is_new) == (50.0, False)
    assert held(other) == 50.0
    assert other.state().resumes_at is not None
    machine.true += 50
    sent(quota)
    sent(other)


def test_a_mistaken_hold_ends_for_others_after_an_hour() -> None:
    machine, store = Machine(), QuotaStore(None)
    assert quota_of(machine, 5, store=store).hold(1e9).seconds == 1e9
    assert held(quota_of(machine, 5, store=store)) == 3600.0


def test_an_answer_after_the_send_was_forgotten_still_counts() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    slow = sent(quota)
    machine.true += 4000
    # Another send, which must not lose its place in the log to the late answer.
    quick = sent(quota)
    quota.settle(slow, ANSWER)
    quota.settle(quick, ANSWER)
    assert held(quota) == 3600.0


def test_setting_the_clock_changes_nothing() -> None:
    machine = Machine()
    quota = quota_of(machine, 1)
    quota.settle(sent(quota), ANSWER)
    for machine.set_by in (7200.0, -7200.0):
        assert held(quota) == 3600.0
    assert quota.state().remaining == 0


def test_after_a_restart_of_the_machine_the_wall_clock_counts() -> None:
    machine = Machine()
    quota = quota_of(machine, 2)
    for _ in range(2):
        quota.settle(sent(quota), ANSWER)
        machine.true += 100
    machine.started = machine.true
    assert held(quota) == 3400.0
    machine.true += 3400
    assert quota.state().remaining == 1


DATES = {"dates": ["2026-01-15"]}


def only_file(folder: Path) -> Path:
    (path,) = folder.rglob("*.sqlite3")
    return path


def counting(stand_in: StandIn, folder: Path, *, limit: int) -> Client:
    return Client(
        stand_in.url,
        api_key="k",
        partner="acme",
        quota=QuotaPolicy(on_limit="raise", limit=limit, log=folder),
    )


def test_the_file_is_private_named_by_a_hash_and_counts_in_the_next_run(bench: Bench) -> None:
    bench.says(Say(DATES))
    for run in range(3):
        variant = bench.open(quota=QuotaPolicy(limit=3, on_limit="raise"), api_key="aak_secret")
        assert variant.client.quota.remaining == 3 - run
        variant.call("dates")
    with pytest.raises(errors.QuotaExceeded):
        bench.open(quota=QuotaPolicy(limit=3, on_limit="raise"), api_key="aak_secret").call("dates")
    assert bench.open(quota=QuotaPolicy(limit=3), api_key="aak_other").client.quota.remaining == 3
    folder = Path(os.environ["XDG_STATE_HOME"]) / "adanalytics" / "quota"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.glob("*.sqlite3"))) == 2
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        assert "secret" not in path.name
        assert b"secret" not in path.read_bytes()


def test_a_login_counts_by_its_email_and_a_partner_does_not_matter(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.says(login=[Say({"token": "t-1"})], dates=[Say(DATES)])
    left = []
    for name in ("acme", "other"):
        with Client(
            stand_in.url,
            email="Jo@x.example",
            password=name,
            partner=name,
            quota=QuotaPolicy(log=tmp_path),
        ) as client:
            client.dates()
            left.append(client.quota.remaining)
    assert left == [999, 998]
    only_file(tmp_path)


def test_in_memory_nothing_is_written(bench: Bench) -> None:
    bench.says(Say(DATES))
    variant = bench.open(quota=QuotaPolicy(limit=3, log="memory"))
    variant.call("dates")
    assert variant.client.quota.remaining == 2
    assert not list(Path(os.environ["XDG_STATE_HOME"]).iterdir())


def test_a_429_holds_the_others_too(bench: Bench) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "120"}), Say(DATES))
    with pytest.raises(errors.RateLimited):
        bench.open(quota=QuotaPolicy(on_limit="raise")).call("dates")
    until = datetime.fromtimestamp(bench.clock.now + 120, tz=UTC)
    other = bench.open(quota=QuotaPolicy(on_limit="raise", reserve=10))
    assert other.client.quota.resumes_at == until
    with pytest.raises(errors.QuotaExceeded) as caught:
        other.call("dates")
    assert caught.value.resumes_at == until
    assert len(bench.asked) == 1
    bench.open().call("dates")
    assert bench.clock.sleeps == [120.0]


def test_threads_and_tasks_of_several_clients_share_one_limit(
    stand_in: StandIn, clock: MovedClock, tmp_path: Path
) -> None:
    stand_in.says(Say(DATES))
    options: dict[str, Any] = {
        "api_key": "k",
        "partner": "acme",
        "quota": QuotaPolicy(limit=10, on_limit="raise", log=tmp_path),
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
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("not a folder")
    bench.says(Say(DATES))
    variant = bench.open(quota=QuotaPolicy(limit=3, log=tmp_path / "state" / "deeper"))
    variant.call("dates")
    variant.call("dates")
    assert variant.client.quota.remaining == 1
    (told,) = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert "cannot be used" in told
    assert "client counts its requests alone" in told
    assert "used up" not in told


@pytest.mark.parametrize("spare", range(4))
def test_a_failure_that_may_pass_sends_nothing_and_is_tried_again(
    stand_in: StandIn, tmp_path: Path, spare: int
) -> None:
    """To count alone from then on would let twice the limit through."""
    stand_in.says(Say(DATES))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with counting(stand_in, tmp_path, limit=2) as client:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, before[1]))
        try:
            with pytest.raises(errors.TransportError, match=r"at the moment: .*try later"):
                client.dates()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert not stand_in.asked
        for _ in range(2):
            client.dates()
        with pytest.raises(errors.QuotaExceeded):
            client.dates()


def damaged(path: Path, how: str) -> None:
    content = path.read_bytes()
    page = len(content) - 4096
    path.write_bytes(
        {
            "its head": b"\xff" * 100 + content[100:],
            "its last page": content[:page] + bytes(4096),
            "cut": content[:page],
            "something else": b"hello\n" * 50,
            "emptied": b"",
        }[how]
    )


@pytest.mark.parametrize("how", ["its head", "its last page", "cut", "something else", "emptied"])
def test_a_damaged_file_counts_as_full_for_an_hour(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    bench.says(Say(DATES))
    with counting(bench.stand_in, tmp_path, limit=50) as client:
        for _ in range(5):
            client.dates()
    damaged(only_file(tmp_path), how)
    first, second = (
        bench.open(api_key="k", quota=QuotaPolicy(limit=50, on_limit="raise", log=tmp_path))
        for _ in range(2)
    )
    for variant in (first, second):
        with pytest.raises(errors.QuotaExceeded):
            variant.call("dates")
    (message,) = caplog.messages
    assert "was damaged; all requests of this hour count as used up" in message
    bench.clock.now += 3600
    assert [variant.client.quota.remaining for variant in (first, second)] == [50, 50]


def on_a_full_disk(script: str, *words: str) -> str:
    """Run a script in a process that can write no byte to a file."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    return run_program([sys.executable, "-B", "-c", limit + script, *words], check=True).stderr


LAST_SEND = """
import sys
from pathlib import Path
from adanalytics_client import Client, QuotaExceeded, QuotaPolicy
quota = QuotaPolicy(limit=4, on_limit="raise", log=Path(sys.argv[2]))
with Client(sys.argv[1], api_key="k", partner="acme", quota=quota) as client:
    assert client.quota.remaining == 1, client.quota
    client.dates()
    try:
        client.dates()
    except QuotaExceeded:
        print("used up", file=sys.stderr)
"""


@pytest.mark.parametrize("state", ["closed", "killed", "larger"])
def test_a_full_disk_leaves_the_count_of_before(
    stand_in: StandIn, tmp_path: Path, state: str
) -> None:
    """Also where the journal of a run that was killed holds a part of it, or pages are larger."""
    stand_in.says(Say(DATES))
    with counting(stand_in, tmp_path / "closed", limit=4) as client:
        for _ in range(3):
            client.dates()
        shutil.copytree(tmp_path / "closed", tmp_path / "killed")
    shutil.copytree(tmp_path / "closed", tmp_path / "larger")
    for log in (tmp_path / "larger").glob("*.sqlite3"):
        with contextlib.closing(sqlite3.connect(log)) as connection:
            connection.executescript("PRAGMA journal_mode=DELETE; PRAGMA page_size=4096; VACUUM")
            assert connection.execute("PRAGMA page_size").fetchone() == (4096,)
    folder = tmp_path / state
    assert bool(list(folder.glob("*-wal"))) is (state == "killed")
    for run in range(2):
        told = on_a_full_disk(LAST_SEND, stand_in.url, str(folder))
        warning, end = told.splitlines()
        assert "counts its requests alone" in warning
        assert "Free some space" in warning
        assert end == "used up"
        assert len(stand_in.asked) == 4 + run


def test_a_log_that_cannot_be_read_is_an_error(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To wait an hour for a quota that is there would help nobody."""
    # As for a user without permission; root may read everything.
    monkeypatch.setattr("adanalytics_client._quota.store._may_pass", lambda *_: False)
    stand_in.says(Say(DATES))
    with counting(stand_in, tmp_path, limit=4) as client:
        client.dates()
    path = only_file(tmp_path)
    Path(f"{path}-wal").mkdir()
    with counting(stand_in, tmp_path, limit=4) as client:
        for _ in range(2):
            with pytest.raises(errors.TransportError, match="free some space on the disk"):
                client.dates()
        Path(f"{path}-wal").rmdir()
        client.dates()
        assert client.quota.remaining == 2


def test_without_a_home_folder_the_client_counts_alone(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with Client(stand_in.url, api_key="k", partner="acme") as client:
        assert client.quota.remaining == 1000
    assert caplog.messages == ["No home folder is known; this client counts its requests alone."]
