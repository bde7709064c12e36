"""What a caller knows about the service that its public documents leave open."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from adanalytics_client._base.spelling import fold
from adanalytics_client._base.validation import check_text, invalid
from adanalytics_client._json.fields import EVENT_KINDS, SUMMARY_KINDS, GroupBy
from adanalytics_client.errors import ConfigurationError

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_LONGEST_OFFSET = timedelta(hours=24)
_DOCUMENTED = dict.fromkeys((*EVENT_KINDS, *SUMMARY_KINDS))


JsonType = Literal["text", "integer", "number", "flag", "object", "list", "null", "mixed"]
"""The JSON type of a field's values, null apart; `number` has a point, `mixed` has several."""

Role = Literal["id", "time", "date", "money", "flag"]
"""What the values of a field look like."""

Nulls = Literal["never", "some", "always"]
"""Whether values of a field are null or missing."""

Days = Literal["inclusive", "exclusive", "first"]
"""Which days a range has: see `PageProfile.days`."""

Wait = Literal["none", "state", "order", "file"]
"""How an export is waited for: see `ExportProfile.wait`."""

Parameter = Literal["page", "per_page", "hour"]
"""A parameter of a query that a service may not heed."""

Grouping = Literal["none", GroupBy]
"""A grouping of a summary, or none."""

ExportFact = Literal["id", "status", "file", "state", "rows"]
"""A fact in a response about an export: see `ExportProfile.names`."""

ExportState = Literal["pending", "processing", "completed"]
"""A state of an export that its words may be known of."""


@dataclass(frozen=True, slots=True)
class PageProfile:
    """How the service divides events into pages. A place is a path in the body or a header.

    Attributes:
        total: the place of the number of events, such as `meta.total` or `header X-Total-Count`;
            empty if no page states it, as for the other places.
        page: the place of the number of the page.
        per_page: the place of the number of events per page.
        pages: the place of the number of pages.
        more: the place of a flag that says whether another page follows.
        next: the place of the number or address of the next page.
        shortfall: what pages state if they say that they are not whole, such as `success: false`.
        first: the number of the first page.
        most: the events on a page, if the service serves fewer than `per_page` asks for.
        days: which days a range has: both its dates and those between (`inclusive`), without
            `end_date` (`exclusive`), or `start_date` alone (`first`); None if unknown.
        heeds: whether the service heeds a parameter: `page`, `per_page`, `hour`; a missing one is
            unknown.
        empty: the response for hours without events: a status, and what stands in place of the
            list, such as `200 []`, `200 null`, `404`; None if unknown.
        past_end: the response for a page after the last one, in the same words.
        order: the field by which events are in order; empty for none, None if unknown.
        stable: whether the same page is the same twice; None if unknown.
        zone: the time zone that the times of an hour show; None if they show none.

    Examples:
        >>> ServiceProfile(pages=PageProfile(total="meta.total", first=0)).pages.first
        0
    """

    total: str = ""
    page: str = ""
    per_page: str = ""
    pages: str = ""
    more: str = ""
    next: str = ""
    shortfall: str = ""
    first: Literal[0, 1] = 1
    most: int | None = None
    days: Days | None = None
    heeds: Mapping[Parameter, bool] = field(default_factory=dict, hash=False)
    empty: str | None = None
    past_end: str | None = None
    order: str | None = None
    stable: bool | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A field of events, without its values.

    Attributes:
        type: the JSON type.
        role: what the values look like; None if they look like nothing known.
        nulls: whether values are null or missing: `never`, `some`, `always`.
        longest: the characters of the longest value, rounded up to a power of ten.
        form: the form of times, such as `YYYY-MM-DDThh:mm:ss.fffZ` or `epoch seconds`, of ids
            (`uuid`), or of amounts (`9 digits` after the point); empty for several or none.

    Examples:
        >>> ColumnProfile("text", "time", form="YYYY-MM-DDThh:mm:ssZ").nulls
        'never'
    """

    type: JsonType
    role: Role | None = None
    nulls: Nulls = "never"
    longest: int = 1
    form: str = ""


@dataclass(frozen=True, slots=True)
class SummaryProfile:
    """The summary of the service.

    Attributes:
        rows_key: the path of the list of rows, such as `data`; `$` if it is the whole body.
        columns: the columns by grouping, such as `day`; those of `none` are not grouped.
        sums: the field of events that adds up to a column, by the column; `event_type` if the
            column is the number of events of its type.

    Examples:
        >>> SummaryProfile("data", sums={"revenue": "rev"}).sums["revenue"]
        'rev'
    """

    rows_key: str | None = None
    columns: Mapping[Grouping, tuple[str, ...]] = field(default_factory=dict, hash=False)
    sums: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ExportProfile:
    """The bulk export of the service.

    Attributes:
        names: the place of `id`, `status`, `file` (its address), `state` (the address of the
            state) and `rows` (their number) in responses.
        words: the service's words for the states `pending`, `processing`, `completed`, as far as
            they were seen.
        wait: how the export is waited for: `none` (it is complete at once), `state`, `order` (the
            same order again) or `file`; None if unknown.
        columns: the columns of a CSV file.
        same_rows: whether the file has the rows of the pages; None if unknown.

    Examples:
        >>> ExportProfile(names={"file": "download_url"}, wait="state").names["file"]
        'download_url'
    """

    names: Mapping[ExportFact, str] = field(default_factory=dict, hash=False)
    words: Mapping[ExportState, str] = field(default_factory=dict, hash=False)
    wait: Wait | None = None
    columns: tuple[str, ...] = ()
    same_rows: bool | None = None


@dataclass(frozen=True, slots=True)
class HeaderProfile:
    """The headers of the service's responses.

    Attributes:
        request_id: the header with the id of the request; empty for none.
        limit: the headers about the limit of requests.

    Examples:
        >>> HeaderProfile("x-request-id").limit
        ()
    """

    request_id: str = ""
    limit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """The properties of the service that its public documents leave open.

    `Client.probe` asks the service for them. You can also state those that you know.

    Attributes:
        rows_key: the name of the list of events, or its path such as `report.body.events`, for a
            service that uses none of the usual names; `$` if it is the whole body. A summary uses
            the usual names, too, if it has no list of this name.
        zone: the time zone of the service's days and hours: a name such as `Asia/Kolkata` (see
            `zoneinfo`), or an offset such as `+05:30`.
        fields: the service's name of a field, by the documented name whose part the field has, such
            as `{"event_time": "ymdh"}`. The documented names are those of `Event` and `SummaryRow`.
            Names that differ only in their spelling, such as `eventTime`, need no entry. Outputs
            keep the service's names.
        time_field: the service's name of the field with the time of an event; as an entry
            `event_time` in `fields`.
        pages: how events are divided into pages; None if unknown, as for the next three.
        summary: the summary.
        export: the bulk export.
        headers: the headers of responses.
        columns: the fields of events by their names, in order; empty if unknown.
        probe_date: the day of the probe, in UTC; None if the service was not asked. From then on a
            response that contradicts the profile is a ProtocolError.

    Raises:
        ConfigurationError: for an empty name, an unknown time zone or an unknown documented name,
            and for a field with two parts: its values have one type.

    Examples:
        >>> local = ServiceProfile(rows_key="hits", zone="+05:30", fields={"revenue": "rev"})
        >>> Client("https://stats.example", api_key="...", partner="acme", service=local)
        Client('https://stats.example', partner='acme')
    """

    rows_key: str | None = None
    zone: str = "UTC"
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    time_field: str | None = None
    pages: PageProfile | None = None
    summary: SummaryProfile | None = None
    export: ExportProfile | None = None
    headers: HeaderProfile | None = None
    columns: Mapping[str, ColumnProfile] = field(default_factory=dict, hash=False)
    probe_date: date | None = None

    def __post_init__(self) -> None:
        check_text("rows_key", self.rows_key)
        if self.rows_key == "":
            raise invalid("rows_key", "", "Name the list of events, or pass None.")
        check_text("time_field", self.time_field)
        if self.time_field == "":
            raise invalid("time_field", "", "Name the field with the time, or pass None.")
        self._check_fields()
        if not isinstance(self.zone, str):
            raise invalid("zone", self.zone, "Pass a str, such as 'UTC'.")
        self.tzinfo()

    def _check_fields(self) -> None:
        if not isinstance(self.fields, Mapping):
            raise invalid("fields", self.fields, "Pass a dict, such as {'event_time': 'ymdh'}.")
        # The caller's own dict may change later.
        pairs: dict[Any, Any] = dict(self.fields)
        object.__setattr__(self, "fields", pairs)
        parts = {self.time_field: "event_time"} if self.time_field else {}
        for part, name in pairs.items():
            if part not in _DOCUMENTED:
                raise _unknown(part)
            if not isinstance(name, str) or not name:
                raise ConfigurationError(
                    f"fields: the name for {part} is {name!r}.",
                    remedy="Pass the name that the service sends.",
                )
            if self.time_field and part == "event_time" != parts.get(name):
                raise invalid(
                    "time_field",
                    self.time_field,
                    f"fields maps event_time to {name!r}: leave one out.",
                )
            if parts.setdefault(name, part) != part:
                raise ConfigurationError(
                    f"fields: {name!r} is mapped to {parts[name]} and to {part}.",
                    remedy="Map it to one of them.",
                )

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "ServiceProfile":
        """Read the profile from a file, as `adanalytics doctor --probe` writes it.

        Raises:
            ConfigurationError: when the file cannot be read, holds an unknown key or a wrong value,
                or is of a newer version of adanalytics.

        Examples:
            >>> _ = Path("service.toml").write_text(ServiceProfile(rows_key="hits").to_toml())
            >>> ServiceProfile.read("service.toml").rows_key
            'hits'
        """
        # Late, because few clients have a file.
        from .service_file import read_service

        return read_service(Path(path))

    def to_toml(self) -> str:
        """Return the text of a file with this profile; comments explain each line.

        Examples:
            >>> print(ServiceProfile(rows_key="hits").to_toml())
            # ...
            rows_key = "hits"
            ...
        """
        from .service_file import service_text

        return service_text(self)

    def tzinfo(self) -> tzinfo:
        """Return the time zone of the service's days and hours.

        Raises:
            ConfigurationError: when this machine does not know the zone.

        Examples:
            >>> print(ServiceProfile(zone="+05:30").tzinfo())
            UTC+05:30
        """
        # Not every machine has the database of time zones.
        if self.zone == "UTC":
            return UTC
        if offset := _OFFSET.fullmatch(self.zone):
            sign, hours, minutes = offset.groups()
            shift = timedelta(hours=int(hours), minutes=int(minutes))
            if int(minutes) < 60 and shift < _LONGEST_OFFSET:
                return timezone(shift if sign == "+" else -shift)
        # Late, because few services need it.
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(self.zone)
        # A name is looked up as a file, so it may fail as one.
        except (LookupError, ValueError, OSError):
            raise invalid(
                "zone",
                self.zone,
                "Pass a time zone that this machine knows, such as Europe/Berlin, or an offset "
                "such as +05:30.",
            ) from None

    def now(self, seconds: float) -> datetime:
        """Return the moment `seconds` after 1970, in the zone of the service.

        Examples:
            >>> print(ServiceProfile(zone="+05:30").now(1768500000))
            2026-01-15 23:30:00+05:30
        """
        return datetime.fromtimestamp(seconds, tz=self.tzinfo())


def _unknown(part: object) -> ConfigurationError:
    # Late, because most profiles are right.
    from difflib import get_close_matches

    names = {fold(name): name for name in _DOCUMENTED}
    matches = get_close_matches(fold(str(part)), names, n=1)
    remedy = (
        f"Did you mean {names[matches[0]]!r}?"
        if matches
        else f"Choose from {', '.join(_DOCUMENTED)}."
    )
    return ConfigurationError(f"fields: {part!r} is not a documented field.", remedy=remedy)


ServiceProfile.__module__ = "adanalytics_client"
for _profile in (ColumnProfile, ExportProfile, HeaderProfile, PageProfile, SummaryProfile):
    _profile.__module__ = "adanalytics_client.types"
