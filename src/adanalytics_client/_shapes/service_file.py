"""The profile of a service as a TOML file: names, types and shapes, and no value of the data."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from adanalytics_client._json.exact import json_text
from adanalytics_client.errors import ConfigurationError

from .service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
    ServiceProfile,
    SummaryProfile,
)

VERSION = 1
Table = (
    ServiceProfile | PageProfile | SummaryProfile | ExportProfile | HeaderProfile | ColumnProfile
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_COMMENTS: Mapping[type, Mapping[str, str]] = {
    ServiceProfile: {
        "rows_key": "The list of events in a response; $ is the whole body.",
        "zone": "The time zone of days and hours.",
        "time_field": "The field with the time of an event.",
        "probe_date": "The day of the probe. Responses that contradict this file are errors.",
        "fields": "The name of a field here, by the documented name whose part it has.",
        "pages": "Where a response states its pages: a path, or a header; a missing line: nowhere.",
        "summary": "The summary.",
        "export": "The bulk export.",
        "headers": "The headers of responses.",
        "columns": "The fields of events, without their values.",
    },
    PageProfile: {
        "shortfall": "What pages state if they say that they are not whole.",
        "first": "The number of the first page.",
        "most": "The service serves fewer events per page than it is asked for.",
        "days": "Which days a range has: both dates, without end_date, or start_date alone.",
        "empty": "The response for hours without events.",
        "past_end": "The response for a page after the last one.",
        "order": "The field by which events are in order.",
        "stable": "Whether the same page is the same twice.",
        "zone": "The time zone that the times of an hour show.",
        "heeds": "Whether the service heeds a parameter.",
    },
    SummaryProfile: {
        "columns": "The columns by grouping.",
        "sums": "The field of events that adds up to a column.",
    },
    ExportProfile: {
        "wait": "How the export is waited for.",
        "columns": "The columns of a CSV file.",
        "same_rows": "Whether the file has the rows of the pages.",
        "names": "The place of each fact in a response.",
        "words": "The words for states.",
    },
    HeaderProfile: {},
    ColumnProfile: {},
}


def read_service(path: Path) -> ServiceProfile:
    """Read a file; see `ServiceProfile.read`."""
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            f"Cannot read {path}: {error}.",
            remedy="Write it with adanalytics doctor --probe -o FILE.",
        ) from error
    # People write such files by hand, without a version.
    version = content.pop("version", VERSION)
    if type(version) is not int or version > VERSION:
        raise ConfigurationError(
            f"{path} has version {version!r}; this adanalytics knows version {VERSION}.",
            remedy="Upgrade adanalytics, or probe again with adanalytics doctor --probe.",
        )
    return service_of(content, str(path))


def service_of(content: Mapping[str, Any], source: str) -> ServiceProfile:
    """Make a profile from a table of a TOML file.

    Raises:
        ConfigurationError: for an unknown key or a wrong value, with its place.
    """
    _refuse_unknown(ServiceProfile, content, source)
    try:
        return msgspec.convert(content, ServiceProfile)
    except msgspec.ValidationError as error:
        problem = error.__cause__
        # The profile itself refuses a value: msgspec wraps what is a ValueError.
        if isinstance(problem, ConfigurationError):
            raise problem.amended(message=f"{source}: {problem.message}") from None
        raise ConfigurationError(
            f"{source}: {error}.", remedy="Correct the value, or probe the service again."
        ) from None


def _refuse_unknown(kind: type, content: object, source: str, path: str = "") -> None:
    """Refuse keys that a profile does not have; names of fields and columns are not keys."""
    if not isinstance(content, Mapping):
        return
    hints = get_type_hints(kind)
    for key, value in content.items():
        if key not in hints:
            raise ConfigurationError(
                f"{source} has an unknown key '{path}{key}'.",
                remedy=f"Known keys: {', '.join(hints)}.",
            )
        for part in (hints[key], *get_args(hints[key])):
            if not is_dataclass(part) or not isinstance(part, type):
                continue
            # The tables of columns are named after fields of the service, which may be anything.
            tables = value if part is ColumnProfile else {"": value}
            for name, table in tables.items() if isinstance(tables, Mapping) else ():
                _refuse_unknown(part, table, source, f"{path}{key}.{name}." if name else f"{key}.")


def service_text(profile: ServiceProfile) -> str:
    """Return the text of a file; see `ServiceProfile.to_toml`."""
    head = [
        "# The service as it answered; written by adanalytics doctor --probe.",
        "# Names, types and shapes; no value of the data. What is missing is unknown.",
        f"version = {VERSION}",
    ]
    return "\n".join([*head, *_lines(profile, "")]) + "\n"


def _lines(profile: Table, path: str) -> Iterator[str]:
    """Yield the lines of a table, its plain values first, as TOML requires."""
    comments, tables = _COMMENTS[type(profile)], []
    for member in fields(profile):
        value = getattr(profile, member.name)
        default = member.default if member.default is not MISSING else None
        if is_dataclass(value) or isinstance(value, Mapping):
            tables.append((member.name, value))
        # The zone decides about each row, so it is written in any case.
        elif value != default or (member.name in {"zone", "type"} and value):
            if member.name in comments:
                yield f"# {comments[member.name]}"
            yield f"{member.name} = {_toml(value)}"
    for name, value in tables:
        if is_dataclass(value) or value:
            yield f"\n# {comments[name]}" if name in comments else ""
        if isinstance(value, Table):
            yield f"[{path}{name}]"
            yield from _lines(value, f"{path}{name}.")
        elif value and isinstance(value, Mapping):
            yield from _mapping_lines(value, f"{path}{name}")


def _mapping_lines(content: Mapping[str, Any], path: str) -> Iterator[str]:
    if not any(map(is_dataclass, content.values())):
        yield f"[{path}]"
        yield from (f"{_key(key)} = {_toml(value)}" for key, value in content.items())
        return
    for key, value in content.items():
        yield f"[{path}.{_key(key)}]"
        yield from _lines(value, "")


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else _toml(text)


def _toml(value: object) -> str:
    if isinstance(value, date):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # A string of JSON is one of TOML, but for DEL.
    return json_text(value).replace("\x7f", "\\u007f")
