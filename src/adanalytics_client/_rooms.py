"""Memory for the bodies that one client receives, used again for the next ones.

A page takes some six megabytes. Memory that is new to a process costs it more than what it receives
into it, since the system has to find and to clear all of it first.
"""

import sys
from collections.abc import Sequence

LARGEST_ROOM = 16 * 1024 * 1024
"""The most bytes that are set apart before any has come; a larger body grows as it comes."""

MOST_KEPT = 4
"""Rooms that a client keeps: as many as a pull of one page after the other needs."""

# A process has smaller ones from what it keeps anyway.
_SMALLEST_KEPT = 128 * 1024


class Rooms:
    """The rooms of one client, each taken by one body at a time.

    Nobody gives one back: a room is free once nothing else refers to it, and what is cut out of it
    without a copy does. Kept are `MOST_KEPT` of less than `LARGEST_ROOM` bytes each.

    Example:
        >>> rooms = Rooms()
        >>> body = rooms.take(1_000_000)
        >>> len(body), body is rooms.take(1_000_000)
        (1000000, False)
    """

    def __init__(self) -> None:
        self._kept: list[bytearray] = []
        self._most = MOST_KEPT

    def take(self, size: int) -> bytearray:
        """Room of `size` bytes, at most `LARGEST_ROOM`, which stays as large as it is.

        What stands in it means nothing. One of `LARGEST_ROOM` is for more than that, and not kept.
        """
        if not _SMALLEST_KEPT <= size < LARGEST_ROOM:
            return bytearray(min(size, LARGEST_ROOM))
        kept = self._kept
        room = _free(kept)
        if room is None:
            room = bytearray(size)
            if len(kept) < self._most:
                kept.append(room)
            return room
        room.extend(bytes(max(0, size - len(room))))
        del room[size:]
        return room

    def close(self) -> None:
        """Keep none any more."""
        # Whoever just counts holders has the old list, which stays one of them.
        self._most, self._kept = 0, []


def _free(kept: Sequence[bytearray]) -> bytearray | None:
    """A room with no holder but `kept`.

    How many that makes is seen and not told: versions of Python count their own part differently,
    and a debugger that looks on is one holder more. So two others are counted in the same way, one
    that is free and one that is not; where these do not differ, no room is known to be free. Two
    threads that look at the same room are one holder too many for both.
    """
    if not _counts_holders():
        return None
    held = bytearray()
    samples = [bytearray(), held]
    counts: list[int] = []
    for room in (*samples, *kept):
        counts.append(sys.getrefcount(room))
        if len(counts) > len(samples) and counts[-1] == counts[0] != counts[1]:
            return room
    return None


def _counts_holders() -> bool:
    """Whether Python counts them, and lets one thread count at a time."""
    gil = getattr(sys, "_is_gil_enabled", None)
    return hasattr(sys, "getrefcount") and (gil is None or gil())
