"""The note beside an unfinished download that lets a later run go on with it."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from adanalytics_client._checks import is_whole
from adanalytics_client._export import ExportFile
from adanalytics_client._json import Json
from adanalytics_client._source import Source

_FORM = 1
# A note is some 300 bytes; whatever is longer is not one.
_LARGEST = 16_384


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Which version of which file the bytes in a `.part` file are of.

    Attributes:
        source: names the file (see `_source`).
        validator: what `If-Range` carries.
        total: bytes of the whole file, where known.
        sha256: the checksum announced, where one was.
        form: the version of this record.
    """

    source: str
    validator: str
    total: int | None
    sha256: str | None
    form: int = _FORM

    def is_of(self, source: Source, file: ExportFile) -> bool:
        """Whether the bytes are of `file`; a checksum tells better than any name."""
        if self.sha256 is not None and file.sha256 is not None:
            return self.sha256 == file.sha256
        return self.source == source.under(self.validator)

    def write(self, path: Path) -> None:
        """Put the note at `path`, whole or not at all."""
        beside = path.with_name(f".{path.name}.tmp")
        beside.unlink(missing_ok=True)
        try:
            # Only as a new file: through a link another one would be overwritten.
            with beside.open("x", encoding="utf-8") as file:
                json.dump(asdict(self), file)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def read_sidecar(path: Path) -> Sidecar | None:
    """The note at `path`; None when there is none, or none that this version can read."""
    try:
        with open(path, "rb", opener=_open_itself) as file:
            said = json.loads(file.read(_LARGEST))
        if not _is_sound(said):
            return None
        return Sidecar(said["source"], said["validator"], said["total"], said["sha256"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _open_itself(path: str, flags: int) -> int:
    """Open no file behind a link, and wait for nobody at the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_sound(said: Json) -> bool:
    """Whether each value is of its type, and the validator can stand in a header."""
    validator, total, sha256 = said["validator"], said["total"], said["sha256"]
    return (
        said["form"] == _FORM
        and isinstance(said["source"], str)
        and isinstance(validator, str)
        and bool(validator)
        and validator.isascii()
        and validator.isprintable()
        and (total is None or is_whole(total, 0))
        and isinstance(sha256, str | None)
    )
