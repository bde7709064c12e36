"""What a caller knows about the service that its public documents leave open."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from adanalytics_client._base.spelling import fold
from adanalytics_client._base.validation import check_text, invalid
from adanalytics_client._json.fields import EVENT_KINDS, SUMMARY_KINDS
from adanalytics_client.errors import ConfigurationError

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_LONGEST_OFFSET = timedelta(hours=24)
_DOCUMENTED = dict.fromkeys((*EVENT_KINDS, *SUMMARY_KINDS))


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """The properties of the service that the client cannot find out by itself.

    Attributes:
        rows_key: the name of the list of events, or its path such as `report.body.events`, for a
            service that uses none of the usual names. A summary uses the usual names, too, if it
            has no list of this name.
        zone: the time zone of the service's days and hours: a name such as `Asia/Kolkata` (see
            `zoneinfo`), or an offset such as `+05:30`.
        fields: the service's name of a field, by the documented name whose part the field has, such
            as `{"event_time": "ymdh"}`. The documented names are those of `Event` and `SummaryRow`.
            Names that differ only in their spelling, such as `eventTime`, need no entry. Outputs
            keep the service's names.
        time_field: the service's name of the field with the time of an event; as an entry
            `event_time` in `fields`.

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
                remedy = f"fields maps event_time to {name!r}: leave one out."
                raise invalid("time_field", self.time_field, remedy)
            if parts.setdefault(name, part) != part:
                raise ConfigurationError(
                    f"fields: {name!r} is mapped to {parts[name]} and to {part}.",
                    remedy="Map it to one of them.",
                )

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
            ahead = timedelta(hours=int(hours), minutes=int(minutes))
            if int(minutes) < 60 and ahead < _LONGEST_OFFSET:
                return timezone(ahead if sign == "+" else -ahead)
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
    near = get_close_matches(fold(str(part)), names, n=1)
    remedy = (
        f"Did you mean {names[near[0]]!r}?" if near else f"Choose from {', '.join(_DOCUMENTED)}."
    )
    return ConfigurationError(f"fields: {part!r} is not a documented field.", remedy=remedy)


ServiceProfile.__module__ = "adanalytics_client"
