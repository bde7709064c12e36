"""What the log of sends consists of: moments, records and a head, each as fixed bytes.

Every piece carries a checksum, so that bytes which are something else are known for it.
"""

from dataclasses import dataclass
from struct import Struct
from zlib import crc32

WINDOW = 3600.0
"""Seconds over which the service counts."""

UNANSWERED = 300.0
"""Seconds until a request without an answer surely reached the service, or never will.

Its process was killed in between, so nobody knows when exactly the service counted it.
"""

_MAGIC = b"adaquota1\n"
_HEAD = Struct("<10sQQQQqddddddddI")
_RECORD = Struct("<QddII")
HEAD_SIZE = 128
RECORD_SIZE = _RECORD.size


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by two clocks.

    `wall` is seconds since 1970 and may be set anew. `steady` never goes back while the machine
    runs and is the same for all its processes. A difference of steady times is never more than the
    time that passed, even across a restart, where it starts near zero.
    """

    wall: float
    steady: float

    def seen_from(self, now: "Moment") -> "Moment":
        """This moment after a restart of the machine: as old as the wall clock says."""
        age = max(0.0, now.wall - self.wall)
        return Moment(now.wall - age, now.steady - age)


@dataclass(frozen=True, slots=True)
class Notice:
    """What the service said at a moment, and for how many seconds it holds."""

    at: Moment
    seconds: float

    def left(self, now: Moment) -> float:
        """Seconds for which it still holds; zero or less when it is over."""
        return self.at.steady + self.seconds - now.steady


@dataclass(frozen=True, slots=True)
class Record:
    """One send: when it was taken or, once answered, when the answer came."""

    number: int
    at: Moment
    answered: bool

    def free_in(self, now: Moment) -> float:
        """Seconds until it no longer counts; zero or less when it does not.

        What is on its way is taken to be answered within the hour, since most of it is at once.
        """
        left = self.at.steady + WINDOW - now.steady
        return left if self.answered or left > 0 else left + UNANSWERED

    def encode(self) -> bytes:
        """The 32 bytes of the record."""
        fields = (self.number, self.at.wall, self.at.steady, int(self.answered))
        return _RECORD.pack(*fields, crc32(_RECORD.pack(*fields, 0)))

    @classmethod
    def decode(cls, data: bytes) -> "Record | None":
        """The record of 32 bytes, or None for any other bytes."""
        if len(data) != RECORD_SIZE:
            return None
        number, wall, steady, answered, check = _RECORD.unpack(data)
        if check != crc32(data[:-4] + bytes(4)):
            return None
        return cls(number, Moment(wall, steady), answered == 1)


@dataclass(slots=True)
class Head:
    """What is known beside the records; numbers of sends count from 0.

    Attributes:
        capacity: records in the ring; send `n` is at place `n % capacity`.
        oldest, following: the records from `oldest` up to, not including, `following` are there.
        open_from: every send before this one was answered or given up.
        left, told: requests left by the service's own count, and how long to believe it.
        hold: send nothing, as a 429 said.
        at: when the head was written.
    """

    capacity: int
    oldest: int
    following: int
    open_from: int
    left: int
    told: Notice
    hold: Notice
    at: Moment

    @classmethod
    def fresh(cls, capacity: int, now: Moment) -> "Head":
        """The head of a log in which nothing was sent."""
        nothing = Notice(now, 0.0)
        return cls(capacity, 0, 0, 0, 0, nothing, nothing, now)

    def encode(self) -> bytes:
        """The 128 bytes of the head."""
        told, hold, at = self.told, self.hold, self.at
        fields = (
            _MAGIC,
            self.capacity,
            self.oldest,
            self.following,
            self.open_from,
            self.left,
            *(told.at.wall, told.at.steady, told.seconds),
            *(hold.at.wall, hold.at.steady, hold.seconds),
            *(at.wall, at.steady),
        )
        check = crc32(_HEAD.pack(*fields, 0))
        return _HEAD.pack(*fields, check).ljust(HEAD_SIZE, b"\0")

    @classmethod
    def decode(cls, data: bytes) -> "Head | None":
        """The head of 128 bytes, or None for any other bytes."""
        if len(data) != HEAD_SIZE or not data.startswith(_MAGIC):
            return None
        _, capacity, oldest, following, open_from, left, *times, check = _HEAD.unpack_from(data)
        if check != crc32(data[: _HEAD.size - 4] + bytes(4)):
            return None
        told = Notice(Moment(times[0], times[1]), times[2])
        hold = Notice(Moment(times[3], times[4]), times[5])
        at = Moment(times[6], times[7])
        return cls(capacity, oldest, following, open_from, left, told, hold, at)
