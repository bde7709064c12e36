"""Leave out the events of earlier pulls when pulls overlap; no I/O."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from adanalytics_client._base.logs import LOG
from adanalytics_client._base.validation import check_number, invalid
from adanalytics_client.errors import ConfigurationError

from .page import EventId, FetchedPage, ids_of, is_id

# Two of a billion different ids agree by chance with a probability below 1 in 10^20.
_DIGEST = 16
_NAMES = 8


class SeenEvents:
    """The ids of events already yielded, so that overlapping pulls yield each event only once.

    Pass this object to `events(..., seen=)`: the pull leaves out events whose ids are in it, and
    adds the ids of the events that it yields. An id is text or a whole number. An event without an
    id is always yielded; if no event on a page has an id, a warning is logged. A page's ids are
    added when you ask for the next page, and a file's ids when the file is complete. So if a pull
    is interrupted, the next one can repeat events, but none are lost. To use the object in another
    process, pickle it. Use it in only one pull at a time.

    Args:
        event_ids: ids to start with, such as those in a file that an earlier pull wrote.
        most: the maximum number of ids to keep, about 130 bytes each; the oldest are forgotten
            first. While a file or table is being built, up to `2 * most` ids are in memory.

    Attributes:
        most (int): the maximum number of ids to remember.
        repeated: the number of events left out so far.
        forgotten: the number of ids forgotten because of `most`; if zero, no repeat was missed.

    Raises:
        ConfigurationError: when `most` is not a whole number of at least 1, or an id is neither
            text nor a whole number.

    Examples:
        >>> seen = SeenEvents()
        >>> len(list(client.events("2026-01-15", "2026-01-16", seen=seen).rows()))
        600
        >>> len(list(client.events("2026-01-16", seen=seen).rows())), seen.repeated
        (0, 300)
    """

    def __init__(self, event_ids: Iterable[EventId] = (), *, most: int = 1_000_000) -> None:
        check_number("most", most, 1)
        self.most = most
        self.repeated: int = 0
        self.forgotten: int = 0
        self._pulls = 0
        # With the number of the pull that added it, or 0. A plain dict searches for its oldest
        # entry among all those deleted before it.
        self._digests: OrderedDict[bytes, int] = OrderedDict()
        self.add(event_ids)

    def __contains__(self, event_id: object) -> bool:
        return is_id(event_id) and _digest(event_id) in self._digests

    def __len__(self) -> int:
        return len(self._digests)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # it changes, so none; typeshed says every object has one

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeenEvents):
            return NotImplemented
        return self.most == other.most and self._digests.keys() == other._digests.keys()

    def __repr__(self) -> str:
        return f"SeenEvents({len(self):,} of at most {self.most:,} ids)"

    def add(self, event_ids: Iterable[EventId]) -> None:
        """Add ids; adding a known id again does not change when it will be forgotten.

        Raises:
            ConfigurationError: for a value that is not an id; the ids before it have been added.

        Examples:
            >>> seen = SeenEvents(["e-1"])
            >>> seen.add(["e-1", "e-2"])
            >>> len(seen), "e-2" in seen
            (2, True)
        """
        if isinstance(event_ids, str) or not isinstance(event_ids, Iterable):
            raise invalid("event_ids", event_ids, "Pass a list of ids.")
        for event_id in event_ids:
            if not is_id(event_id):
                raise ConfigurationError(
                    f"event_ids: an id is a str or an int, not {event_id!r}.",
                    remedy="Leave out events without one.",
                )
            self._keep(_digest(event_id))

    def merge(self, other: "SeenEvents") -> None:
        """Move all ids and the count of repeats from another object into this one.

        Examples:
            >>> monday, tuesday = SeenEvents(["e-1"]), SeenEvents(["e-2"])
            >>> monday.merge(tuesday)
            >>> len(monday), len(tuesday)
            (2, 0)
        """
        self._merge(other, 0)

    def _merge(self, other: "SeenEvents", pull: int) -> None:
        self.repeated += other.repeated
        self.forgotten += other.forgotten
        digests, other._digests = other._digests, OrderedDict()  # noqa: SLF001  # one of its own kind
        other.repeated = other.forgotten = 0
        for digest in digests:
            self._keep(digest, pull)

    def _keep(self, digest: bytes, pull: int = 0) -> None:
        self._digests.setdefault(digest, pull)
        if len(self._digests) > self.most:
            self._digests.popitem(last=False)
            self.forgotten += 1


class Deduplicator:
    """Leaves out events of earlier pulls, and collects the ids of the others until it is committed.

    Ids of this pull leave nothing out, also after they were committed: events that share an id may
    differ.
    """

    def __init__(self, events: SeenEvents) -> None:
        self._events, self._additions = events, SeenEvents(most=events.most)
        self._pull = events._pulls = events._pulls + 1  # noqa: SLF001  # of this module
        self._warned = False

    def filter(self, page: FetchedPage, remaining: int | None) -> FetchedPage:
        """Leave out events that were seen; called in the order of yielding.

        The ids of events behind the `remaining` ones that may be yielded are not collected.
        """
        repeats = []
        count = 0
        ids = page.keys.ids if page.keys else ids_of(page.rows)
        self._warn(page, ids)
        digests, pull = self._events._digests, self._pull  # noqa: SLF001  # of this module
        for event_id in ids:
            is_repeat = event_id is not None and digests.get(_digest(event_id), pull) != pull
            repeats.append(is_repeat)
            if is_repeat:
                self._additions.repeated += 1
            elif remaining is None or count < remaining:
                count += 1
                self._additions.add([event_id] if event_id is not None else [])
        return page.without(repeats)

    def commit(self) -> None:
        """Add the ids collected since the last call to `seen`."""
        self._events._merge(self._additions, self._pull)  # noqa: SLF001  # of this module

    def _warn(self, page: FetchedPage, ids: Sequence[EventId | None]) -> None:
        """Warn once about a page whose events have no id."""
        # Once: a log of a line per page would hide everything else.
        if self._warned or not ids or any(event_id is not None for event_id in ids):
            return
        self._warned = True
        LOG.warning(
            "seen=: no event of %s has an event_id that is text or a whole number, so none of them "
            "can be left out. The first one has: %s. If one of these is the id, name it: "
            'ServiceProfile(fields={"event_id": "..."}).',
            page.rows.source.page,
            ", ".join([*page.rows.first(1).rows()[0]][:_NAMES]) or "nothing",
        )


def check_seen(events: object) -> None:
    """Refuse anything but a SeenEvents, such as a set, which would grow without limit."""
    if events is not None and not isinstance(events, SeenEvents):
        raise ConfigurationError(
            f"seen={type(events).__name__} is not valid.",
            remedy="Pass a SeenEvents, such as SeenEvents(ids).",
        )


def _digest(event_id: EventId) -> bytes:
    # No other id has the same bytes: UTF-8 text never begins with byte 255.
    if isinstance(event_id, int):
        text = b"\xff%d" % event_id
    else:
        text = event_id.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST).digest()


SeenEvents.__module__ = "adanalytics_client"
