"""Ask the service once what its public documents leave open: at most 12 GETs about one day."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from adanalytics_client._base.effects import Operation
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.spelling import fold
from adanalytics_client._call.retry import RetryPolicy
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import DOCUMENTED, EVENT_KINDS, ID_OF
from adanalytics_client._shapes.service import (
    Grouping,
    HeaderProfile,
    ServiceProfile,
    SummaryProfile,
)
from adanalytics_client.errors import ProtocolError, TransportError

from .asker import Asker, ProbeDay, choose_day
from .columns import column_profiles, sums, time_column
from .events import EventProbe
from .export import probe_export
from .places import rows_place

# Rails, Spring and Heroku (X-Request-Id), ASP.NET (X-Correlation-Id), Google (X-Cloud-Trace-Id).
_MOST_COLUMNS = 200
_REQUEST_IDS = ("requestid", "correlationid", "traceid")


def probe(session: Session, *, with_export: bool = False) -> Operation[ServiceProfile]:
    """Return the profile of the service; see `Client.probe`."""
    service = session.config.service
    hint = None if service.probe_date else service.rows_key
    # By an earlier profile, a change would be an error. A request that is repeated would cost more.
    session = session.with_config(
        replace(session.config, service=ServiceProfile(), retry=RetryPolicy(attempts=1))
    )
    asker = Asker(session, hint)
    day = yield from choose_day(asker)
    events = EventProbe(asker, day)
    pages = yield from events.run()
    failure = asker.failure or ProtocolError("no rows.", remedy=remedy("shape"))
    if events.rows_key is None and isinstance(failure, TransportError):
        raise failure
    summary = yield from _probe_summary(asker, day)
    if events.rows_key is None and summary is None:
        text = "The service serves neither events nor summaries in a form that can be read"
        raise ProtocolError(f"{text}: {failure.message}", remedy=failure.remedy)
    export = None
    if with_export:
        rows = day.rows if day.is_whole else None
        export = yield from probe_export(session, day.day, rows)
    columns = column_profiles(day.rows)
    if len(columns) > _MOST_COLUMNS:
        # So many names are values themselves.
        columns = {}
    ties = summary.sums if summary else {}
    time = events.time or time_column(columns)
    return ServiceProfile(
        rows_key=events.rows_key,
        zone=events.zone or "UTC",
        fields={
            part: name
            for part, name in ties.items()
            if part in EVENT_KINDS and DOCUMENTED.documented(name) is None
        },
        time_field=time if time and DOCUMENTED.documented(time) is None else None,
        pages=pages and replace(pages, zone=events.zone),
        summary=summary,
        export=export,
        headers=_header_profile(asker.headers),
        columns=columns,
        probe_date=datetime.fromtimestamp(session.clock.time(), UTC).date(),
    )


def _probe_summary(asker: Asker, day: ProbeDay) -> Operation[SummaryProfile | None]:
    """Look at the summary of the day, as one total and by each grouping."""
    by_day, key = day.by_day
    columns = {}
    ties = {}
    # The day was asked for before.
    groupings: tuple[Grouping, ...] = ("none", *ID_OF)
    for grouping in groupings:
        look = yield from asker.look(
            "summary",
            start_date=day.day,
            end_date=day.end,
            group_by=None if grouping == "none" else grouping,
        )
        key = key or rows_place(look, name="summary", hint=asker.hint)
        rows = look.rows(key)
        if rows:
            columns[grouping] = _names(rows)
        # Only with all events of the day can a figure be recognised by its sum.
        if grouping == "none" and len(rows) == 1 and day.is_whole:
            ties = sums(day.rows, column_profiles(day.rows), rows[0])
    if rows := by_day.rows(key):
        columns["day"] = _names(rows)
    return SummaryProfile(key, columns, ties) if columns else None


def _names(rows: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    names = dict.fromkeys(name for row in rows for name in row)
    return tuple(names) if len(names) <= _MOST_COLUMNS else ()


def _header_profile(names: Collection[str]) -> HeaderProfile:
    limit = tuple(sorted(name for name in names if "ratelimit" in fold(name)))
    ids = sorted(name for name in names if fold(name).endswith(_REQUEST_IDS))
    return HeaderProfile(next(iter(ids), ""), limit)
