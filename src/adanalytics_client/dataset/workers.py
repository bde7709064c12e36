"""Work on several queries at a time; one that fails leaves the others alone."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from adanalytics_client import (
    AdAnalyticsError,
    DownloadError,
    ExportError,
    ProtocolError,
    ServerError,
    TransportError,
)

W = TypeVar("W")

AT_A_TIME = 2
"""Queries in work at a time, each of which holds some 60 MB and asks for one page ahead."""

FAILURES_IN_A_ROW = 4
"""After so many failures without a success between them the service counts as gone."""

# What one piece can have while others do not; a refused credential, for one, is not of them.
_OF_ONE_PIECE = (DownloadError, ExportError, ProtocolError, ServerError, TransportError)


@dataclass(frozen=True, slots=True)
class Failed(Generic[W]):
    """A piece of work that could not be done, and why."""

    work: W
    error: AdAnalyticsError


class Workers(Generic[W]):
    """Runs pieces of work on threads.

    Args:
        do: does one piece. An error that only concerns the piece is noted; after any other no
            piece is begun any more.
        stop: called from the waiting thread when the rest shall not be done, to wake waits.
    """

    def __init__(self, do: Callable[[W], None], stop: Callable[[], None]) -> None:
        self._do = do
        self._stop = stop
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._ending: Exception | None = None
        self.failed: list[Failed[W]] = []
        self.gave_up = False

    def run(self, pieces: Iterable[W]) -> None:
        """Do all pieces, in their order as far as they are begun.

        Raises what ended the run, once the pieces under way are done as far as they may be.
        """
        waiting = list(reversed(list(pieces)))
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="adanalytics-sync") as pool:
            try:
                while (waiting and self._goes_on()) or running:
                    while waiting and len(running) < AT_A_TIME and self._goes_on():
                        running.add(pool.submit(self._one, waiting.pop()))
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
            except BaseException:
                self._stop()
                raise
        if self._ending is not None:
            raise self._ending

    def _goes_on(self) -> bool:
        return not self.gave_up and self._ending is None

    def _one(self, piece: W) -> None:
        try:
            self._do(piece)
        except _OF_ONE_PIECE as error:
            with self._lock:
                self.failed.append(Failed(piece, error))
                self._in_a_row += 1
                self.gave_up = self._in_a_row >= FAILURES_IN_A_ROW
        except Exception as error:  # noqa: BLE001  # raised again once the others have ended
            # What others have sent already is not thrown away.
            self._ending = self._ending or error
        else:
            with self._lock:
                self._in_a_row = 0
