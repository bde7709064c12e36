"""A bulk export as text: everything that another process needs to continue, but no credential."""

from dataclasses import asdict, dataclass, fields, replace
from datetime import date, datetime
from typing import Any, Generic, Self, TypeVar

from adanalytics_client._base.urls import Address
from adanalytics_client._call.config import Config
from adanalytics_client._call.connection import Connection
from adanalytics_client._exports.status import ExportFile, ExportOrder, ExportPhase, ExportStatus
from adanalytics_client._json.encoding import json_text, utf8
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client.errors import ConfigurationError

D = TypeVar("D")

_FORM = 1


@dataclass(frozen=True, slots=True)
class SavedExport:
    """An export of one service and partner: its order and its last status.

    The addresses in the status may be signed.
    """

    base_url: str
    partner: str
    order: ExportOrder
    status: ExportStatus

    def to_json(self) -> str:
        """Return one JSON object; exact numbers stay exact, and any file can store it."""
        order, status = self.order, self.status
        content = {
            "form": _FORM,
            "base_url": self.base_url,
            "partner": self.partner,
            "order": {
                "start_date": str(order.start),
                "end_date": str(order.end),
                "format": order.format,
                "compression": order.compression,
            },
            "status": asdict(status)
            | {
                "phase": status.phase.value,
                "answered_at": status.answered_at and status.answered_at.isoformat(),
            },
        }
        return utf8(json_text(content, sort_keys=True)).decode()

    def check(self, config: Config) -> "SavedExport":
        """Refuse a client of another service or partner."""
        if self.partner != config.partner or not config.base.is_at(self.base_url):
            raise ConfigurationError(
                f"The saved export belongs to partner {self.partner!r} of {self.base_url}.",
                remedy="Use a client for that partner and service.",
            )
        return self


def read_saved(text: str) -> SavedExport:
    """Read the text of `SavedExport.to_json`, even of a version with fewer or more fields."""
    try:
        content = parse(text.encode())
        if content["form"] != _FORM:
            raise ConfigurationError(
                "The saved export was made by a newer version.", remedy="Update adanalytics."
            )
        order = content["order"]
        return SavedExport(
            str(content["base_url"]),
            str(content["partner"]),
            ExportOrder(
                date.fromisoformat(order["start_date"]),
                date.fromisoformat(order["end_date"]),
                order["format"],
                order["compression"],
            ),
            _read_status(content["status"]),
        )
    except (NotJson, KeyError, TypeError, ValueError, AttributeError):
        raise ConfigurationError(
            "This is not a saved export.",
            remedy="Pass the text that to_json() of an export job returned.",
        ) from None


def _read_status(content: dict[str, Json]) -> ExportStatus:
    known = {each.name: content[each.name] for each in fields(ExportStatus) if each.name in content}
    answered_at, poll_url, pause = map(known.get, ("answered_at", "poll_url", "retry_after"))
    changed = {
        "phase": ExportPhase(known["phase"]),
        "files": tuple(
            ExportFile(Address(each["url"]), each["name"], each["size_bytes"], each["sha256"])
            for each in known["files"]
        ),
        "retry_after": None if pause is None else float(pause),
        "answered_at": None if answered_at is None else datetime.fromisoformat(answered_at),
        "poll_url": None if poll_url is None else Address(poll_url),
        "keys": tuple(known["keys"]),
    }
    return ExportStatus(**(known | changed))


class SavedJob(Generic[D]):
    """An export, and the connection that requests it.

    A pickled job omits the connection, and with it the credential.
    """

    def __init__(self, saved: SavedExport, bound: Connection[D] | None) -> None:
        self._saved = saved
        self._bound = bound

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.last_status!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.to_json())

    def __copy__(self) -> Self:
        return type(self)(self._saved, self._bound)

    def __deepcopy__(self, _memory: dict[int, Any]) -> Self:
        return self.__copy__()

    def to_json(self) -> str:
        """Return the job as text, to continue it elsewhere.

        It contains no credential, but maybe signed addresses: whoever has one can read the export
        until the address expires. The same is true of a pickled job.

        Examples:
            >>> with open("job.json", "w") as file:
            ...     written = file.write(job.to_json())
        """
        return self._saved.to_json()

    @property
    def order(self) -> ExportOrder:
        """The ordered content."""
        return self._saved.order

    @property
    def export_id(self) -> str | None:
        """The service's id of the export, if it has one."""
        return self.last_status.export_id

    @property
    def last_status(self) -> ExportStatus:
        """The last known status; it costs no request."""
        return self._saved.status

    def _keep(self, status: ExportStatus) -> ExportStatus:
        self._saved = replace(self._saved, status=status)
        return status

    def _connection(self) -> Connection[D]:
        if self._bound is None:
            raise ConfigurationError(
                "This job was unpickled without its client.",
                remedy=f"Continue with {type(self).__name__}.from_json(client, job.to_json()).",
            )
        return self._bound


def _unpickled(kind: type[SavedJob[Any]], text: str) -> SavedJob[Any]:
    return kind(read_saved(text), None)
