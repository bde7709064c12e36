"""The file of a service: what ``adanalytics doctor --probe`` writes, as this server reads it.

It has names, types and shapes of a service's responses, and no values. The files of the package,
in ``services``, are those of well-known kinds of services.
"""

import re
import tomllib
from datetime import date, timedelta, timezone, tzinfo
from os import PathLike
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from adanalytics_server.storage.dimensions import Grouping

from .dialects import DialectError

VERSION = 1
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-5][0-9])")
FOLDER = Path(__file__).parents[1] / "services"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; other keys are refused."""


class Column(_Table, frozen=True):
    """A field of events: its JSON type, what its values look like, and their form."""

    type: Literal["text", "integer", "number", "flag", "object", "list", "null", "mixed"]
    role: Literal["id", "time", "date", "money", "flag"] | None = None
    nulls: Literal["never", "some", "always"] = "never"
    longest: int = 1
    form: str = ""


class Pages(_Table, frozen=True):
    """The places of page numbers, and the rules of pages."""

    total: str = ""
    page: str = ""
    per_page: str = ""
    pages: str = ""
    more: str = ""
    next: str = ""
    shortfall: str = ""
    first: int = 1
    most: int | None = None
    days: Literal["inclusive", "exclusive", "first"] | None = None
    heeds: dict[str, bool] = {}
    empty: str | None = None
    past_end: str | None = None
    order: str | None = None
    stable: bool | None = None
    zone: str | None = None


class Summary(_Table, frozen=True):
    """The place of a summary's rows, their columns, and the fields that add up to them."""

    rows_key: str | None = None
    columns: dict[Literal["none", Grouping], tuple[str, ...]] = {}
    sums: dict[str, str] = {}


class Export(_Table, frozen=True):
    """The places and the words of an export, and how it is waited for."""

    names: dict[Literal["id", "status", "file", "state", "rows"], str] = {}
    words: dict[Literal["pending", "processing", "completed"], str] = {}
    wait: Literal["none", "state", "order", "file"] | None = None
    columns: tuple[str, ...] = ()
    same_rows: bool | None = None


class ResponseHeaders(_Table, frozen=True):
    """The headers of responses."""

    request_id: str = ""
    limit: tuple[str, ...] = ()


class ServiceFile(_Table, frozen=True):
    """The content of a file; without a table, nothing is known of its subject."""

    version: int = VERSION
    rows_key: str | None = None
    zone: str = "UTC"
    fields: dict[str, str] = {}
    time_field: str | None = None
    pages: Pages | None = None
    summary: Summary | None = None
    export: Export | None = None
    headers: ResponseHeaders | None = None
    columns: dict[str, Column] = {}
    probe_date: date | None = None


def service_names() -> list[str]:
    """List the names of the files in the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def service_path(service: str | PathLike[str]) -> Path:
    """Return the path of the file of a name in the package, else the path itself."""
    return FOLDER / f"{service}.toml" if str(service) in service_names() else Path(service)


def read_service(service: str | PathLike[str]) -> ServiceFile:
    """Read a file, or the file of a name in the package.

    Raises:
        DialectError: there is no such file or name, the file is no TOML, is of a newer version, has
            an unknown key or a wrong value.
    """
    path = service_path(service)
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise DialectError(
            f"There is no service file {str(service)!r}. Write one with adanalytics doctor --probe"
            f" -o FILE, or choose a name: {', '.join(service_names())}"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DialectError(f"Cannot read {path}: {error}") from error
    version = content.get("version", VERSION)
    # A newer file may mean the same keys in another way.
    if type(version) is not int or version > VERSION:
        raise DialectError(
            f"{path} has version {version!r}; this adanalytics knows version {VERSION}: upgrade"
            " adanalytics, or probe the service again"
        )
    try:
        file = msgspec.convert(content, ServiceFile)
        zone_of(file.zone)
    except (msgspec.ValidationError, DialectError) as error:
        raise DialectError(f"{path}: {error}") from None
    return file


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name such as ``Asia/Kolkata``, or of an offset such as ``+05:30``.

    Raises:
        DialectError: this machine does not know the zone.
    """
    if offset := _OFFSET.fullmatch(name):
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        if shift < timedelta(hours=24):
            return timezone(shift if offset[1] == "+" else -shift)
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise DialectError(
            f"zone {name!r} is none that this machine knows: write Europe/Berlin or +05:30"
        ) from None
