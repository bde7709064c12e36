"""A bulk export as data: its order, its status and its files."""

import json
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum

from adanalytics_client._base.dates import check_order, to_day
from adanalytics_client._base.validation import check_text
from adanalytics_client._json.exact import Json
from adanalytics_client.errors import ConfigurationError


class ExportPhase(Enum):
    """The state of an export, whatever the service calls it."""

    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of an export. Its repr leaves out `url`, which may be signed.

    Attributes:
        url: the absolute address, including any signature; `repr(url)` leaves the signature out.
        name: the file name, if the service stated one.
        size_bytes: the length, if known.
        sha256: the SHA-256 checksum in hex, if known.
    """

    url: str = field(repr=False)
    name: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """The last known state of an export.

    Attributes:
        phase: working, done, failed or expired.
        status_text: the service's own word for the state, if there is one.
        export_id: the service's id for the export, if there is one.
        files: the files to download, or, until the export is done, the files announced so far.
        reason: why the export failed or is not ready, or what is missing from a finished export; in
            the service's words, if it gave any.
        row_count: the number of events in the export, if known: as the service announced it, and
            after a download as counted in the files.
        service_count: the number of events on the same days by the service's own count, if the
            download compared it and found it equal.
        retry_after: how many seconds to wait before the next request, if the service stated this.
        answered_at: the time of the response, in UTC.
        request_id: the `X-Request-Id` of the response.
        poll_url: the address from which to request the next status.
        keys: the paths of the fields in the response, for error messages.
        order_repeated: whether the order was sent a second time; it is never sent a third time.
        address_exists: whether the status address has ever responded; if not, it may not exist yet.
        answer: everything in the last response, under the service's own names.

    Examples:
        >>> status = job.status()
        >>> status.done, status.status_text, status.row_count, status.answer["format"]
        (True, 'completed', 300, 'csv')
    """

    phase: ExportPhase
    status_text: str | None = None
    export_id: str | None = None
    files: tuple[ExportFile, ...] = ()
    reason: str | None = None
    row_count: int | None = None
    service_count: int | None = None
    retry_after: float | None = None
    answered_at: datetime | None = field(default=None, compare=False)
    request_id: str | None = field(default=None, compare=False)
    poll_url: str | None = None
    keys: tuple[str, ...] = ()
    order_repeated: bool = False
    address_exists: bool = False
    answer: dict[str, Json] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        facts = {
            "status_text": self.status_text,
            "export_id": self.export_id,
            "files": len(self.files),
            "row_count": self.row_count,
            "reason": self.reason,
        }
        texts = [f"{name}={fact!r}" for name, fact in facts.items() if fact is not None]
        return f"ExportStatus({', '.join([self.phase.value, *texts])})"

    @property
    def done(self) -> bool:
        """Return whether the files of the export can be downloaded."""
        return self.phase is ExportPhase.DONE

    def after(self, earlier: "ExportStatus") -> "ExportStatus":
        """Return this status, with missing facts filled in from an earlier status.

        Examples:
            >>> first, later = job.last_status, job.status()
            >>> later.after(first).export_id == first.export_id
            True
        """
        return replace(
            self,
            # Services state less in each response than in all of them together.
            export_id=self.export_id or earlier.export_id,
            files=self.files or earlier.files,
            row_count=earlier.row_count if self.row_count is None else self.row_count,
            poll_url=self.poll_url or earlier.poll_url,
            order_repeated=self.order_repeated or earlier.order_repeated,
            answer=self.answer or earlier.answer,
        )

    def with_rows(self, rows: int | None, service_count: int | None) -> "ExportStatus":
        """Return this status with the numbers that a download found.

        Examples:
            >>> job.last_status.with_rows(300, None).row_count
            300
        """
        return replace(self, row_count=rows, service_count=service_count)


ONE_HOUR = 3600.0
"""The default wait for an export, in seconds."""


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """What an export contains. `compression`, which is undocumented, is sent only if it is set.

    Attributes:
        start: the first day.
        end: the last day, included.
        format: `csv`, or another format that the service knows.
        compression: for example `gzip`; None if no compression was specified.

    Raises:
        ConfigurationError: for a wrong day, an end before the start, an empty format, or no text.
    """

    start: date
    end: date
    format: str
    compression: str | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, to_day(getattr(self, name), name))
        check_order(self.start, self.end)
        check_text("format", self.format)
        check_text("compression", self.compression)
        if not self.format:
            raise ConfigurationError("format is empty.", remedy="Name a file format, such as csv.")

    def body(self) -> bytes:
        """Return the JSON body of the request.

        Examples:
            >>> job.order.body()
            b'{"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "csv"}'
        """
        keys = {"start_date": str(self.start), "end_date": str(self.end), "format": self.format}
        if self.compression is not None:
            keys["compression"] = self.compression
        return json.dumps(keys).encode("utf-8")


for _class in (ExportFile, ExportOrder, ExportPhase, ExportStatus):
    _class.__module__ = "adanalytics_client"
