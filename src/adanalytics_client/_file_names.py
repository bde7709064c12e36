"""Which names the files of an export get in a folder."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from adanalytics_client._export import ExportFile
from adanalytics_client._listed_anew import called
from adanalytics_client._part_place import names_beside

# Bytes; what common file systems take.
_LONGEST_NAME = 255
_LONGEST_SUFFIX = 40


def targets_in(folder: Path, files: Sequence[ExportFile]) -> list[Path]:
    """A path for each file, the same in every run; no file lies where another's part comes.

    Some file systems take `A.csv` and `a.csv` for one name, so here they are, too.
    """
    targets: list[Path] = []
    taken: set[str] = set()
    for number, file in enumerate(files, start=1):
        name = _name(file, number)
        while taken & (claimed := _claimed(folder / name)):
            name = _shortened(f"{number}-{name}")
        taken |= claimed
        targets.append(folder / name)
    return targets


def _name(file: ExportFile, number: int) -> str:
    """The service's name for a file, without folders, or one made of its number."""
    name = called(file)
    usable = name not in {"", ".", ".."} and name.isprintable()
    return _shortened(name) if usable else f"part-{number}"


def _shortened(name: str) -> str:
    """As much of a name as a file system takes, with its suffixes."""
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    suffix = "".join(PurePosixPath(name).suffixes[-2:]).encode()
    suffix = suffix if len(suffix) <= _LONGEST_SUFFIX else b""
    begin = encoded[: _LONGEST_NAME - len(suffix)]
    return begin.decode(errors="ignore") + suffix.decode()


def _claimed(target: Path) -> set[str]:
    return {each.name.casefold() for each in (target, *names_beside(target))}
