"""Our figures by day, campaign and so on, from the summary or from the events of a dataset."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from adanalytics_cli.core.periods import days_of
from adanalytics_cli.output.query_footer import doubts_of
from adanalytics_client import ProtocolError, ServiceProfile

from .statement import Figures, Group, Key, Statement, folded

if TYPE_CHECKING:
    from adanalytics_client import Client
    from adanalytics_client.dataset import Holdings

DAY = timedelta(days=1)
# The offsets of time zones are multiples of it.
_MINUTES = 15

Record = tuple[datetime, Sequence[tuple[object, object]], bool, Sequence[object]]
"""A moment, the id and the name of each group, whether it is filtered, and the figures.

A figure is None where the service does not tell it, such as the cost.
"""


class Series:
    """The figures of one group by the moment at which their hour, or part of it, begins."""

    def __init__(self, records: Iterable[tuple[datetime, Figures]], zeros: Figures) -> None:
        pairs = sorted((record for record in records if any(record[1])), key=itemgetter(0))
        self.moments = [moment for moment, _ in pairs]
        # Sums up to each moment, whose differences are the sums between two of them.
        self._sums = [*accumulate((figures for _, figures in pairs), add, initial=zeros)]

    def between(self, begin: datetime, end: datetime) -> Figures:
        """Return the sums from `begin` until before `end`."""
        first, last = (bisect_left(self.moments, moment) for moment in (begin, end))
        return tuple(map(Decimal.__sub__, self._sums[last], self._sums[first]))


def add(one: Figures, other: Figures) -> Figures:
    return tuple(map(Decimal.__add__, one, other))


class OwnFigures:
    """Our figures for the period of a statement, grouped as it is: by its ids, or else by names.

    Attributes:
        statement: the statement, without figures that we do not have.
        valid: the figures of each group as a summary counts them.
        filtered: those of filtered (invalid) traffic, which a summary leaves out.
        labels: what to call a group.
        hours: the hours that a dataset holds of each day; None for the service, which tells only
            days.
        zone: the time zone of our days.
        currency: the unit of our money, where it is known.
        unassigned: our figures without a campaign or tag, where the statement has none such.
    """

    def __init__(
        self,
        statement: Statement,
        records: Collection[Record],
        *,
        hours: Mapping[date, int] | None,
        zone: tzinfo,
        currency: str | None,
    ) -> None:
        # Without records nothing tells which figures we have.
        places = [
            place
            for place in range(len(statement.names))
            if not records or _are_numbers(record[3][place] for record in records)
        ]
        self.statement = statement.part(places)
        self.hours, self.zone, self.currency = hours, zone, currency
        self.zeros: Figures = (Decimal(0),) * len(places)
        by_id = []
        for place in range(len(statement.fields)):
            pairs = {record[1][place] for record in records}
            words = {group[place] for _, group in statement.rows}
            ids, names = ({folded(pair[side]) for pair in pairs} - {""} for side in (0, 1))
            by_id.append(not names or len(words & ids) > len(words & names))
        sides: tuple[dict[Group, list[tuple[datetime, Figures]]], ...] = ({}, {})
        self.labels = dict[Group, Group]()
        for moment, groups, is_filtered, values in records:
            group = tuple(
                folded(pair[0] if use_id else pair[1] or pair[0])
                for pair, use_id in zip(groups, by_id, strict=True)
            )
            label = tuple(str(pair[1] or pair[0] or "(none)") for pair in groups)
            self.labels.setdefault(group, label)
            figures = tuple(Decimal(str(values[place] or 0)) for place in places)
            sides[int(is_filtered)].setdefault(group, []).append((moment, figures))
        self.labels = statement.labels | self.labels
        self.valid, self.filtered = (
            {group: Series(entries, self.zeros) for group, entries in side.items()}
            for side in sides
        )
        self.unassigned = self.zeros
        # Without an id they are in no report by campaign.
        for group in {*self.valid} - {group for _, group in statement.rows}:
            if "" in group:
                self.unassigned = add(self.unassigned, self.figures((None, group)))
                del self.valid[group]

    def between(
        self, key: Key, begin: datetime, end: datetime, *, filtered: bool = False
    ) -> Figures:
        series = (self.filtered if filtered else self.valid).get(key[1])
        return series.between(begin, end) if series else self.zeros

    def figures(self, key: Key, *, filtered: bool = False) -> Figures:
        """Return the figures of the day of a key, or of the period."""
        first, last = (key[0], key[0]) if key[0] else (self.statement.first, self.statement.last)
        return self.between(key, start_of(first), start_of(last) + DAY, filtered=filtered)

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


def _are_numbers(values: Iterable[object]) -> bool:
    """Return whether there is a number, and nothing else; None is nothing."""
    return {isinstance(value, int | Decimal) for value in values if value is not None} == {True}


def ask_service(statement: Statement, client: "Client", zone: tzinfo) -> OwnFigures:
    """Ask for one summary, or one for each day if the keys are days and groups."""
    first, last = statement.first, statement.last
    groups: list[Any] = [key for key in statement.by if key != "day"]
    spans = [(first, last)]
    # A summary has one grouping, so days come one by one.
    if groups and "day" in statement.by:
        spans = [(day, day) for day in days_of(first, last)]
    by = (groups or ["day"])[0]
    records: list[Record] = []
    currency = None
    for start, end in spans:
        answer = client.summary(start, end, group_by=by)
        currency = answer.currency or currency
        rows = [
            row
            for row in answer.rows
            if (
                row.model_fields_set & {f"{by}_id", f"{by}_name"}
                if groups
                else isinstance(row.date, date)
            )
        ]
        if answer.rows and not rows:
            raise ProtocolError(
                f"The rows of the summary by {by} do not name their {by}s.",
                remedy="Sync these days, and add --in DIR.",
            )
        for row in map(dict, rows):
            # A row by campaign does not tell its day; the request does.
            day = start if groups else row["date"]
            pairs = [(row.get(f"{key}_id"), row.get(f"{key}_name")) for key in groups]
            figures = [row.get(name) for name in statement.names]
            records.append((start_of(day), pairs, False, figures))
    return OwnFigures(statement, records, hours=None, zone=zone, currency=currency)


def read_dataset(statement: Statement, place: str, holdings: "Holdings") -> OwnFigures:
    """Add up the events of a dataset by quarter of an hour; a day around the period, too.

    Events have ids only; a sync keeps the names that summaries of its days tell.
    """
    from adanalytics_client.dataset import Dataset
    from adanalytics_client.dataset.query.files import CommittedFiles
    from adanalytics_client.dataset.query.summary import figures_of
    from adanalytics_client.dataset.query.views import source_of

    # Elsewhere, a day may begin and end up to 14 hours earlier or later.
    first, last = statement.first - DAY, statement.last + DAY
    files = CommittedFiles.read(place)
    statement.remarks += doubts_of([files.coverage])
    source = source_of(files)._replace(select="FROM events")
    names, columns, places = source.names, source.columns, source.quoted

    def sent(part: str) -> str | None:
        name = names.sent(part, columns)
        return name and places[name]

    def ask(sql: str) -> list[tuple[Any, ...]]:
        answer = Dataset(place).query(sql)
        return [*zip(*(column.to_pylist() for column in answer.columns), strict=True)]

    labels: dict[str, Mapping[str, str]] = {}
    data_days = [day for day in holdings.hours if statement.first <= day <= statement.last]
    for key in statement.names_of:
        group = files.group_names.get(key)
        if group and all(group.first <= day <= group.last for day in data_days):
            labels[key] = group.names
        else:
            text = f"The dataset has no {key} names of all these days: sync them, or compare by id."
            statement.remarks.append(text)
    sums = figures_of(source, first, last, ask)
    if sums.keys() >= {"revenue", "cost"}:
        revenue, cost = (f"coalesce({sums[name]}, 0)" for name in ("revenue", "cost"))
        sums["profit"] = f"{revenue} - {cost}"
    zone = ServiceProfile(zone=files.identity.zone).tzinfo()
    offset = zone.utcoffset(start_of(first)) or timedelta()
    minute, moment = "0", sent("event_time")
    if moment and columns[str(names.sent("event_time", columns))].base in {"time", "epoch"}:
        # The hours are those of the service's zone, the times are in UTC.
        minute = f"(minute({moment}) + {offset // timedelta(minutes=1) % 60}) % 60"
    keys = [key for key in statement.by if key != "day"]
    selection = [
        places["date"],
        places["hour"],
        f"coalesce(CAST({minute} AS INTEGER) // {_MINUTES}, 0) AS quarter",
        f"coalesce(CAST({sent('is_filtered') or 'false'} AS BOOLEAN), false) AS filtered",
        *(sent(f"{key}_id") or "NULL" for key in keys),
        *(sums.get(name, "NULL") for name in statement.names),
        f"max({sent('currency') or 'NULL'})",
    ]
    rows = ask(
        f"SELECT {', '.join(selection)} FROM events "  # noqa: S608  # names, quoted above
        f"WHERE {places['date']} BETWEEN DATE '{first}' AND DATE '{last}' GROUP BY ALL"
    )
    records: list[Record] = []
    units = set()
    for day, hour, quarter, is_filtered, *values, unit in rows:
        begin = start_of(day) + timedelta(hours=hour, minutes=quarter * _MINUTES)
        pairs = [
            (id_, labels.get(key, {}).get(str(id_))) for key, id_ in zip(keys, values, strict=False)
        ]
        records.append((begin, pairs, is_filtered, values[len(keys) :]))
        units.add(unit)
    currency = units.pop() if len(units) == 1 else None
    return OwnFigures(statement, records, hours=holdings.hours, zone=zone, currency=currency)
