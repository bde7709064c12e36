"""Where a dataset may be made: in a new or an empty place, never among the files of others."""

from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

Shop = Any
Readers = dict[str, Callable[[Path], tuple[int, Decimal]]]


def everything_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.parametrize("name", ["thesis.txt", "data/date=2026-01-15/hour=13/part-0.parquet"])
def test_a_folder_with_other_files_is_left_alone(shop: Shop, folder: Path, name: str) -> None:
    other = folder / name
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    before = everything_in(folder)
    result = shop.sync("--to", folder)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {folder} is not a dataset and holds {name.partition('/')[0]}.\n"
        f"Name a new or an empty folder, such as {folder}/events\n"
    )
    assert everything_in(folder) == before
    assert not shop.asked()


@pytest.mark.parametrize(
    "name", [".DS_Store", "lost+found/x", "_adanalytics/lock", "_adanalytics/scratch/cafe0123"]
)
def test_a_folder_with_nothing_of_anybody_is_taken(shop: Shop, folder: Path, name: str) -> None:
    """Also what the very first moments of a sync leave, when it is killed in them."""
    (folder / name).parent.mkdir(parents=True)
    (folder / name).touch()
    assert shop.run("verify", folder).exit_code == 1
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    assert shop.run("verify", folder, "--until", "2026-01-15").exit_code == 0


def test_what_others_put_beside_a_dataset_is_no_matter(shop: Shop, folder: Path) -> None:
    shop.sync("2026-01-15", "--to", folder)
    (folder / "README").touch()
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0


def test_a_name_that_readers_cannot_have_is_refused(shop: Shop, folder: Path) -> None:
    result = shop.sync("--to", f"{folder}\udcff")
    assert result.exit_code == 2
    assert "is not UTF-8 text" in result.stderr


def test_a_folder_that_cannot_be_read_is_told(shop: Shop, folder: Path) -> None:
    """A loop of links cannot be read by anybody, not even by root."""
    folder.symlink_to(folder)
    result = shop.sync("--to", folder)
    assert result.exit_code in (1, 2)
    assert str(folder) in result.stderr
    assert "defect" not in result.stderr


@pytest.mark.skipif(find_spec("fsspec") is None, reason="not installed: fsspec")
def test_an_address_with_other_objects_is_left_alone(shop: Shop) -> None:
    files = import_module("fsspec").filesystem("memory")
    files.pipe_file("/elsewhere/thesis.txt", b"mine")
    try:
        result = shop.sync("--to", "memory://elsewhere")
        assert result.exit_code == 2
        assert "memory://elsewhere is not a dataset and holds thesis.txt." in result.stderr
        assert files.find("/elsewhere") == ["/elsewhere/thesis.txt"]
        assert shop.sync("--to", "memory://elsewhere/events").exit_code == 0
    finally:
        files.rm("/elsewhere", recursive=True)
