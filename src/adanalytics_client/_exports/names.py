"""The names of exported files: the format a suffix means, and a name for each file in a folder."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from adanalytics_client._base.formats import BINARY, EXPORT_SUFFIXES, suffix_of
from adanalytics_client._base.validation import check_text
from adanalytics_client.errors import ConfigurationError

from .part import names_beside
from .status import ExportFile

# Bytes; the limit of common file systems.
_LONGEST_NAME = 255
_LONGEST_SUFFIX = 40


def named_format(
    path: Path, file_format: str | None, compression: str | None
) -> tuple[str, str | None]:
    """Return the format and compression to order: as given, else from the suffix, else csv.

    A parquet file is compressed inside, so `gzip` needs no suffix there.
    """
    check_text("format", file_format)
    check_text("compression", compression)
    suffix, has_gz = ("", False) if path.is_dir() else suffix_of(path)
    suffix_format = EXPORT_SUFFIXES.get(suffix)
    if has_gz and suffix_format in BINARY:
        raise ConfigurationError(
            f"{suffix_format} files are compressed internally.", remedy="Leave .gz out of the name."
        )
    if (
        suffix_format
        and file_format is not None
        and EXPORT_SUFFIXES.get(f".{file_format.lower()}") != suffix_format
    ):
        raise _contradiction(path, suffix, f"format={file_format!r}")
    is_gzip = None if compression is None else compression.lower() == "gzip"
    plain = suffix_format and not has_gz and suffix_format not in BINARY
    if (has_gz and is_gzip is False) or (plain and is_gzip):
        ending = ".gz" if has_gz else suffix
        raise _contradiction(path, ending, f"compression={compression!r}")
    # The suffix decides only what the caller leaves open.
    packing = "gzip" if has_gz and compression is None else compression
    return suffix_format or "csv" if file_format is None else file_format, packing


def _contradiction(path: Path, ending: str, option: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path.name} ends in {ending}, and {option} says otherwise.",
        remedy="Leave out one of them.",
    )


def paths_in(folder: Path, files: Sequence[ExportFile]) -> list[Path]:
    """Return a path for each file, the same in every run and never the part of another file.

    `A.csv` and `a.csv` count as one name, because some file systems treat them so.
    """
    paths = []
    names: set[str] = set()
    for number, file in enumerate(files, start=1):
        name = _usable_name(file, number)
        while names & (claims := _claimed(folder / name)):
            name = _shortened(f"{number}-{name}")
        names |= claims
        paths.append(folder / name)
    return paths


def name_of(file: ExportFile) -> str:
    """Return the service's name for a file, else the last part of its address."""
    return PurePosixPath(file.name or unquote(urlsplit(file.url).path)).name


def _usable_name(file: ExportFile, number: int) -> str:
    """Return the service's name for a file, without folders, or a name made of its number."""
    name = name_of(file)
    usable = name not in {"", ".", ".."} and name.isprintable()
    return _shortened(name) if usable else f"part-{number}"


def _shortened(name: str) -> str:
    """Return the beginning of a name that fits a file system, with its suffixes."""
    content = name.encode()
    if len(content) <= _LONGEST_NAME:
        return name
    suffix = "".join(PurePosixPath(name).suffixes[-2:]).encode()
    suffix = suffix if len(suffix) <= _LONGEST_SUFFIX else b""
    begin = content[: _LONGEST_NAME - len(suffix)]
    return begin.decode(errors="ignore") + suffix.decode()


def _claimed(path: Path) -> set[str]:
    return {candidate.name.casefold() for candidate in (path, *names_beside(path))}
