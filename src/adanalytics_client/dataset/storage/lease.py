"""The lock of a dataset in object storage: a lease, which is an object that expires.

1. Who finds a lease with an end, or none, puts its own, on condition that nobody put one since.
2. The holder puts it anew every half minute. If that is refused, another process took it over, and
   every further access to the storage is refused.
3. A lease without an end has expired two minutes after it was put. Both times are the store's: when
   it wrote the lease, and when it writes another object. No clock of a machine is compared.
4. The holder puts a lease with an end.
"""

import json
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from secrets import token_hex
from typing import Any

from adanalytics_client.dataset.errors import DatasetInUse, UnsuitablePlace
from adanalytics_client.dataset.records.layout import LOCK, STORE_CLOCK

LEASE_SECONDS = 120.0
"""The lifetime of a lease that nobody renews, for example because its process was killed."""
RENEWAL_SECONDS = 30.0
# Times of stores may be whole seconds.
_ROUNDING_SECONDS = 2.0
# A request that begins may be tried so long: see `cloud`.
_MOST_SECONDS_OF_A_REQUEST = 60.0

# That of Linux, and that of macOS; on Windows, `monotonic` is such a clock.
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

_LACKING = "which the lock of a dataset needs"
_OTHER_STORE = (
    "Use S3, GCS, Azure or another store with If-Match and If-None-Match, or name a folder."
)


def elapsed() -> float:
    """Return seconds by a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class Lease:
    """The lease of one process.

    S3, GCS and Azure check the condition of each put, so only one process can have it. In other
    storage, where `pipe_file` returns nothing, it is read again after a put and before a renewal.

    Args:
        files: an `fsspec.AbstractFileSystem`, which may raise errors of any class.
        path_of: returns the path of a file by its name in the dataset.
        place: the address of the dataset.
    """

    def __init__(self, files: Any, path_of: Callable[[str], str], place: str) -> None:  # noqa: ANN401  # fsspec has no types
        self._files = files
        self._path, self._clock_path = path_of(LOCK), path_of(STORE_CLOCK)
        self._place = place
        self._token, self._puts = token_hex(8), 0
        # What its put may replace: nothing, or one version, or anything.
        self._version: object = "create"
        self._ends_at = -math.inf
        self._is_lost = False
        self._renewing = threading.Lock()

    def acquire(self) -> None:
        """Take a lease that is free or expired. Raises DatasetInUse and UnsuitablePlace."""
        holder, self._version, put_at = self._read()
        if holder and not holder.get("ended"):
            age = self._age(put_at)
            if age is None or age <= LEASE_SECONDS + _ROUNDING_SECONDS:
                raise self._in_use(holder, age)
        is_first = self._version == "create"
        try:
            self._put()
            self._check_holder()
        except FileExistsError:
            raise self._in_use(self._read()[0], 0) from None
        except Exception as error:
            # S3's code of the error.
            if "NotImplemented" in str(error):
                raise self._unsuitable("refuses") from error
            raise
        if is_first and isinstance(self._version, dict):
            self._check_conditions(self._version)

    def keep(self) -> None:
        """Renew the lease, if it ends soon. Raises DatasetInUse if another process took it."""
        # Before a request that may outlast the lease.
        if not self._is_lost and elapsed() > self._ends_at - _MOST_SECONDS_OF_A_REQUEST:
            self._renew()
        if self._is_lost:
            raise DatasetInUse(
                f"Another process took over {self._place}: the lock of this one was not renewed "
                "in time.",
                remedy="Run the same command again.",
            )

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew it in a thread while the `with` block runs, then release it."""
        done = threading.Event()
        renewing = threading.Thread(target=self._renew_until, args=(done,), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()
            # A lease that cannot be released expires. Storage libraries raise any class.
            with suppress(Exception):
                if not self._is_lost:
                    self._check_holder()
                    # A deletion has no condition, and could hit the lease of another process.
                    self._put(ended=True)

    def _renew_until(self, done: threading.Event) -> None:
        while not (self._is_lost or done.wait(RENEWAL_SECONDS)):
            # After another error than a refusal, the next renewal may succeed.
            with suppress(Exception):
                self._renew()

    def _renew(self) -> None:
        with self._renewing:
            try:
                self._check_holder()
                self._put()
            except FileExistsError:
                self._is_lost = True

    def _check_holder(self) -> None:
        """In storage that checks no condition, raise FileExistsError if another has the lease."""
        if self._version == "overwrite" and self._read()[0].get("token") != self._token:
            raise FileExistsError(self._path)

    def _put(self, *, ended: bool = False) -> None:
        """Put the lease, unless another process put one since. Raises FileExistsError."""
        began_at, self._puts = elapsed(), self._puts + 1
        lease = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "token": self._token,
            # So that its content, from which S3 derives the version, is always another.
            "puts": self._puts,
            "ended": ended,
        }
        content = json.dumps(lease).encode()
        try:
            put = self._files.pipe_file(self._path, content, mode=self._version)
            self._version = put or "overwrite"
        except Exception:
            # If only the answer was lost, it is there.
            holder, version, _ = self._read()
            if holder != lease:
                raise
            self._version = version
        self._ends_at = began_at + LEASE_SECONDS

    def _read(self) -> tuple[dict[str, Any], object, datetime | None]:
        """Return the lease that is there, what a put may replace, and when it was put.

        The lease is empty if there is none.
        """
        version: object = "overwrite"
        try:
            if hasattr(self._files, "cat_version"):
                content, version, put_at = self._files.cat_version(self._path)
            else:
                content, put_at = self._files.cat_file(self._path), self._modified(self._path)
        except FileNotFoundError:
            return {}, "create", None
        try:
            return {**json.loads(content)}, version, put_at
        except (ValueError, TypeError):
            # A lock that cannot be read is still a lock.
            return {"process": "?", "host": "?"}, version, put_at

    def _age(self, put_at: datetime | None) -> float | None:
        """Return the seconds since the store put a lease; None if it does not tell its time."""
        self._files.pipe_file(self._clock_path, b".")
        now = self._modified(self._clock_path)
        if now is None or put_at is None:
            return None
        age = (now - put_at).total_seconds()
        # Else the clock of the store was set back.
        return age if age >= -_ROUNDING_SECONDS else None

    def _modified(self, path: str) -> datetime | None:
        # These are raised by the file systems of fsspec that do not know it.
        with suppress(NotImplementedError, RuntimeError):
            modified: datetime | None = self._files.modified(path)
            return modified
        return None

    def _in_use(self, holder: dict[str, Any], age: float | None) -> DatasetInUse:
        if age is None:
            file = self._files.unstrip_protocol(self._path)
            killed = f"if it was killed, delete {file}: the storage does not tell its age."
        else:
            seconds = math.ceil(LEASE_SECONDS + _ROUNDING_SECONDS - age)
            killed = f"if it was killed, its lock expires in {seconds} seconds."
        return DatasetInUse(
            f"Process {holder.get('process')} on {holder.get('host')} works on {self._place}.",
            remedy=f"Wait until it has ended, then run the same command again; {killed}",
        )

    def _check_conditions(self, version: dict[str, Any]) -> None:
        """Find out, with a condition that does not hold, whether a store ignores conditions."""
        # A store that ignores conditions would let two syncs write at once.
        condition = {"e_tag": '"0"', "version": "1" if version.get("version") else None}
        try:
            self._files.pipe_file(self._path, b".", mode=condition)
        except FileExistsError:
            return
        self._files.rm_file(self._path)
        raise self._unsuitable("ignores")

    def _unsuitable(self, verb: str) -> UnsuitablePlace:
        return UnsuitablePlace(
            f"The store of {self._place} {verb} conditional writes, {_LACKING}.",
            remedy=_OTHER_STORE,
        )
