"""What a caller knows about the service that its public documents leave open."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from adanalytics_client._base.validation import check_text, invalid

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_LONGEST_OFFSET = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """The properties of the service that the client cannot find out by itself.

    Attributes:
        rows_key: the name of the list of events, or its path such as `report.body.events`, for a
            service that uses none of the usual names. A summary uses the usual names, too, if it
            has no list of this name.
        zone: the time zone of the service's days and hours: a name such as `Asia/Kolkata` (see
            `zoneinfo`), or an offset such as `+05:30`.

    Raises:
        ConfigurationError: for an empty `rows_key`, or an unknown time zone.

    Examples:
        >>> local = ServiceProfile(rows_key="hits", zone="+05:30")
        >>> Client("https://stats.example", api_key="...", partner="acme", service=local)
        Client('https://stats.example', partner='acme')
    """

    rows_key: str | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        check_text("rows_key", self.rows_key)
        if self.rows_key == "":
            raise invalid("rows_key", "", "Name the list of events, or pass None.")
        if not isinstance(self.zone, str):
            raise invalid("zone", self.zone, "Pass a str, such as 'UTC'.")
        self.tzinfo()

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


ServiceProfile.__module__ = "adanalytics_client"
