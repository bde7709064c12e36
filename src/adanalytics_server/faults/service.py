"""A service file as a choice for the same gaps that dialects fill."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import msgspec

from adanalytics_server.dialect import HEADER, USUAL_PER_PAGE, WHOLE_BODY, Plain, parent_of

from . import ends, rows
from .dialects import Choice, DialectError
from .service_file import Export, Pages, ResponseHeaders, ServiceFile, read_service, zone_of
from .service_rows import fold, row_change, summary_change

Changes = dict[str, Any]
# The objects around page numbers that state other facts, too.
_META = ("meta", "metadata")
_LAST = ("last", "islast", "lastpage", "islastpage", "done", "endofrecords")
_EMPTY = {"": b"", "rows": b"[]", "[]": b"[]", "null": b"null", "{}": b"{}"}
_DAYS = {"exclusive": ends.exclude_end_date, "first": ends.ignore_end_date}


def service_choice(service: str | PathLike[str]) -> Choice:
    """Return the choices of a service file: a path, or a name in the package.

    Raises:
        DialectError: the file cannot be read, or its values contradict each other.

    Examples:
        >>> service_choice("camel").changes["envelope"]
        'data'
    """
    file = read_service(service)
    try:
        changes = _changes(file)
    except DialectError as error:
        raise DialectError(f"{service}: {error}") from None
    return Choice(f"the responses of {service}", changes, "a probe of the service", is_set=True)


def _changes(file: ServiceFile) -> Changes:
    changes: Changes = {}
    list_path = file.rows_key or "data"
    if file.rows_key is not None:
        changes["envelope"] = file.rows_key
    if file.summary is not None and file.summary.rows_key is not None:
        changes["summary_envelope"] = file.summary.rows_key
    if (summary := summary_change(file)) is not None:
        changes["summary_rows"] = summary
    if file.pages is not None:
        changes |= _of_pages(file.pages, list_path)
    if file.export is not None:
        changes |= _of_export(file.export)
    if file.headers is not None:
        changes |= _of_headers(file.headers)
    if file.columns:
        # They take the events as stored, so no other change of rows may come before.
        changes |= {"ids": None, "times": None, "amounts": None, "fields": row_change(file)}
        names = file.export.columns if file.export else ()
        if names and names != tuple(file.columns):
            changes["file_rows"] = row_change(file, names)
    if file.zone != "UTC":
        zone = zone_of(file.zone)
        changes |= {"zone": zone, "belongs": rows.hours_in(zone)}
    return changes


def _of_pages(pages: Pages, list_path: str) -> Changes:
    if pages.first not in (0, 1):
        raise DialectError(f"pages.first is {pages.first}: the first page is 0 or 1")
    if pages.most is not None and pages.most < 1:
        raise DialectError(f"pages.most is {pages.most}: leave it out if there is no such limit")
    # The same place may say that pages follow, or that this is the last; its name tells.
    end_fact = "is_last" if _last_name(pages.more) in _LAST else "has_more"
    places = {
        "total": pages.total,
        "page": pages.page,
        "per_page": pages.per_page,
        "total_pages": pages.pages,
        end_fact: pages.more,
        _next_fact(pages.next): pages.next,
    }
    metadata = {fact: place for fact, place in places.items() if place}
    _check_places([list_path, *metadata.values()])
    bodies = (place for place in metadata.values() if not place.startswith(HEADER))
    outer = parent_of(next(bodies, "")).rstrip(".")
    parent = parent_of(list_path).rstrip(".")
    changes: Changes = {
        "metadata": metadata,
        "facts": outer if _last_name(outer) in _META else parent,
        "first_page": pages.first,
    }
    if pages.most is not None:
        changes["per_page"] = ends.cap_at(pages.most)
    if pages.days in _DAYS:
        changes["end_date"] = _DAYS[pages.days]
    if pages.shortfall:
        changes["beside"] = _beside(pages.shortfall)
    ignored = {
        "page": ends.ignore_page,
        "per_page": ends.ignoring(per_page=pages.most or USUAL_PER_PAGE),
        "hour": ends.ignore_hour,
    }
    for name, is_heeded in pages.heeds.items():
        if name not in ignored:
            raise DialectError(f"pages.heeds has an unknown key {name!r}: {', '.join(ignored)}")
        if not is_heeded:
            changes[name] = ignored[name]
    for gap, words in (("empty", pages.empty), ("past_end", pages.past_end)):
        if words is not None:
            changes[gap] = _plain(words, list_path, f"pages.{gap}")
    return changes


def _beside(text: str) -> Mapping[str, object]:
    """Return the member that a text such as ``success: false`` states."""
    name, _, value = text.partition(": ")
    try:
        return {name: msgspec.json.decode(value)}
    except msgspec.DecodeError:
        raise DialectError(
            f"pages.shortfall is {text!r}: write a name and JSON, such as 'success: false'"
        ) from None


def _last_name(place: str) -> str:
    """Return the folded last name of a path."""
    return fold(place.rpartition(".")[2])


def _next_fact(place: str) -> str:
    """Return which form of the next page a place has: a number, an address or a header ``Link``."""
    if place.lower() == f"{HEADER}link":
        return "next_link"
    return "next_page" if _last_name(place).endswith("page") else "next_url"


def _check_places(places: list[str]) -> None:
    """Refuse a place in the body that is inside another one."""
    paths = [place for place in places if not place.startswith(HEADER)]
    for path in paths:
        for child in paths:
            if child != path and (child.startswith(f"{path}.") or path == WHOLE_BODY):
                raise DialectError(f"{path!r} leaves no room for {child!r}")


def _plain(words: str, list_path: str, key: str) -> Plain | None:
    """Return the response that a status and a body name, or ``None`` for the usual one."""
    status, _, body = words.partition(" ")
    if not (status.isdecimal() and 200 <= int(status) < 600 and body in _EMPTY):
        raise DialectError(f"{key} is {words!r}: write a status and [], null or {{}}, or 404")
    if int(status) >= 400 and not body:
        return Plain(int(status), b'{"error":"No events"}')
    if body in {"[]", "rows"} and int(status) == 200:
        # Rows come there where the page is not heeded.
        return None
    content = _EMPTY[body]
    if body in {"rows", "[]", "null"}:
        for name in reversed([] if list_path == WHOLE_BODY else list_path.split(".")):
            content = b"{%b:%b}" % (msgspec.json.encode(name), content)
    return Plain(int(status), content)


def _of_export(export: Export) -> Changes:
    wait = export.wait or "none"
    changes: Changes = {"words": export.words, "wait": wait}
    if export.names:
        address = "download_url" if wait == "file" else "ready_url"
        is_header = export.names.get("state", "").startswith(HEADER)
        facts = {
            "id": "export_id",
            "status": "status",
            "file": address,
            "state": "location" if is_header else "status_url",
            "rows": "row_count",
        }
        places = {facts[name]: place for name, place in export.names.items()}
        _check_places([*places.values()])
        outer = parent_of(next(iter(places.values())))
        changes["export_places"] = {**places, "failure": f"{outer}error"}
    states = tuple(state for state in ("pending", "processing") if state in export.words)
    if not states and "status" not in export.names:
        states = ("pending",)
    if wait == "file":
        # The order has the first of them, and the file is not there at the first request.
        states = states[:1] * 2
    changes["states"] = () if wait == "none" else states
    return changes


def _of_headers(headers: ResponseHeaders) -> Changes:
    rate = {name: _limit_fact(name) for name in headers.limit}
    if rate and "retry_after" not in rate.values():
        rate["Retry-After"] = "retry_after"
    return {"request_id": headers.request_id, "rate": rate}


def _limit_fact(header: str) -> str:
    name = _last_name(header)
    exact = {"ratelimit": "state", "ratelimitpolicy": "policy", "retryafter": "retry_after"}
    if name in exact:
        return exact[name]
    facts = {"remaining": "remaining", "used": "used", "reset": "reset_seconds"}
    return next((fact for word, fact in facts.items() if word in name), "limit")
