"""The rolling log of sends: a head of 128 bytes, then a ring of records of 32 bytes.

A log is at most `HEAD_SIZE + RECORD_SIZE * capacity` bytes, where the capacity is the largest limit
it was ever used with: 32,128 bytes for 1,000 requests an hour.

A process may be killed at any instant. No piece crosses a page and each is written by one call, so
none is left half written. A send is noted first and counted by the head after that: killed in
between, it was never sent, and the next one takes its place.

This module only reads and makes bytes; where they live is the business of a `Store`.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from adanalytics_client._quota_records import (
    HEAD_SIZE,
    RECORD_SIZE,
    UNANSWERED,
    Head,
    Moment,
    Record,
)

T = TypeVar("T")

_LOG = logging.getLogger("adanalytics_client")


class Blocks(Protocol):
    """The bytes of one log, ours alone for the moment."""

    @property
    def name(self) -> str:
        """What to call them in a message."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to so many bytes; fewer at the end."""

    def write(self, offset: int, data: bytes) -> None:
        """Put bytes in their place, in one go."""

    def replace(self, content: bytes) -> None:
        """Put other content in the place of all of it; a kill leaves the one or the other."""


class Store(Protocol):
    """Where the log of one key lives."""

    def run(self, action: Callable[[Blocks], T]) -> T:
        """Run a short action while no other runs on the same log.

        One that an OSError broke off may be run again from its beginning.
        """


class SendLog:
    """The log as it is read, changed and saved within one action of a `Store`.

    `head` is public: who saves the log may change what the service said in it.
    """

    def __init__(self, blocks: Blocks, head: Head, now: Moment) -> None:
        self.head = head
        self._blocks = blocks
        self._now = now

    @classmethod
    def open(cls, blocks: Blocks, now: Moment, *, capacity: int) -> "SendLog":
        """The log with room for `capacity` sends at least.

        One without a byte is new: of a file that somebody emptied no more is left than of one that
        somebody removed.
        """
        data = blocks.read(0, HEAD_SIZE)
        if not data:
            return cls(blocks, Head.fresh(capacity, now), now)
        head = Head.decode(data)
        if head is None:
            return cls(blocks, _salvaged(blocks, now, capacity), now)
        # A steady clock that went back started again with the machine.
        if head.at.steady > now.steady or head.capacity < capacity:
            return cls(blocks, _rewritten(blocks, head, now, capacity), now)
        return cls(blocks, head, now)

    def append(self) -> int:
        """Note a send and give its number; it counts once the head is saved, not before."""
        if self.head.following == 0:
            # A record before the first head would look like a damaged log.
            self.save()
        number = self.head.following
        self._put(Record(number, self._now, answered=False))
        self.head.following += 1
        self.head.oldest = max(self.head.oldest, self.head.following - self.head.capacity)
        return number

    def answer(self, number: int) -> None:
        """Note that a send was answered; one that is no longer in the log needs no note."""
        if self.head.oldest <= number < self.head.following:
            self._put(Record(number, self._now, answered=True))
            if number == self.head.open_from:
                # Mostly it is the only one on its way, and then nobody needs to search for others.
                self.head.open_from += 1

    def record(self, number: int) -> Record | None:
        """A send, or None when it is too old to be in the log."""
        if number < self.head.oldest:
            return None
        found = Record.decode(self._blocks.read(self._place(number), RECORD_SIZE))
        if found is not None and found.number == number:
            return found
        if _is_unsent(found, self.head) and number == self.head.following - self.head.capacity:
            return None
        self.head = _rewritten(self._blocks, self.head, self._now, self.head.capacity)
        return self.record(number)

    def records(self, numbers: range) -> Iterator[Record | None]:
        """Several sends, each as by `record`, with one look at the ring, or two at its end."""
        while numbers:
            count = min(len(numbers), self.head.capacity - numbers.start % self.head.capacity)
            ring = self._blocks.read(self._place(numbers.start), count * RECORD_SIZE)
            for index, number in enumerate(numbers[:count]):
                place = index * RECORD_SIZE
                found = Record.decode(ring[place : place + RECORD_SIZE])
                yield found if found and found.number == number else self.record(number)
            numbers = numbers[count:]

    def open_sends(self) -> int:
        """How many sends are on their way; `open_from` keeps the search for them short."""
        numbers = range(max(self.head.open_from, self.head.oldest), self.head.following)
        waiting = [each.number for each in self.records(numbers) if each and self._is_open(each)]
        self.head.open_from = min(waiting, default=self.head.following)
        return len(waiting)

    def save(self) -> None:
        """Write the head."""
        self.head.at = self._now
        self._blocks.write(0, self.head.encode())

    def _is_open(self, record: Record) -> bool:
        return not record.answered and self._now.steady - record.at.steady < UNANSWERED

    def _put(self, record: Record) -> None:
        self._blocks.write(self._place(record.number), record.encode())

    def _place(self, number: int) -> int:
        return HEAD_SIZE + number % self.head.capacity * RECORD_SIZE


def _is_unsent(record: Record | None, head: Head) -> bool:
    """Whether a record is of a send that the head does not count: its process was killed."""
    return record is not None and record.number == head.following


def _rewritten(blocks: Blocks, head: Head, now: Moment, capacity: int) -> Head:
    """The log written anew: for more room, after a restart of the machine, or mended."""
    found = _readable(blocks)
    oldest = head.oldest
    if head.following in found:
        oldest = max(oldest, head.following - head.capacity + 1)
    restarted = head.at.steady > now.steady
    new = replace(head, capacity=max(capacity, head.capacity), oldest=oldest, at=now)
    if restarted:
        new.told = replace(head.told, at=head.told.at.seen_from(now))
        new.hold = replace(head.hold, at=head.hold.at.seen_from(now))
        found = {number: replace(each, at=each.at.seen_from(now)) for number, each in found.items()}
    return _written(blocks, new, found)


def _salvaged(blocks: Blocks, now: Moment, capacity: int) -> Head:
    """What can still be read where the head is damaged; each place in the ring was a send.

    Where no record can be read either, nothing tells how many there were: it may have been all.
    """
    found = {
        number: each if each.at.steady <= now.steady else replace(each, at=each.at.seen_from(now))
        for number, each in _readable(blocks).items()
    }
    places = -(-max(0, len(blocks.read(0, -1)) - HEAD_SIZE) // RECORD_SIZE)
    if not found:
        places = max(places, capacity)
    following = max(places, max(found, default=-1) + 1)
    head = Head.fresh(max(capacity, places), now)
    head.oldest, head.following, head.open_from = following - places, following, following
    return _written(blocks, head, found, damaged=True)


def _readable(blocks: Blocks) -> dict[int, Record]:
    ring = blocks.read(0, -1)[HEAD_SIZE:]
    pieces = [ring[place : place + RECORD_SIZE] for place in range(0, len(ring), RECORD_SIZE)]
    records = [Record.decode(piece) for piece in pieces]
    return {each.number: each for each in records if each}


def _written(
    blocks: Blocks, head: Head, found: dict[int, Record], *, damaged: bool = False
) -> Head:
    """Write a whole log. A send that cannot be read counts as sent now.

    That may hold requests back for an hour without need. The other way round, the service would be
    asked too often, and that is the one thing the log is there for.
    """
    numbers = range(head.oldest, head.following)
    lost = [number for number in numbers if number not in found]
    if lost or damaged:
        _LOG.warning(
            "the quota log %s is damaged; %d requests that it cannot tell count as sent now",
            blocks.name,
            len(lost),
        )
    ring = bytearray()
    for number in numbers:
        place = number % head.capacity * RECORD_SIZE
        record = found.get(number) or Record(number, head.at, answered=True)
        ring.extend(bytes(max(0, place + RECORD_SIZE - len(ring))))
        ring[place : place + RECORD_SIZE] = record.encode()
    blocks.replace(head.encode() + bytes(ring))
    return head
