"""What an earlier run left on the disk: damaged, changed, whole already, or without room."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store, break_off, ranges

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
