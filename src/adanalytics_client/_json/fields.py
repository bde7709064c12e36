"""The documented fields of events and summaries, and the names by which a service sends them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, get_args

from adanalytics_client._base.spelling import fold


class Kind(Enum):
    """What the values of a documented field are; the values of any other field tell it."""

    TEXT = "text"
    ID = "id"
    WHOLE = "whole number"
    FLAG = "flag"
    AMOUNT = "amount"
    TIME = "time"
    DATE = "date"
    PAIRS = "names and texts"


EVENT_KINDS: Mapping[str, Kind] = {
    "event_id": Kind.TEXT,
    "event_time": Kind.TIME,
    "event_date": Kind.DATE,
    "event_hour": Kind.WHOLE,
    "received_at": Kind.TIME,
    "event_type": Kind.TEXT,
    "auction_id": Kind.TEXT,
    "partner_id": Kind.TEXT,
    "supply_tag_id": Kind.ID,
    "demand_tag_id": Kind.ID,
    "campaign_id": Kind.ID,
    "creative_id": Kind.TEXT,
    "deal_id": Kind.TEXT,
    "media_type": Kind.TEXT,
    "device_type": Kind.TEXT,
    "country": Kind.TEXT,
    "os": Kind.TEXT,
    "currency": Kind.TEXT,
    "revenue": Kind.AMOUNT,
    "cost": Kind.AMOUNT,
    "payment_type": Kind.TEXT,
    "domain": Kind.TEXT,
    "app_bundle": Kind.TEXT,
    "error_code": Kind.WHOLE,
    "is_filtered": Kind.FLAG,
    "key_values": Kind.PAIRS,
}
"""The documented fields of an event, in their order. The service promises none of them."""

COLUMN_OF_TYPE = {
    "ad_request": "requests",
    "impression": "impressions",
    "start": "starts",
    "first_quartile": "first_quartiles",
    "midpoint": "midpoints",
    "third_quartile": "third_quartiles",
    "complete": "completions",
    "click": "clicks",
    "skip": "skips",
    "error": "errors",
}
"""The event types, by VAST's names, and the column of a summary that counts each of them."""

_COLUMN_OF_FOLD = {fold(name): column for name, column in COLUMN_OF_TYPE.items()}


def column_of_type(name: object) -> str | None:
    """Return the column of a summary that counts a type, in whatever way a service spells it.

    Examples:
        >>> column_of_type("AdRequest")
        'requests'
    """
    return _COLUMN_OF_FOLD.get(fold(str(name)))


GroupBy = Literal["day", "campaign", "demand_tag"]
"""The ways to group a summary."""

# A new one has its fields and its table by itself; models.py has the fields with their texts.
GROUPS: tuple[GroupBy, ...] = get_args(GroupBy)
ID_OF: Mapping[GroupBy, str] = {group: f"{group}_id" for group in GROUPS if group != "day"}
"""The field of an event with the id, for each group of a summary that has names."""

TABLE_OF: Mapping[GroupBy, str] = {group: f"{group}s" for group in ID_OF}
"""The table with the names of a group, in queries of a dataset."""

GROUP_KINDS: Mapping[str, Kind] = {
    "date": Kind.DATE,
    **{
        f"{group}_{end}": kind
        for group in ID_OF
        for end, kind in (("id", Kind.ID), ("name", Kind.TEXT))
    },
}
"""The fields of a row of a summary that name its group."""

SUMMARY_KINDS: Mapping[str, Kind] = {
    **GROUP_KINDS,
    **dict.fromkeys(COLUMN_OF_TYPE.values(), Kind.WHOLE),
    **dict.fromkeys(("revenue", "cost", "profit"), Kind.AMOUNT),
    **dict.fromkeys(("fill_rate", "ctr", "vcr", "completion_rate_started"), Kind.AMOUNT),
    **dict.fromkeys(("error_rate", "margin", "ecpm", "rpm", "cpm_cost"), Kind.AMOUNT),
}
"""The documented fields of a row of a summary, in their order."""

# The time of an event in the log files of ad servers, and in Elasticsearch.
_TIMES = ("ymdh", "timestamp")
_BY_FOLD = {**dict.fromkeys(_TIMES, "event_time"), **{fold(name): name for name in EVENT_KINDS}}


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names by which a service sends the documented fields of an event.

    A field has the part of a documented one if it is mapped to it, or else if its name is the
    documented one or another spelling of it, such as `eventTime`.

    Attributes:
        fields: the service's name of a documented field, by its documented name.
        time_field: the service's name of the field with the time of an event.
    """

    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    time_field: str | None = None

    def __str__(self) -> str:
        parts = {**self.fields, **({"event_time": self.time_field} if self.time_field else {})}
        return ", ".join(f"{part}={name}" for part, name in parts.items()) or "as documented"

    def documented(self, name: str) -> str | None:
        """Return the documented field whose part a field of the service may have.

        Examples:
            >>> FieldNames({"revenue": "rev"}).documented("rev")
            'revenue'
            >>> FieldNames().documented("eventTime")
            'event_time'
        """
        if name == self.time_field:
            return "event_time"
        for documented, own_name in self.fields.items():
            if own_name == name:
                return documented
        part = _BY_FOLD.get(fold(name))
        # The user gave this part to another field, so a field that is only named like it is not it.
        is_elsewhere = part in self.fields or (part == "event_time" and self.time_field)
        return None if is_elsewhere else part

    def sent(self, documented: str, names: Collection[str]) -> str | None:
        """Return which of the names of an event's fields has the part of a documented one.

        Examples:
            >>> FieldNames().sent("event_time", ["id", "eventTime"])
            'eventTime'
        """
        own_name = self.fields.get(documented)
        if documented == "event_time" and self.time_field:
            own_name = self.time_field
        # What the user says wins, and an exact name wins over a spelling.
        if own_name or documented in names:
            field_name = own_name or documented
            return field_name if field_name in names else None
        spellings = (fold(documented), *(_TIMES if documented == "event_time" else ()))
        names_by_fold = {fold(name): name for name in reversed([*names])}
        return next(
            (names_by_fold[spelling] for spelling in spellings if spelling in names_by_fold), None
        )

    def kind(self, name: str) -> Kind | None:
        """Return the kind of a field with a documented part, else None."""
        part = self.documented(name)
        # The part may also be a column of a summary.
        return EVENT_KINDS.get(part) or SUMMARY_KINDS[part] if part else None


DOCUMENTED = FieldNames()
"""The documented names themselves."""
