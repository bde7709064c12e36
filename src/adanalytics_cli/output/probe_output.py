"""The profile of a service as a table: what is published, seen, assumed or unknown."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from adanalytics_cli.core.prose import listed
from adanalytics_client import ServiceProfile
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.fields import DOCUMENTED
from adanalytics_client._shapes.service import ColumnProfile, Grouping, PageProfile

Source = Literal["published", "seen", "assumed", "unknown"]

_DAYS = {
    "inclusive": "from start_date to end_date, both included",
    "exclusive": "from start_date to the day before end_date",
    "first": "start_date alone",
}
_WAITS = {
    "none": "complete at once",
    "state": "by the address of its state",
    "order": "by the same order again",
    "file": "by the address of the file",
}
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of the service, and how it is known."""

    subject: str
    fact: str
    value: str
    source: Source


_Line = tuple[str, str, Source]
"""A fact of one subject: what it is about, its value, and how it is known."""


def _fact(fact: str, value: str | None, *, published: str = "", assumption: str = "") -> _Line:
    """Choose the source of a property: what was seen, else what is published, else assumed."""
    if value is not None:
        return fact, value, "seen"
    if published:
        return fact, published, "published"
    return fact, assumption or "-", "assumed" if assumption else "unknown"


def facts(profile: ServiceProfile) -> list[Fact]:
    """Return the lines of the table."""
    lines = {
        "events": _page_facts(profile),
        "field": _field_facts(profile),
        "summary": _summary_facts(profile),
        "export": _export_facts(profile),
        "headers": _header_facts(profile),
    }
    return [Fact(subject, *line) for subject in lines for line in lines[subject]]


def _page_facts(profile: ServiceProfile) -> Iterator[_Line]:
    pages, has_rows = profile.pages or PageProfile(), bool(profile.columns)

    def place(name: str, text: str) -> _Line:
        # Nowhere was seen only if there was a page to look at.
        value = text or ("nowhere" if has_rows else None)
        return _fact(name, value, published=f"meta.{name}")

    yield _fact("list", profile.rows_key, published="data")
    yield place("total", pages.total)
    yield place("page", pages.page)
    yield place("per_page", pages.per_page)
    places = ", ".join(filter(None, (pages.pages, pages.more, pages.next)))
    yield _fact("further pages", places or ("nowhere" if has_rows else None))
    yield _fact("first page", str(pages.first) if has_rows else None, published="1")
    for name in ("page", "per_page", "hour"):
        is_heeded = pages.heeds.get(name)
        text = None if is_heeded is None else "heeded" if is_heeded else "ignored"
        yield _fact(f"parameter {name}", text, published="heeded")
    limit = None if pages.most is None else f"at most {pages.most:,} per page"
    yield _fact("page size", limit, published="at most 10,000 per page")
    yield _fact("days", _DAYS.get(pages.days or ""), assumption="both dates are included")
    yield _fact("same page twice", _yes_or_no(pages.stable), assumption="the same")
    order = pages.order if pages.order is None else f"by {pages.order}" if pages.order else "none"
    yield _fact("order", order)
    yield _fact("empty hour", pages.empty, assumption="an empty list")
    yield _fact("after the end", pages.past_end, assumption="an empty list")
    if pages.shortfall:
        yield _fact("states", pages.shortfall)
    yield _fact("zone", pages.zone, assumption=profile.zone)


def _yes_or_no(flag: bool | None) -> str | None:
    return None if flag is None else "yes" if flag else "no"


def _field_facts(profile: ServiceProfile) -> Iterator[_Line]:
    parts = {name: part for part, name in profile.fields.items()}
    if profile.time_field:
        parts[profile.time_field] = "event_time"
    for name, column in profile.columns.items():
        text = _described(column)
        yield _fact(name, f"{text}; used as {parts[name]}" if name in parts else text)
    if not profile.columns:
        yield _fact("all", None)


def _described(column: ColumnProfile) -> str:
    kind = column.type if column.role in {None, "flag"} else f"{column.role} as {column.type}"
    kind = "flag as 0 or 1" if column.role == "flag" and column.type == "integer" else kind
    nulls = {"never": "", "some": ", some null", "always": ", always null"}[column.nulls]
    form = f", {column.form}" if column.form else f", up to {counted(column.longest, 'character')}"
    return f"{kind}{'' if column.type == 'flag' else form}{nulls}"


def _summary_facts(profile: ServiceProfile) -> Iterator[_Line]:
    summary = profile.summary
    yield _fact("list", summary.rows_key if summary else None, published="data")
    for grouping in get_args(Grouping):
        names = summary.columns.get(grouping) if summary else None
        yield _fact(f"group_by {grouping}", listed(names, _MOST_NAMES) if names else None)
    for column, name in (summary.sums if summary else {}).items():
        sums = "events of its type" if name == "event_type" else f"sum of {name}"
        yield _fact(column, sums)


def _export_facts(profile: ServiceProfile) -> Iterator[_Line]:
    export = profile.export
    names = export.names if export else {}
    for fact in ("file", "status", "id", "state", "rows"):
        yield _fact(fact, names.get(fact))
    words = ", ".join((export.words if export else {}).values())
    yield _fact("words", words or None)
    yield _fact("wait", _WAITS.get((export and export.wait) or ""))
    columns = export.columns if export else ()
    yield _fact("columns", listed(columns, _MOST_NAMES) or None)
    yield _fact("same rows as pages", _yes_or_no(export.same_rows) if export else None)


def _header_facts(profile: ServiceProfile) -> Iterator[_Line]:
    headers = profile.headers
    yield _fact("request id", (headers.request_id or "none") if headers else None)
    limit = (", ".join(headers.limit) or "none") if headers else None
    yield _fact("limit", limit)


def consequences(profile: ServiceProfile) -> list[str]:
    """Return what the client does because of this, and which options a pull needs."""
    pages = profile.pages or PageProfile()
    texts = []
    if profile.pages is None or not profile.columns:
        texts.append("No event was seen, so its fields stay unknown: probe a partner with data.")
    if pages.shortfall:
        texts.append(f"Each pull is refused, because pages state {pages.shortfall}.")
    if pages.heeds.get("page") is False:
        texts.append("A query is refused if it has several pages: order exports instead.")
    if pages.heeds.get("hour") is False:
        texts.append("Hours cannot be pulled by themselves: pass --split daily.")
    if pages.days in {"exclusive", "first"}:
        texts.append("A range of days is refused where days are missing: order exports instead.")
    if profile.columns and not pages.total:
        texts.append("Pages state no total, so each query ends with one more page that is empty.")
    if profile.columns and not any(column.role == "id" for column in profile.columns.values()):
        texts.append("Events have no id, so an event that comes twice is kept twice.")
    parts = ("event_time", "event_hour")
    has_time = profile.time_field or any(DOCUMENTED.sent(part, profile.columns) for part in parts)
    if profile.columns and not has_time:
        texts.append(
            "No field is known as the time of an event: pass --time-field NAME, or for a day and "
            "an hour --map event_date=NAME --map event_hour=NAME."
        )
    if profile.summary is None:
        texts.append("There is no summary to compare with: verify can compare numbers of files.")
    if profile.export and profile.export.same_rows is False:
        texts.append("The export has other rows than the pages: use --via pages.")
    return texts or ["The client needs no option for this service."]
