"""A bulk export as text: everything that another process needs to continue, but no credential."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec

from adanalytics_client._base.urls import Address
from adanalytics_client._call.config import Config
from adanalytics_client._call.session import Connection
from adanalytics_client._json.exact import json_text, parse, utf8
from adanalytics_client.errors import ConfigurationError

from .status import ExportOrder, ExportStatus

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
        content = msgspec.to_builtins(self, builtin_types=(Decimal,), enc_hook=str)
        order = content["order"]
        order["start_date"], order["end_date"] = order.pop("start"), order.pop("end")
        return utf8(json_text({"form": _FORM, **content}, sort_keys=True)).decode()

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
        form, order = content["form"], content["order"]
        order |= {"start": order["start_date"], "end": order["end_date"]}
        # Unknown fields are ignored, but a new form may mean the known ones differently.
        record = msgspec.convert(content, SavedExport) if form == _FORM else None
    except (KeyError, TypeError, ValueError, msgspec.ValidationError):
        raise ConfigurationError(
            "This is not a saved export.",
            remedy="Pass the text that to_json() of an export job returned.",
        ) from None
    if record is None:
        raise ConfigurationError(
            "The saved export was made by a newer version.", remedy="Update adanalytics."
        )
    status = record.status
    files = tuple(replace(file, url=Address(file.url)) for file in status.files)
    poll_url = status.poll_url and Address(status.poll_url)
    return replace(record, status=replace(status, files=files, poll_url=poll_url))


class SavedJob(Generic[D]):
    """An export, and the connection that requests it.

    A pickled job omits the connection, and with it the credential.
    """

    def __init__(self, record: SavedExport, bound: Connection[D] | None) -> None:
        self._record = record
        self._bound = bound

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.last_status!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.to_json())

    def to_json(self) -> str:
        """Return the job as text, to continue it elsewhere.

        The text contains no credential, but it may contain signed addresses: anyone with such an
        address can read the export until the address expires. The same is true of a pickled job.

        Examples:
            >>> with open("job.json", "w") as file:
            ...     written = file.write(job.to_json())
        """
        return self._record.to_json()

    @property
    def order(self) -> ExportOrder:
        """Return the order: what the export contains."""
        return self._record.order

    @property
    def export_id(self) -> str | None:
        """Return the service's id for the export, if it has one."""
        return self.last_status.export_id

    @property
    def last_status(self) -> ExportStatus:
        """Return the last known status, without sending a request."""
        return self._record.status

    def _keep(self, status: ExportStatus) -> ExportStatus:
        self._record = replace(self._record, status=status)
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
