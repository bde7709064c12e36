"""The part of a file on the disk: left by an earlier run, or changed while the file arrives."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store, break_off, ranges
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import errors

NOTE = "out.csv.part.json"


@pytest.fixture
def store(stand_in: StandIn) -> Store:
    made = Store()
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
    open_variant: OpenVariant,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    damage: Callable[[Path], None],
) -> None:
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    damage(tmp_path)
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert ranges(stand_in) == [None]
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_part_that_changed_on_the_disk_is_noticed_by_its_checksum(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.answer = {"sha256": hashlib.sha256(FILE).hexdigest()}
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    (tmp_path / "out.csv.part").write_bytes(bytes(12))
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert ranges(stand_in) == ["bytes=12-", None]


def test_a_part_that_is_whole_asks_for_its_last_byte(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    """Killed between the last byte and the rename."""
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    (tmp_path / "out.csv.part").write_bytes(FILE)
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
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
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.content = FILE + b"1,0.5\r\n" * 40_000
    (tmp_path / "out.csv").write_bytes(b"old")
    with small_disk(100_000), pytest.raises(OSError, match="File too large"):
        open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    kept = (tmp_path / "out.csv.part").stat().st_size
    assert 0 < kept <= 100_000
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == store.content
    assert ranges(stand_in) == [f"bytes={kept}-"]


@pytest.mark.parametrize("name", ["out.csv.part", ".out.csv.part.json.tmp", "out.csv.part.json"])
@pytest.mark.parametrize("planted_at", ["first", "between"])
def test_nothing_behind_a_planted_link_is_written(
    open_variant: OpenVariant,
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
        break_off(open_variant(retry=ONCE), store, folder / "out.csv")
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    stand_in.asked.clear()
    if name == "out.csv.part":
        with pytest.raises(errors.ConfigurationError, match=r"out\.csv\.part is a link"):
            open_variant().call("export", *DAYS, to=folder / "out.csv", check="none")
        assert stand_in.asked == []
    else:
        open_variant().call("export", *DAYS, to=folder / "out.csv", check="none")
        assert (folder / "out.csv").read_bytes() == FILE
        assert not (folder / "out.csv").is_symlink()
    assert victim.read_bytes() == b"precious"


def test_a_pipe_in_the_place_of_a_part_or_its_note(
    open_variant: OpenVariant, store: Store, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / NOTE)
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    os.mkfifo(tmp_path / "out.csv.part")
    with pytest.raises(errors.ConfigurationError, match="is a device or a pipe"):
        open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")


def _permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("mode", "meanwhile"), [(0o600, 0o600), (0o444, 0o644), (0o666, 0o644)])
def test_a_file_that_is_replaced_keeps_its_permissions(
    open_variant: OpenVariant, store: Store, tmp_path: Path, mode: int, meanwhile: int
) -> None:
    """And nobody reads meanwhile who may not read it, also what an earlier run left."""
    target, part = tmp_path / "out.csv", tmp_path / "out.csv.part"
    before = os.umask(0o022)
    try:
        break_off(open_variant(retry=ONCE), store, target)
        assert _permissions(part) == 0o644
        target.touch()
        target.chmod(mode)
        break_off(open_variant(retry=ONCE), store, target, 14)
        assert _permissions(part) == meanwhile
        open_variant().call("export", *DAYS, to=target, check="none")
    finally:
        os.umask(before)
    assert _permissions(target) == mode
    assert target.read_bytes() == FILE


def test_an_unwritable_path_is_an_error_before_anything_is_ordered(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "out.csv.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere" / "real.csv")
    with pytest.raises(errors.ConfigurationError, match=r"folder .*nowhere does not exist"):
        open_variant().call("export", *DAYS, to=tmp_path / "link.csv", check="none")
    with pytest.raises(OSError, match=re.escape("/proc/")):
        open_variant().call("export", *DAYS, to="/proc/out.csv", check="none")
    with pytest.raises(OSError, match=re.escape("/proc/")):
        open_variant().call("export", *DAYS, to="/proc", check="none")
    assert stand_in.asked == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.csv", "out.csv.part"]


def test_a_download_checks_its_path_before_it_waits(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.says(Say({"status": "pending", "status_url": "/status"}, status=202))
    variant = open_variant()
    job = variant.call("start_export", *DAYS)
    (tmp_path / "out.csv.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        variant.on(job, "download", tmp_path / "out.csv", check="none")
    assert len(stand_in.asked) == 1


def test_checking_a_path_leaves_no_trace(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    left = sorted(tmp_path.iterdir())
    stand_in.script = lambda _: Say({"error": "not now"}, status=400)
    for target in (tmp_path / "out.csv", tmp_path / "new.csv", tmp_path):
        with pytest.raises(errors.InvalidRequest):
            open_variant().call("export", *DAYS, to=target, check="none")
    assert sorted(tmp_path.iterdir()) == left
    assert (tmp_path / "out.csv.part").read_bytes() == FILE[:12]


Meanwhile = Callable[[Callable[[Path], None]], Store]


@pytest.fixture
def meanwhile(stand_in: StandIn, tmp_path: Path) -> Meanwhile:
    """Break the file off once and then do something in its folder before the rest is sent."""

    def arrange(happens: Callable[[Path], None]) -> Store:
        store = Store(cuts=[12])
        waiting = [happens]

        def script(asked: Asked) -> Say:
            if asked.headers.get("range") and waiting:
                waiting.pop()(tmp_path)
            return store(asked)

        stand_in.script = script
        return store

    return arrange


def _another_begins(folder: Path) -> None:
    """The part was deleted by hand, and another process began with the same name."""
    (folder / "out.csv.part").unlink()
    (folder / "out.csv.part").write_bytes(b"written by another")
    (folder / "out.csv.part.json").write_text("the other's note")


def test_a_download_leaves_the_part_of_another_alone(
    variant: Variant, meanwhile: Meanwhile, tmp_path: Path
) -> None:
    meanwhile(_another_begins)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while") as caught:
        variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert caught.value.part is None
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "out.csv.part": "written by another",
        "out.csv.part.json": "the other's note",
    }


def test_a_download_that_starts_afresh_leaves_the_note_of_another_alone(
    variant: Variant, meanwhile: Meanwhile, tmp_path: Path
) -> None:
    def changes(folder: Path) -> None:
        _another_begins(folder)
        serving.etag, serving.content = '"v2"', FILE * 2

    serving = meanwhile(changes)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv.part.json").read_text() == "the other's note"


def _link(folder: Path) -> None:
    (folder / "out.csv.part").rename(folder / "victim")
    (folder / "out.csv.part").symlink_to(folder / "victim")


@pytest.mark.parametrize("happens", [lambda folder: (folder / "out.csv.part").unlink(), _link])
def test_a_part_that_is_gone_or_a_link_never_becomes_the_target(
    variant: Variant, meanwhile: Meanwhile, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    meanwhile(happens)
    (tmp_path / "out.csv").write_bytes(b"old")
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    assert not (tmp_path / "out.csv").is_symlink()


def test_a_folder_that_is_gone_is_an_error(
    variant: Variant, meanwhile: Meanwhile, tmp_path: Path
) -> None:
    meanwhile(shutil.rmtree)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")


def test_a_file_that_cannot_get_its_name_is_kept(
    open_variant: OpenVariant, meanwhile: Meanwhile, stand_in: StandIn, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    meanwhile(lambda _: target.mkdir(mode=0o755))
    with pytest.raises(errors.DownloadError, match=r"could not be named .*directory") as caught:
        open_variant().call("export", *DAYS, to=target, check="none")
    assert caught.value.part == f"{target}.part"
    assert (tmp_path / "out.csv.part").read_bytes() == FILE
    target.rmdir()
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=target, check="none")
    assert ranges(stand_in) == [f"bytes={len(FILE) - 1}-"]
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_of_several_files_the_error_names_the_one_in_the_way(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    store = Store(answer={"files": ["/a.csv", "/b.csv"], "download_url": None})

    def script(asked: Asked) -> Say:
        if asked.path == "/b.csv":
            (tmp_path / "a.csv").mkdir()
        return store(asked)

    stand_in.script = script
    with pytest.raises(errors.DownloadError, match=r"could not be named .*a\.csv") as caught:
        variant.call("export", *DAYS, to=tmp_path, check="none")
    assert caught.value.part == str(tmp_path / "a.csv.part")


@pytest.mark.parametrize("cuts", [[12, 12], []], ids=["broken off", "whole"])
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: Path, cuts: list[int]
) -> None:
    """What a child has of an open file is what `dup` makes: one lock, until both are closed."""
    store, part, held = Store(cuts=[*cuts]), tmp_path / "out.csv.part", list[int]()

    def script(asked: Asked) -> Say:
        if asked.method == "GET" and not held:
            held.append(os.dup(_descriptor_of(part)))
        return store(asked)

    stand_in.script = script
    try:
        if cuts:
            with pytest.raises(errors.DownloadError, match="ended after"):
                open_variant(retry=ONCE).call(
                    "export", *DAYS, to=tmp_path / "out.csv", check="none"
                )
        open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
        open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    finally:
        for each in held:
            os.close(each)
    assert len(held) == 1
    assert (tmp_path / "out.csv").read_bytes() == FILE


def _descriptor_of(path: Path) -> int:
    for each in Path("/dev/fd").iterdir():
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(each.name)), path.stat()):
                return int(each.name)
    raise AssertionError
