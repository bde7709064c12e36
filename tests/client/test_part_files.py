"""What an earlier run left on the disk: damaged, changed, whole already, or without room."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store, break_off, ranges

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn

NOTE = "out.csv.part.json"


@pytest.fixture
def store(stand_in: StandIn, say: type[Say]) -> Store:
    made = Store(say)
    stand_in.script = made
    return made


def _spoil(**changes: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        note = json.loads((folder / NOTE).read_text())
        (folder / NOTE).write_text(json.dumps(note | changes))

    return spoil


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / NOTE).unlink(),
        lambda folder: (folder / NOTE).write_bytes(b'{"form": 1, "sour'),
        lambda folder: (folder / NOTE).write_bytes(b"\xff" * 40_000),
        lambda folder: (folder / NOTE).write_bytes(b"[]"),
        _spoil(form=2),
        _spoil(validator='"v1"\r\nX-Evil: 1'),
        _spoil(validator=5),
        _spoil(total="many"),
        _spoil(total=5),
        lambda folder: (folder / "out.csv.part").write_bytes(FILE * 2),
    ],
)
def test_a_damaged_note_means_a_fresh_start(
    open_world: OpenWorld,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    damage: Callable[[Path], None],
) -> None:
    break_off(open_world(retry=ONCE), store, tmp_path / "out.csv")
    damage(tmp_path)
    stand_in.asked.clear()
    open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert ranges(stand_in) == [None]
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_part_that_changed_on_the_disk_is_noticed_by_its_checksum(
    open_world: OpenWorld, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.answer = {"sha256": hashlib.sha256(FILE).hexdigest()}
    break_off(open_world(retry=ONCE), store, tmp_path / "out.csv")
    (tmp_path / "out.csv.part").write_bytes(bytes(12))
    stand_in.asked.clear()
    open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert ranges(stand_in) == ["bytes=12-", None]


def test_a_part_that_is_whole_asks_for_its_last_byte(
    open_world: OpenWorld, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    """Killed between the last byte and the rename."""
    break_off(open_world(retry=ONCE), store, tmp_path / "out.csv")
    (tmp_path / "out.csv.part").write_bytes(FILE)
    stand_in.asked.clear()
    open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert ranges(stand_in) == [f"bytes={len(FILE) - 1}-"]
    assert (tmp_path / "out.csv").read_bytes() == FILE


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file of this process can become larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_file_and_what_fits(
    open_world: OpenWorld, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.content = b"0123456789abcdef" * 16_384
    (tmp_path / "out.csv").write_bytes(b"old")
    with small_disk(100_000), pytest.raises(OSError, match="File too large"):
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    kept = (tmp_path / "out.csv.part").stat().st_size
    assert 0 < kept <= 100_000
    stand_in.asked.clear()
    open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == store.content
    assert ranges(stand_in) == [f"bytes={kept}-"]


def test_a_folder_that_cannot_be_written(
    open_world: OpenWorld, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "out.csv.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv.part"]


@pytest.mark.parametrize("name", ["out.csv.part", ".out.csv.part.json.tmp", "out.csv.part.json"])
@pytest.mark.parametrize("planted_at", ["first", "between"])
def test_nothing_behind_a_planted_link_is_written(
    open_world: OpenWorld,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    name: str,
    planted_at: str,
) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    folder.mkdir()
    victim.write_bytes(b"precious")
    if planted_at == "between":
        break_off(open_world(retry=ONCE), store, folder / "out.csv")
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    stand_in.asked.clear()
    if name == "out.csv.part":
        with pytest.raises(errors.ConfigurationError, match=r"out\.csv\.part is a link"):
            open_world().call("export", *DAYS, to=folder / "out.csv")
        assert stand_in.asked == []
    else:
        open_world().call("export", *DAYS, to=folder / "out.csv")
        assert (folder / "out.csv").read_bytes() == FILE
        assert not (folder / "out.csv").is_symlink()
    assert victim.read_bytes() == b"precious"


def test_a_pipe_in_the_place_of_a_part_or_its_note(
    open_world: OpenWorld, store: Store, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / NOTE)
    open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    os.mkfifo(tmp_path / "out.csv.part")
    with pytest.raises(errors.ConfigurationError, match="is a device or a pipe"):
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")


def _permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("mode", "meanwhile"), [(0o600, 0o600), (0o444, 0o644), (0o666, 0o644)])
def test_a_file_that_is_replaced_keeps_its_permissions(
    open_world: OpenWorld, store: Store, tmp_path: Path, mode: int, meanwhile: int
) -> None:
    """And nobody reads meanwhile who may not read it, also what an earlier run left."""
    target, part = tmp_path / "out.csv", tmp_path / "out.csv.part"
    before = os.umask(0o022)
    try:
        break_off(open_world(retry=ONCE), store, target)
        assert _permissions(part) == 0o644
        target.touch()
        target.chmod(mode)
        break_off(open_world(retry=ONCE), store, target, 14)
        assert _permissions(part) == meanwhile
        open_world().call("export", *DAYS, to=target)
    finally:
        os.umask(before)
    assert _permissions(target) == mode
    assert target.read_bytes() == FILE


def test_a_place_that_cannot_be_written_is_told_before_anything_is_ordered(
    open_world: OpenWorld, stand_in: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "out.csv.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere" / "real.csv")
    with pytest.raises(errors.ConfigurationError, match=r"folder .*nowhere does not exist"):
        open_world().call("export", *DAYS, to=tmp_path / "link.csv")
    with pytest.raises(OSError, match=re.escape("/proc/")):
        open_world().call("export", *DAYS, to="/proc/out.csv")
    with pytest.raises(OSError, match=re.escape("/proc/")):
        open_world().call("export", *DAYS, to="/proc")
    assert stand_in.asked == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.csv", "out.csv.part"]


def test_a_download_sees_its_place_before_it_waits(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say({"status": "pending", "status_url": "/status"}, status=202))
    world = open_world()
    job = world.call("start_export", *DAYS)
    (tmp_path / "out.csv.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        world.on(job, "download", tmp_path / "out.csv")
    assert len(stand_in.asked) == 1


def test_seeing_that_a_place_can_be_written_leaves_no_trace(
    open_world: OpenWorld, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    break_off(open_world(retry=ONCE), store, tmp_path / "out.csv")
    left = sorted(tmp_path.iterdir())
    stand_in.script = lambda _: store.say({"error": "not now"}, status=400)
    for target in (tmp_path / "out.csv", tmp_path / "new.csv", tmp_path):
        with pytest.raises(errors.InvalidRequest):
            open_world().call("export", *DAYS, to=target)
    assert sorted(tmp_path.iterdir()) == left
    assert (tmp_path / "out.csv.part").read_bytes() == FILE[:12]
