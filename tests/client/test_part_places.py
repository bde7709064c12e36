"""What happens to a part, or to its target, while the file is arriving."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store, ranges

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

Meanwhile = Callable[[Callable[[Path], None]], Store]


@pytest.fixture
def meanwhile(stand_in: StandIn, say: type[Say], tmp_path: Path) -> Meanwhile:
    """Break the file off once and then do something in its folder before the rest is sent."""

    def arrange(happens: Callable[[Path], None]) -> Store:
        store = Store(say, cuts=[12])
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
    (folder / "out.csv.part").write_bytes(b"begun by another")
    (folder / "out.csv.part.json").write_text("the other's note")


def test_a_download_leaves_the_part_of_another_alone(
    world: World, meanwhile: Meanwhile, tmp_path: Path
) -> None:
    meanwhile(_another_begins)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while") as caught:
        world.call("export", *DAYS, to=tmp_path / "out.csv")
    assert caught.value.part is None
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "out.csv.part": "begun by another",
        "out.csv.part.json": "the other's note",
    }


def test_a_download_that_starts_afresh_leaves_the_note_of_another_alone(
    world: World, meanwhile: Meanwhile, tmp_path: Path
) -> None:
    def changes(folder: Path) -> None:
        _another_begins(folder)
        store.etag, store.content = '"v2"', FILE * 2

    store = meanwhile(changes)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        world.call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv.part.json").read_text() == "the other's note"


def _link(folder: Path) -> None:
    (folder / "out.csv.part").rename(folder / "victim")
    (folder / "out.csv.part").symlink_to(folder / "victim")


@pytest.mark.parametrize("happens", [lambda folder: (folder / "out.csv.part").unlink(), _link])
def test_a_part_that_is_gone_or_a_link_never_becomes_the_target(
    world: World, meanwhile: Meanwhile, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    meanwhile(happens)
    (tmp_path / "out.csv").write_bytes(b"old")
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        world.call("export", *DAYS, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    assert not (tmp_path / "out.csv").is_symlink()


def test_a_folder_that_is_gone_is_told(world: World, meanwhile: Meanwhile, tmp_path: Path) -> None:
    meanwhile(shutil.rmtree)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        world.call("export", *DAYS, to=tmp_path / "out.csv")


def test_a_file_that_cannot_get_its_name_is_kept(
    open_world: OpenWorld, meanwhile: Meanwhile, stand_in: StandIn, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    meanwhile(lambda _: target.mkdir(mode=0o755))
    with pytest.raises(errors.DownloadError, match=r"could not be named .*directory") as caught:
        open_world().call("export", *DAYS, to=target)
    assert caught.value.part == f"{target}.part"
    assert (tmp_path / "out.csv.part").read_bytes() == FILE
    target.rmdir()
    stand_in.asked.clear()
    open_world().call("export", *DAYS, to=target)
    assert ranges(stand_in) == [f"bytes={len(FILE) - 1}-"]
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_of_several_files_the_one_that_cannot_get_its_name_is_told(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    store = Store(say, answer={"files": ["/a.csv", "/b.csv"], "download_url": None})

    def script(asked: Asked) -> Say:
        if asked.path == "/b.csv":
            (tmp_path / "a.csv").mkdir()
        return store(asked)

    stand_in.script = script
    with pytest.raises(errors.DownloadError, match=r"could not be named .*a\.csv") as caught:
        world.call("export", *DAYS, to=tmp_path)
    assert caught.value.part == str(tmp_path / "a.csv.part")


@pytest.mark.parametrize("cuts", [[12, 12], []], ids=["broken off", "whole"])
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path, cuts: list[int]
) -> None:
    """What a child has of an open file is what `dup` makes: one lock, until both are closed."""
    store, part, held = Store(say, cuts=[*cuts]), tmp_path / "out.csv.part", list[int]()

    def script(asked: Asked) -> Say:
        if asked.method == "GET" and not held:
            held.append(os.dup(_descriptor_of(part)))
        return store(asked)

    stand_in.script = script
    try:
        if cuts:
            with pytest.raises(errors.DownloadError, match="broke off"):
                open_world(retry=ONCE).call("export", *DAYS, to=tmp_path / "out.csv")
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")
        open_world().call("export", *DAYS, to=tmp_path / "out.csv")
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


@contextmanager
def _few_descriptors(more: int) -> Iterator[None]:
    """This process can open no more than so many files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = len(list(Path("/dev/fd").iterdir())) + more
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_more_files_than_can_be_open_are_told_before_anything_is_fetched(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    store = Store(say, answer={"files": [f"/{n}.csv" for n in range(60)], "download_url": None})
    stand_in.script = store
    job = world.call("start_export", *DAYS)
    told = r"60 files, .* may have \d+ .* `ulimit -n \d+`"
    with _few_descriptors(50), pytest.raises(errors.ConfigurationError, match=told):
        world.on(job, "download", tmp_path)
    assert len(stand_in.asked) == 1
    assert list(tmp_path.iterdir()) == []
    with _few_descriptors(100):
        world.on(job, "download", tmp_path)
    assert len(list(tmp_path.iterdir())) == 60
