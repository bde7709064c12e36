"""The log of this package: without secrets, and on stderr for those who configured no logging."""

import json
import logging
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol
from weakref import WeakSet

from adanalytics_client.errors import ConfigurationError

LOG = logging.getLogger("adanalytics_client")
_LEVELS = ("debug", "info", "warning", "error")
# Of each record; `message` and `asctime` are set by other formatters.
_FIELDS = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class Redactor(Protocol):
    """Removes secrets from texts."""

    def redact(self, text: str) -> str: ...


class _Redaction(logging.Filter):
    """Removes the secrets of all clients from each record: a service may echo one anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self._redactors: WeakSet[Redactor] = WeakSet()
        self._lock = threading.Lock()

    def add(self, redactor: Redactor) -> None:
        with self._lock:
            self._redactors.add(redactor)

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            redactors = [*self._redactors]
        text = public_text = record.getMessage()
        for redactor in redactors:
            public_text = redactor.redact(public_text)
        if public_text != text:
            record.msg, record.args = public_text, ()
        return True


_REDACTION = _Redaction()


def hide_secrets(redactor: Redactor) -> None:
    """Remove the secrets that a redactor knows from all further records of this package's log.

    The redactor is kept no longer than others keep it.
    """
    _REDACTION.add(redactor)
    LOG.addFilter(_REDACTION)


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time in UTC, level, message, and what came as `extra`.

    Examples:
        >>> record = logging.makeLogRecord({"msg": "Trying again", "created": 0.0, "tries": 2})
        >>> json.loads(JsonFormatter().format(record))["tries"]
        2
    """

    def format(self, record: logging.LogRecord) -> str:
        plain = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        extra = vars(record).keys() - _FIELDS
        plain |= {name: getattr(record, name) for name in sorted(extra)}
        if record.exc_info:
            plain["exception"] = self.formatException(record.exc_info)
        return json.dumps(plain, default=str)


def formatter(environment: Mapping[str, str]) -> logging.Formatter | None:
    """Return what writes records in the format of `ADANALYTICS_LOG_FORMAT`; None for text.

    Raises:
        ConfigurationError: for an unknown format.
    """
    name = environment.get("ADANALYTICS_LOG_FORMAT", "").lower()
    if name not in {"", "text", "json"}:
        raise ConfigurationError(
            f"ADANALYTICS_LOG_FORMAT={name} is not a format.", remedy="Set it to text or json."
        )
    return JsonFormatter() if name == "json" else None


def log_to_stderr(environment: Mapping[str, str]) -> None:
    """Show records from the level in `ADANALYTICS_LOG` on, if it is set.

    A program that has configured logging gets the records of that level in its own log instead.

    Raises:
        ConfigurationError: for an unknown level or format.
    """
    log_formatter = formatter(environment)
    level = environment.get("ADANALYTICS_LOG", "").lower()
    if not level:
        return
    if level not in _LEVELS:
        raise ConfigurationError(
            f"ADANALYTICS_LOG={level} is not a level.", remedy=f"Set it to {', '.join(_LEVELS)}."
        )
    LOG.setLevel(level.upper())
    # A program with a log of its own would have each line twice.
    if not LOG.hasHandlers() and sys.stderr is not None:
        handler = logging.StreamHandler()
        handler.setFormatter(
            log_formatter or logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
        )
        LOG.addHandler(handler)
