"""Our figures by day, campaign and demand tag, from the summary or from the events of a dataset."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.periods import days_of
from adanalytics_client import ProtocolError, ServiceProfile
from adanalytics_client._json.fields import COLUMN_OF_TYPE

from .statement import Figures, Key, Statement

if TYPE_CHECKING:
    from adanalytics_client import Client
    from adanalytics_client.dataset import Holdings

DAY = timedelta(days=1)
# The offsets of time zones are multiples of it.
_MINUTES = 15
_SYNC_FIRST = "Sync these days, and add --in DIR."

Group = tuple[str, ...]


class Series:
    """The figures of one group by the moment at which their hour, or part of it, begins."""

    def __init__(self, records: Iterable[tuple[datetime, Figures]], width: int) -> None:
        pairs = sorted((record for record in records if any(record[1])), key=itemgetter(0))
        self.moments = [moment for moment, _ in pairs]
        zeros = (Decimal(0),) * width
        # Sums up to each moment, whose differences are the sums between two of them.
        self._sums = [*accumulate((figures for _, figures in pairs), add, initial=zeros)]

    def between(self, begin: datetime, end: datetime) -> Figures:
        """Return the sums from `begin` until before `end`."""
        first, last = (bisect_left(self.moments, moment) for moment in (begin, end))
        return tuple(map(Decimal.__sub__, self._sums[last], self._sums[first]))


def add(one: Figures, other: Figures) -> Figures:
    return tuple(map(Decimal.__add__, one, other))


@dataclass(slots=True)
class OwnFigures:
    """Our figures for the period of a statement.

    Attributes:
        valid: the figures of each group as a summary counts them.
        filtered: those of filtered (invalid) traffic, which a summary leaves out.
        labels: what to call a group.
        hours: the hours that a dataset holds of each day; None for the service, which tells only
            days.
        zone: the time zone of our days.
        currency: the unit of our money, where it is known.
        theirs: the figures of the statement by the same keys.
        parts: how many rows of the file were added up for a key.
        unassigned: our figures without a campaign or tag, where the statement has none such.
    """

    statement: Statement
    valid: dict[Group, Series]
    filtered: dict[Group, Series]
    labels: dict[Group, Group]
    hours: Mapping[date, int] | None
    zone: tzinfo
    currency: str | None
    theirs: dict[Key, Figures] = field(default_factory=dict)
    parts: dict[Key, int] = field(default_factory=dict)
    unassigned: Figures = ()

    @property
    def zeros(self) -> Figures:
        return (Decimal(0),) * len(self.statement.names)

    def window(self, key: Key) -> tuple[datetime, datetime]:
        """Return the begin and the end of the days of a key."""
        first, last = (key[0], key[0]) if key[0] else (self.statement.first, self.statement.last)
        return start_of(first), start_of(last) + DAY

    def between(self, key: Key, begin: datetime, end: datetime) -> Figures:
        series = self.valid.get(key[1])
        return series.between(begin, end) if series else self.zeros

    def figures(self, key: Key) -> Figures:
        return self.between(key, *self.window(key))

    def filtered_figures(self, key: Key) -> Figures:
        series = self.filtered.get(key[1])
        return series.between(*self.window(key)) if series else self.zeros

    def days(self) -> list[date]:
        return days_of(self.statement.first, self.statement.last)

    def keys(self) -> list[Key]:
        """Return the keys with a figure that is not zero."""
        days = self.days() if "day" in self.statement.by else [None]
        keys = [(day, group) for day in days for group in self.valid]
        return [key for key in keys if any(self.figures(key))]


def start_of(day: date) -> datetime:
    """Return the begin of a day, without the zone, which is the one of our days."""
    return datetime.combine(day, time())


Record = tuple[datetime, Sequence[tuple[object, object]], bool, Sequence[object]]
"""A moment, the id and the name of each group, whether it is filtered, and the figures.

A figure is None where the service does not tell it, such as the cost.
"""


def _own(
    statement: Statement,
    records: Collection[Record],
    *,
    hours: Mapping[date, int] | None,
    zone: tzinfo,
    currency: str | None,
) -> OwnFigures:
    """Group the records as the statement does: by the ids that it has, or else by names.

    Spelling in capital letters and spaces do not tell two names apart.
    """
    statement, places = _comparable(statement, records)
    by_id = []
    for place in range(len(statement.fields)):
        pairs = {record[1][place] for record in records}
        words = {_folded(group[place]) for _, group in statement.rows}
        ids, names = ({_folded(pair[side]) for pair in pairs} - {""} for side in (0, 1))
        by_id.append(not names or len(words & ids) > len(words & names))
    sides: tuple[dict[Group, list[tuple[datetime, Figures]]], ...] = ({}, {})
    labels: dict[Group, Group] = {}
    for moment, groups, is_filtered, values in records:
        figures = tuple(_amount(values[place]) for place in places)
        group = tuple(
            _folded(pair[0] if use_id else pair[1] or pair[0])
            for pair, use_id in zip(groups, by_id, strict=True)
        )
        labels.setdefault(group, tuple(str(pair[1] or pair[0] or "(none)") for pair in groups))
        sides[int(is_filtered)].setdefault(group, []).append((moment, figures))
    width = len(statement.names)
    valid, filtered = (
        {group: Series(entries, width) for group, entries in side.items()} for side in sides
    )
    own_figures = OwnFigures(statement, valid, filtered, labels, hours, zone, currency)
    for (day, cells), figures in statement.rows.items():
        group = tuple(map(_folded, cells))
        labels.setdefault(group, tuple(word or "(none)" for word in cells))
        key = (day, group)
        own_figures.theirs[key] = add(own_figures.theirs.get(key, own_figures.zeros), figures)
        own_figures.parts[key] = own_figures.parts.get(key, 0) + statement.parts[day, cells]
    # Without an id they are in no report by campaign.
    for group in [
        group for group in valid if "" in group and group not in {k[1] for k in own_figures.theirs}
    ]:
        total = valid.pop(group).between(*own_figures.window((None, group)))
        own_figures.unassigned = add(own_figures.unassigned or own_figures.zeros, total)
        filtered.pop(group, None)
    return own_figures


def _comparable(
    statement: Statement, records: Collection[Record]
) -> tuple[Statement, Sequence[int]]:
    """Return the statement without figures that we do not have, and the places of the others.

    Raises:
        CommandError: if none is left.
    """
    indexes = range(len(statement.names))
    places = [index for index in indexes if any(record[3][index] is not None for record in records)]
    # Without records nothing tells which figures we have.
    if not records or len(places) == len(statement.names):
        return statement, indexes
    names, missing_names = (
        [statement.names[index] for index in indexes if (index in places) is is_present]
        for is_present in (True, False)
    )
    remark = f"Not compared, because ours are not known: {', '.join(missing_names)}."
    if not names:
        raise CommandError(remark, remedy="Compare figures that adanalytics summary shows.")
    rows = {key: tuple(row[index] for index in places) for key, row in statement.rows.items()}
    decimals = [statement.decimals[index] for index in places]
    remarks = [*statement.remarks, remark]
    return replace(statement, names=names, decimals=decimals, rows=rows, remarks=remarks), places


def _folded(value: object) -> str:
    text = " ".join(str("" if value is None else value).casefold().split())
    return "" if text in {"(none)", "(not set)", "(no name)", "none", "null", "-"} else text


def _amount(value: object) -> Decimal:
    return Decimal(str(value)) if isinstance(value, int | Decimal) else Decimal(0)


def ask_service(statement: Statement, client: "Client", zone: tzinfo) -> OwnFigures:
    """Ask for one summary, or one for each day if the keys are days and groups."""
    first, last = statement.first, statement.last
    by: list[Any] = [key for key in statement.by if key != "day"] or ["day"]
    # A summary has one grouping, so days come one by one.
    one_by_one = "day" in statement.by and by != ["day"]
    days = days_of(first, last)
    records = []
    currency = None
    for start, end in [(day, day) for day in days] if one_by_one else [(first, last)]:
        answer = client.summary(start, end, group_by=by[0])
        currency = answer.currency or currency
        names = {*chain.from_iterable(row.model_fields_set for row in answer.rows)}
        if names and by != ["day"] and not names & {f"{by[0]}_id", f"{by[0]}_name"}:
            raise ProtocolError(
                f"The summary has no {by[0]}_id and no {by[0]}_name.", remedy=_SYNC_FIRST
            )
        if by == ["day"] and names and not any(isinstance(row.date, date) for row in answer.rows):
            raise ProtocolError(
                "The rows of the summary by day do not name their days.", remedy=_SYNC_FIRST
            )
        for row in map(dict, answer.rows):
            # A row by campaign does not tell its day; the request does.
            day = row.get("date") if by == ["day"] else start
            if isinstance(day, date):
                groups = [
                    (row.get(f"{key}_id"), row.get(f"{key}_name")) for key in by if key != "day"
                ]
                figures = [row.get(name) for name in statement.names]
                records.append((start_of(day), groups, False, figures))
    return _own(statement, records, hours=None, zone=zone, currency=currency)


def read_dataset(
    statement: Statement, place: str, holdings: "Holdings", labels: Mapping[str, Mapping[str, str]]
) -> OwnFigures:
    """Add up the events of a dataset by quarter of an hour; a day around the period, too.

    The `labels` are the names of each id of a group, which is a text, as far as they are known.
    """
    from adanalytics_client.dataset import Dataset
    from adanalytics_client.dataset.query.files import CommittedFiles
    from adanalytics_client.dataset.query.views import sql_names

    # Elsewhere, a day may begin and end up to 14 hours earlier or later.
    first, last = statement.first - DAY, statement.last + DAY
    files = CommittedFiles.read(place)
    names, columns, places = files.identity.names, files.columns, sql_names(files)

    def sent(part: str) -> str | None:
        name = names.sent(part, columns)
        return name and places[name]

    kind, money = sent("event_type"), {name: sent(name) for name in ("revenue", "cost")}
    sums = {
        column: f"count(*) FILTER ({kind} = '{type_}')" if kind else "NULL"
        for type_, column in COLUMN_OF_TYPE.items()
    }
    # A service may send counts in place of types.
    sums |= {name: f"sum(CAST({sent(name)} AS DECIMAL(38, 0)))" for name in sums if sent(name)}
    sums |= {name: f"sum({column})" if column else "NULL" for name, column in money.items()}
    sums["profit"] = f"{sums['revenue']} - {sums['cost']}"
    zone = ServiceProfile(zone=files.identity.zone).tzinfo()
    offset = zone.utcoffset(start_of(first)) or timedelta()
    moment = sent("event_time")
    has_time = moment and columns[str(names.sent("event_time", columns))].base in {"time", "epoch"}
    # The hours are those of the service's zone, the times are in UTC.
    minute = f"(minute({moment}) + {offset // timedelta(minutes=1) % 60}) % 60"
    quarter = f"coalesce(CAST({minute} AS INTEGER) // {_MINUTES}, 0)" if has_time else "0"
    keys = [key for key in statement.by if key != "day"]
    groups = [sent(f"{key}_id") or "NULL" for key in keys]
    selection = [
        f"{places['date']} AS day",
        f"{places['hour']} AS hour",
        f"{quarter} AS quarter",
        f"coalesce(CAST({sent('is_filtered') or 'false'} AS BOOLEAN), false) AS filtered",
        *(f"{column} AS group_{index}" for index, column in enumerate(groups)),
        *(f"{sums[name]} AS {name}" for name in statement.names),
        f"max({sent('currency') or 'NULL'}) AS unit",
    ]
    sql = (
        f"SELECT {', '.join(selection)} FROM events "  # noqa: S608  # names, quoted above
        f"WHERE {places['date']} BETWEEN DATE '{first}' AND DATE '{last}' "
        f"GROUP BY {', '.join(str(number + 1) for number in range(4 + len(groups)))}"
    )
    records = []
    units = set()
    for row in Dataset(place).query(sql).to_pylist():
        begin = start_of(row["day"])
        begin += timedelta(hours=row["hour"], minutes=row["quarter"] * _MINUTES)
        ids = [row[f"group_{index}"] for index in range(len(groups))]
        group_pairs = zip(ids, keys, strict=True)
        pairs = [(id_, labels.get(key, {}).get(str(id_))) for id_, key in group_pairs]
        figures = [row[name] for name in statement.names]
        records.append((begin, pairs, row["filtered"], figures))
        units.add(row["unit"])
    currency = units.pop() if len(units) == 1 else None
    return _own(statement, records, hours=holdings.hours, zone=zone, currency=currency)
