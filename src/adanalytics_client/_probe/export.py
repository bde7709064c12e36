"""How a bulk export is ordered, described and waited for, and whether it has the same rows."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

from adanalytics_client._base.effects import Atomic, Offload, Operation
from adanalytics_client._call.session import Session
from adanalytics_client._exports.download import ExportDownload
from adanalytics_client._exports.order import order_export
from adanalytics_client._exports.status import ExportOrder, ExportPhase, ExportStatus
from adanalytics_client._exports.wait import wait_for
from adanalytics_client._json.exact import Json, json_text
from adanalytics_client._json.rows import members
from adanalytics_client._shapes.service import ExportFact, ExportProfile, ExportState, Wait
from adanalytics_client.errors import AdAnalyticsError, AuthenticationError, RequestLimitReached

_TIMEOUT = 600.0
_WORD = re.compile(r"[A-Za-z_-]{1,20}")
Rows = Sequence[Mapping[str, Json]]


def probe_export(session: Session, day: date, rows: Rows | None) -> Operation[ExportProfile | None]:
    """Order one export of a day and wait for it; None if the service refuses the order.

    Args:
        rows: the events of the day by pages; None if they are not all known.
    """
    order = ExportOrder(day, day, "csv")
    statuses = []
    try:
        statuses.append((yield from order_export(session, order)))
        operation = wait_for(session, order, statuses[0], timeout=_TIMEOUT, keep=statuses.append)
        statuses.append((yield from operation))
    except (AuthenticationError, RequestLimitReached):
        raise
    except AdAnalyticsError:
        if not statuses:
            return None
    folder: TemporaryDirectory[str] = yield Atomic(
        partial(TemporaryDirectory, prefix="adanalytics-")
    )
    path = Path(folder.name) / "day.csv"
    columns, same_rows = (), None
    try:
        yield from ExportDownload(session, order, statuses[-1], "none").run(path, timeout=_TIMEOUT)
        columns, same_rows = yield Offload(partial(_compare, path, rows))
    except (AuthenticationError, RequestLimitReached):
        raise
    except (AdAnalyticsError, OSError, UnicodeDecodeError, csv.Error):
        # What the file is stays unknown.
        pass
    finally:
        yield Atomic(folder.cleanup)
    return ExportProfile(
        names=_names(session.address("bulk-export"), statuses),
        words=_words(statuses),
        wait=_wait(statuses),
        columns=columns,
        same_rows=same_rows,
    )


def _names(base: str, statuses: Iterable[ExportStatus]) -> dict[ExportFact, str]:
    """Return the place of each fact in the responses, the latest one first."""
    names: dict[ExportFact, str] = {}
    # The last response is the most complete one, and its places are those that matter.
    for status in reversed([*statuses]):
        facts: dict[ExportFact, set[Any]] = {
            "id": {status.export_id},
            "status": {status.status_text},
            "file": {file.url for file in status.files},
            "state": {status.poll_url},
            "rows": {status.row_count},
        }
        for name, values in facts.items():
            for place, value in members(status.answer):
                is_address = isinstance(value, str) and name in {"file", "state"}
                text = urljoin(base, value) if is_address else value
                if isinstance(text, str | int) and text in values:
                    names.setdefault(name, place)
    if "file" not in names and any(status.files for status in statuses):
        names["file"] = "header location"
    return names


def _words(statuses: Iterable[ExportStatus]) -> dict[ExportState, str]:
    words: dict[ExportState, str] = {}
    for status in statuses:
        # A sentence may name what the data are of.
        if status.status_text is None or not _WORD.fullmatch(status.status_text):
            continue
        if status.phase is ExportPhase.DONE:
            words["completed"] = status.status_text
        elif status.phase is ExportPhase.WORKING and status.status_text not in words.values():
            words["processing" if "pending" in words else "pending"] = status.status_text
    return words


def _wait(statuses: Sequence[ExportStatus]) -> Wait | None:
    if statuses[0].phase is ExportPhase.DONE:
        return "none"
    if statuses[-1].order_repeated:
        return "order"
    if statuses[-1].phase is not ExportPhase.DONE:
        return None
    return "state" if statuses[-1].poll_url else "file"


def _compare(path: Path, rows: Rows | None) -> tuple[tuple[str, ...], bool | None]:
    """Return the columns of a CSV file, and whether it has the same rows in any order."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        columns = tuple(next(reader, ()))
        if rows is None:
            return columns, None
        lines = Counter(map(tuple, reader))
    texts = Counter(tuple(_text(row.get(name)) for name in columns) for row in rows)
    if lines == texts:
        return columns, True
    # Of as many rows, the values may only be written in another way.
    return columns, None if lines.total() == texts.total() else False


def _text(value: Json) -> str:
    """Return a value as a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)
