"""Events that earlier pulls brought, left out where pulls overlap; no I/O."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from adanalytics_client._checks import is_whole
from adanalytics_client._drift import without
from adanalytics_client._event_ids import EventId, id_bytes, ids_of, is_id
from adanalytics_client._pages import Fetched
from adanalytics_client.errors import ConfigurationError

# Two different ids in a billion agree by chance less than once in 10^20 times.
_DIGEST = 16
_NAMES = 8

_LOG = logging.getLogger("adanalytics_client")


class SeenEvents:
    """The ids of events that were brought, so that pulls which overlap bring each event once.

    Pass one to `events(..., seen=)`: an event whose `event_id` is in it is left out, and the ids of
    what is handed out are added. An id is text or a whole number; an event without one always
    passes, and the log gets a warning when a whole page has none. A page counts as handed out
    when the next one is asked for, a file when it is whole: a pull that breaks off can bring events
    again and never loses one. It pickles, to be used by the next process; use it in one pull at a
    time.

    Args:
        event_ids: ids to begin with, such as those in a file of an earlier pull.
        most: ids to remember, about 120 bytes each; beyond that the oldest are forgotten. Writing
            a file or a table holds as many again until it is whole.

    Attributes:
        most: as above.
        repeated: events that were left out so far.
        forgotten: ids that were dropped to keep to `most`; zero means that nothing was missed.

    Raises:
        ConfigurationError: when `most` is no whole number of at least 1, or an id is neither
            text nor a whole number.

    Example:
        >>> seen = SeenEvents()
        >>> len(list(client.events("2026-01-15", "2026-01-16", seen=seen).rows()))
        600
        >>> len(list(client.events("2026-01-16", seen=seen).rows())), seen.repeated
        (0, 300)
    """

    def __init__(self, event_ids: Iterable[EventId] = (), *, most: int = 1_000_000) -> None:
        if not is_whole(most, 1):
            raise ConfigurationError(f"most={most!r}: pass a whole number of ids, at least 1.")
        self.most = most
        self.repeated = 0
        self.forgotten = 0
        self._digests: dict[bytes, None] = {}
        self.add(event_ids)

    def __contains__(self, event_id: object) -> bool:
        return is_id(event_id) and _digest(event_id) in self._digests

    def __len__(self) -> int:
        return len(self._digests)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # it changes, so none; typeshed says every object has one

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeenEvents):
            return NotImplemented
        return self.most == other.most and self._digests == other._digests

    def __repr__(self) -> str:
        return f"SeenEvents({len(self):,} of at most {self.most:,} ids)"

    def add(self, event_ids: Iterable[EventId]) -> None:
        """Count events as brought; one that is known already becomes no younger.

        Raises:
            ConfigurationError: for something else than ids; those before it count.

        Example:
            >>> seen = SeenEvents(["e-1"])
            >>> seen.add(["e-1", "e-2"])
            >>> len(seen), "e-2" in seen
            (2, True)
        """
        if isinstance(event_ids, str) or not isinstance(event_ids, Iterable):
            raise ConfigurationError(f"event_ids={event_ids!r}: pass a list of ids.")
        for each in event_ids:
            if not is_id(each):
                raise ConfigurationError(
                    f"event_ids: an id is a str or an int, not {each!r}; "
                    "leave out events without one."
                )
            self._digests[_digest(each)] = None
            self._forget()

    def take(self, other: "SeenEvents") -> None:
        """Move all ids of another one, and its count of repeats, into this one.

        Example:
            >>> monday, tuesday = SeenEvents(["e-1"]), SeenEvents(["e-2"])
            >>> monday.take(tuesday)
            >>> len(monday), len(tuesday)
            (2, 0)
        """
        self.repeated += other.repeated
        self.forgotten += other.forgotten
        digests, other._digests = other._digests, {}  # noqa: SLF001  # one of its own kind
        other.repeated = other.forgotten = 0
        for each in digests:
            self._digests[each] = None
            self._forget()

    def _forget(self) -> None:
        if len(self._digests) > self.most:
            del self._digests[next(iter(self._digests))]
            self.forgotten += 1


class Sieve:
    """What one reading of a pull lets through; `seen` learns of it when it is settled.

    Args:
        seen: what earlier readings brought, or None to let all through unread.
        room: events that may still pass, or None for all; those beyond count as not brought.
    """

    def __init__(self, seen: SeenEvents | None, room: int | None) -> None:
        self._seen = seen
        self._room = room
        self._fresh = SeenEvents(most=seen.most) if seen is not None else None
        self._warned = False

    def kept(self, page: Fetched) -> Fetched:
        """The page without events that were brought, called in the order of handing out.

        Raises:
            ProtocolError: when an event is not JSON.
        """
        if self._seen is None or self._fresh is None:
            return page
        known: list[bool] = []
        found = ids_of(page)
        self._warn(page, found)
        for each in found:
            gone = each is not None and (each in self._seen or each in self._fresh)
            known.append(gone)
            if gone:
                self._fresh.repeated += 1
            elif self._room is None or self._room > 0:
                self._room = None if self._room is None else self._room - 1
                self._fresh.add([each] if each is not None else [])
        return replace(page, found=without(page.found, known)) if any(known) else page

    def _warn(self, page: Fetched, found: Sequence[EventId | None]) -> None:
        """Tell once that nothing can be left out of a page whose events have no id."""
        if self._warned or not found or any(each is not None for each in found):
            return
        self._warned = True
        names = ", ".join([*page.rows(1)[0]][:_NAMES])
        _LOG.warning(
            "seen=: no event of %s has an event_id that is text or a whole number, so none of them "
            "can be left out. The first one has: %s.",
            page.origin.page,
            names or "nothing",
        )

    def settle(self) -> None:
        """Count as brought what passed since the last time."""
        if self._seen is not None and self._fresh is not None:
            self._seen.take(self._fresh)


def check_seen(seen: object) -> None:
    """Refuse anything else than a SeenEvents, such as a set, which would grow without bound.

    Raises:
        ConfigurationError: saying what to pass.
    """
    if seen is not None and not isinstance(seen, SeenEvents):
        raise ConfigurationError(
            f"seen={type(seen).__name__}: pass a SeenEvents; SeenEvents(ids) makes one of ids."
        )


def _digest(event_id: EventId) -> bytes:
    return hashlib.blake2b(id_bytes(event_id), digest_size=_DIGEST).digest()
