"""Name what a response has otherwise than the profile of the service that a probe wrote.

The service may add fields and leave others out: what is named here decides which events arrive and
where they end. A profile without the date of a probe is the user's own, and nothing contradicts it.
"""

from collections.abc import Callable, Mapping

from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows
from adanalytics_client._json.rows import Found, stated_error
from adanalytics_client.errors import ProtocolError

from .page import contradiction
from .places import values_at
from .service import ServiceProfile


def changed(service: ServiceProfile, problem: str) -> ProtocolError:
    """Return the error for a service that no longer is as its profile says."""
    return ProtocolError(
        f"The service changed since {service.probe_date}: {problem.rstrip('.')}.",
        remedy="Probe it again: adanalytics doctor --probe.",
    )


def find_at(
    service: ServiceProfile, rows_key: str | None, content: Json, find: Callable[[], Found]
) -> Found:
    """Find rows, and refuse them at any other place than the one that a probe saw.

    Raises:
        ProtocolError: of `find`, too.
    """
    if service.probe_date is None or rows_key is None:
        return find()
    try:
        finding = find()
    except ProtocolError as error:
        # A response without rows may just be an error that the service states.
        if isinstance(content, dict) and stated_error([content]):
            raise
        raise changed(service, error.message) from None
    places = values_at(content, {}, rows_key)
    is_there = any(value is finding.rows or [value] == finding.rows for value in places)
    if not (is_there or finding.placeholder):
        raise changed(service, f"the list of rows is not at {rows_key}")
    return finding


def check_page(
    service: ServiceProfile,
    finding: Found,
    headers: Mapping[str, str],
    *,
    shape: str,
    usual: str | None,
) -> None:
    """Refuse a page that contradicts what a probe saw.

    Args:
        shape: the status and what stands in place of the list; empty for a list.
        usual: the same of a usual page without events; None if it is not known.

    Raises:
        ProtocolError: naming the first contradiction.
    """
    if service.probe_date is None or shape == usual:
        return
    if shape and usual is not None:
        raise changed(service, f"the response without events is {shape}, not {usual}")
    time = service.time_field or service.fields.get("event_time")
    rows = finding.rows if isinstance(finding.rows, RawRows) else RawRows()
    column = service.columns.get(time or "")
    # A field that was null at times may be left out by some services.
    is_always = column is None or column.nulls == "never"
    if time and len(rows) and is_always and time not in rows.sample():
        raise changed(service, f"an event has no field {time}")
    if service.pages is not None and (problem := contradiction(finding, headers, service.pages)):
        raise changed(service, problem)
