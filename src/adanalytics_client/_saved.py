"""An export under way as data: kept as text, and gone on with elsewhere."""

from dataclasses import dataclass
from datetime import date, datetime

from adanalytics_client._config import Config
from adanalytics_client._export import ExportFile, ExportPhase, ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._json import Json, NotJson, parse
from adanalytics_client._url import Address
from adanalytics_client.encoding import json_text, utf8
from adanalytics_client.errors import ConfigurationError

_FORM = 1


@dataclass(frozen=True, slots=True)
class SavedExport:
    """What another process needs to go on with an export; the credential is not in it.

    Attributes:
        base_url: the service.
        partner: whose data are exported.
        order: what the export holds.
        status: what was last learned; its addresses may be signed.
    """

    base_url: str
    partner: str
    order: ExportOrder
    status: ExportStatus

    @classmethod
    def of(cls, config: Config, order: ExportOrder, status: ExportStatus) -> "SavedExport":
        """An export of a client's service and partner."""
        return cls(config.base.text, config.partner or "", order, status)

    def to_json(self) -> str:
        """One JSON object; exact numbers stay exact, and every file can hold it."""
        order, status = self.order, self.status
        text = json_text(
            {
                "form": _FORM,
                "base_url": self.base_url,
                "partner": self.partner,
                "order": {
                    "start_date": str(order.start),
                    "end_date": str(order.end),
                    "format": order.format,
                    "compression": order.compression,
                },
                "status": {
                    "phase": status.phase.value,
                    "word": status.word,
                    "export_id": status.export_id,
                    "files": [_file(each) for each in status.files],
                    "reason": status.reason,
                    "row_count": status.row_count,
                    "retry_after": status.retry_after,
                    "told_at": status.told_at and status.told_at.isoformat(),
                    "poll_url": status.poll_url,
                    "keys": list(status.keys),
                    "repeats": status.repeats,
                    "answer": status.answer,
                },
            },
            sort_keys=True,
        )
        return utf8(text).decode()

    def check(self, config: Config) -> "SavedExport":
        """See that it is of a client's service and partner.

        Raises:
            ConfigurationError: when it is of another.
        """
        if self.partner != config.partner or not config.base.is_at(self.base_url):
            raise ConfigurationError(
                f"The saved export is of partner {self.partner!r} of {self.base_url}; "
                "make the client for these."
            )
        return self


def read_saved(text: str) -> SavedExport:
    """Read what `to_json` gave; what a later version added is left out.

    Raises:
        ConfigurationError: for anything else.
    """
    try:
        said = parse(text.encode())
        if said["form"] != _FORM:
            raise ConfigurationError("The saved export is of a newer version; update adanalytics.")
        return SavedExport(
            str(said["base_url"]),
            str(said["partner"]),
            _read_order(said["order"]),
            _read_status(said["status"]),
        )
    except (NotJson, KeyError, TypeError, ValueError, AttributeError):
        raise ConfigurationError(
            "This is no saved export; pass what to_json() of an export job gave."
        ) from None


def _file(file: ExportFile) -> dict[str, Json]:
    return {
        "url": file.url,
        "name": file.name,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def _read_order(said: dict[str, Json]) -> ExportOrder:
    return ExportOrder(
        date.fromisoformat(said["start_date"]),
        date.fromisoformat(said["end_date"]),
        said["format"],
        said["compression"],
    )


def _read_status(said: dict[str, Json]) -> ExportStatus:
    return ExportStatus(
        phase=ExportPhase(said["phase"]),
        word=said["word"],
        export_id=said["export_id"],
        files=tuple(
            ExportFile(Address(each["url"]), each["name"], each["size_bytes"], each["sha256"])
            for each in said["files"]
        ),
        reason=said["reason"],
        row_count=said["row_count"],
        # Earlier versions did not keep when to ask again.
        retry_after=None if (pause := said.get("retry_after")) is None else float(pause),
        told_at=None if (told := said.get("told_at")) is None else datetime.fromisoformat(told),
        poll_url=None if said["poll_url"] is None else Address(said["poll_url"]),
        keys=tuple(said["keys"]),
        repeats=said["repeats"],
        answer=said["answer"],
    )
