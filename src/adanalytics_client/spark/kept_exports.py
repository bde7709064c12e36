"""Exports that later reads use again, because Spark plans each `load()` anew."""

import hashlib
import logging
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adanalytics_client._base.files import open_beside, state_folder
from adanalytics_client._exports import ExportStatus, SavedExport, read_saved
from adanalytics_client.client import Client
from adanalytics_client.dataset.days import DayState
from adanalytics_client.dataset.totals import events_in
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.jobs import ExportJob

_LOG = logging.getLogger("adanalytics_client")

# The tasks of an action may wait for their turn before they download.
_LEAST_LEFT = timedelta(minutes=15)

ORDER_ANEW = (
    "Call load() again. If that does not help, first remove $XDG_STATE_HOME/adanalytics/exports or "
    "~/.local/state/adanalytics/exports on the driver, so that the export is ordered anew."
)
"""What helps when a kept export is no longer good."""


class KeptExports:
    """Exports in a folder of the user's state, a file each, until their addresses expire.

    Only the user can read the files, because an address may be signed. An export is not kept if its
    responses state no `expires_at`, or if the summary has no events of its day, so that no change
    of the day would show.

    Args:
        client: the client that orders them.
        batch: the batch of a stream that they serve. A summary leaves out filtered events, so it
            does not show that an export has all events of the hours since.
    """

    def __init__(self, client: Client, batch: str) -> None:
        state = state_folder(os.environ)
        self._folder = state and state / "exports"
        self._client, self._batch = client, batch
        self._session = client._session  # noqa: SLF001  # the state of the same client

    def find(self, day: DayState) -> ExportJob | None:
        """Return the export of a day whose summary has not changed since."""
        path = self._path(day)
        saved = path and self._read(path)
        return ExportJob.from_json(self._client, saved.to_json()) if saved else None

    def keep(self, day: DayState, job: ExportJob) -> None:
        """Keep an export that is done."""
        path = self._path(day)
        if path is None or not self._is_usable(job.last_status):
            return
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside, file = open_beside(path, private=True)
            with file:
                file.write(job.to_json().encode())
                beside.replace(path)
        except OSError as error:
            _LOG.warning("The export of %s cannot be kept for later reads: %s.", day.day, error)

    def remove_expired(self) -> None:
        """Remove the exports whose addresses have expired."""
        for path in self._folder.glob("*.json") if self._folder else ():
            if self._read(path) is None:
                with suppress(OSError):
                    path.unlink()

    def _path(self, day: DayState) -> Path | None:
        if self._folder is None or not events_in(day.figures):
            return None
        config = self._session.config
        # The name of the quota stands for the service and the credential.
        name = f"{config.quota_name} {config.partner} {day.day} {day.fingerprint} {self._batch}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _read(self, path: Path) -> SavedExport | None:
        try:
            saved = read_saved(path.read_text())
        except (OSError, UnicodeDecodeError, ConfigurationError):
            return None
        return saved if self._is_usable(saved.status) else None

    def _is_usable(self, status: ExportStatus) -> bool:
        try:
            expires_at = datetime.fromisoformat(status.answer["expires_at"])
            now = datetime.fromtimestamp(self._session.clock.time(), tz=UTC)
            return now + _LEAST_LEFT < expires_at
        except (KeyError, TypeError, ValueError):
            return False
