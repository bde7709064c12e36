"""What a bulk export is asked to hold."""

import json
import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from adanalytics_client._checks import check_seconds, check_text
from adanalytics_client._dates import Day, to_range
from adanalytics_client._part_place import check_arrival
from adanalytics_client.errors import ConfigurationError

ONE_HOUR = 3600.0
"""Seconds to wait for an export, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """What an export is asked to hold. Only the documented keys are sent unless more is asked.

    Attributes:
        start, end: the first and the last day, both included.
        format: `csv`, or another that the service knows.
        compression: such as `gzip`, or None when nothing was said about it.

    Example:
        >>> job.order.format, job.order.compression, str(job.order.start)
        ('csv', None, '2026-01-15')
    """

    start: date
    end: date
    format: str
    compression: str | None = None

    @classmethod
    def make(
        cls,
        start: Day,
        end: Day | None,
        *,
        file_format: str,
        compression: str | None,
    ) -> "ExportOrder":
        """Check an order.

        Raises:
            ConfigurationError: for a wrong day or an empty format.

        Example:
            >>> ExportOrder.make("2026-01-15", None, file_format="jsonl", compression=None).body()
            b'{"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "jsonl"}'
        """
        first, last = to_range(start, end)
        check_text("format", file_format)
        check_text("compression", compression)
        if not file_format:
            raise ConfigurationError("format must name a file format, such as csv.")
        return cls(first, last, file_format, compression)

    def body(self) -> bytes:
        """The JSON body of the request.

        Example:
            >>> job.order.body()
            b'{"start_date": "2026-01-15", "end_date": "2026-01-15", "format": "csv"}'
        """
        keys = {"start_date": str(self.start), "end_date": str(self.end), "format": self.format}
        if self.compression is not None:
            keys["compression"] = self.compression
        return json.dumps(keys).encode("utf-8")


def check_delivery(to: str | os.PathLike[str], timeout: float) -> None:
    """See that an exported file can come to `to` in time, before anything is sent.

    Raises:
        ConfigurationError: for a path that cannot be one, in a folder that is none, or for a wrong
            timeout.
        DownloadError: when another process is downloading to it.
        OSError: when nothing can be written there.
    """
    check_seconds("timeout", timeout, zero=True)
    if not isinstance(to, str | os.PathLike):
        raise ConfigurationError(f"to={to!r}: pass the path of the file to make.")
    check_arrival(Path(to))
