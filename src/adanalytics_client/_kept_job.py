"""What an export job is apart from how it asks: an order, what was last learned, and its client."""

from typing import Any, Generic, Self, TypeVar

from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ExportOrder
from adanalytics_client._saved import SavedExport, read_saved
from adanalytics_client._session import Session
from adanalytics_client.errors import ConfigurationError

D = TypeVar("D")


class KeptJob(Generic[D]):
    """A job of either world. A pickled one leaves its client, and with it the credential, behind.

    Args:
        saved: where the export is, what it holds, and what was last learned.
        bound: what asks for it; None after unpickling.
    """

    def __init__(self, saved: SavedExport, bound: tuple[Session, D] | None) -> None:
        self._place = saved.base_url, saved.partner
        self._order = saved.order
        self._status = saved.status
        self._bound = bound

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._status!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.to_json())

    def __copy__(self) -> Self:
        return type(self)(self._saved, self._bound)

    def __deepcopy__(self, _memory: dict[int, Any]) -> Self:
        return self.__copy__()

    def to_json(self) -> str:
        """The job as text, to go on with it elsewhere.

        It holds no credential, but maybe signed addresses: whoever has one can read the export
        until the address expires. A pickled job holds the same.

        Example:
            >>> with open("job.json", "w") as file:
            ...     written = file.write(job.to_json())
        """
        return self._saved.to_json()

    @property
    def order(self) -> ExportOrder:
        """What the export holds."""
        return self._order

    @property
    def export_id(self) -> str | None:
        """The service's id of the export, where it gave one."""
        return self._status.export_id

    @property
    def last_status(self) -> ExportStatus:
        """What was last learned; costs no request."""
        return self._status

    @property
    def _saved(self) -> SavedExport:
        return SavedExport(*self._place, self._order, self._status)

    def _learn(self, status: ExportStatus) -> None:
        self._status = status

    def _client(self) -> tuple[Session, D]:
        if self._bound is None:
            raise ConfigurationError(
                "This job was unpickled, which leaves its client behind; go on with "
                f"{type(self).__name__}.from_json(client, job.to_json())."
            )
        return self._bound


def _unpickled(kind: type[KeptJob[Any]], text: str) -> KeptJob[Any]:
    return kind(read_saved(text), None)
