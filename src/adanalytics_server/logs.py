"""The format of the server's log: lines of text for people, JSON objects for machines.

Only ``adanalytics serve`` sets this up. Inside another program, the server logs through the
standard loggers and leaves their settings alone.
"""

import asyncio
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

LogFormat = Literal["text", "json"]


def set_up_logs(
    form: LogFormat, *, level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Log every record of at least ``level`` to a stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(_is_no_cancelled_request)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    logging.getLogger("adanalytics_server").setLevel(level)
    # uvicorn announces each step of its start and stop, which the server itself says better.
    logging.getLogger("uvicorn.error").setLevel(max(level, logging.WARNING))


class TextFormatter(logging.Formatter):
    """One line per record: UTC time, level, message, request id; tracebacks are indented."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_instant(record)} {record.levelname} {_one_line(record.getMessage())}"
        if request_id := getattr(record, "fields", {}).get("request_id"):
            line += f" {request_id}"
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n  {_one_line(row)}" for row in trace.splitlines())
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, fields of the request, trace."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def _is_no_cancelled_request(record: logging.LogRecord) -> bool:
    # The server logs one line for the requests that it cancels; uvicorn would add a traceback for
    # each.
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)


def _instant(record: logging.LogRecord) -> str:
    instant = datetime.fromtimestamp(record.created, UTC)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03}Z"


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
