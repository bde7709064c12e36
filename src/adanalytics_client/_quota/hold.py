"""The hold of a key after a 429 that states no time: one request at a time asks again.

The states of a key, in the log that all processes share:

            refused                   `probe_at`
    free ─────────────► held ─────────────────────► probing
     ▲                   ▲  ▲      refused             │ │
     │                   │  └──────────────────────────┘ │
     │                   └── no answer, a 5xx: at once ──┤
     └───────── any other answer to the probe ───────────┘

free: every request may be sent. held: none may. probing: the first request that comes is the probe,
and the others wait for its answer, but at most a minute.

Only a request that was permitted after the last refusal says something new. So the other requests
in flight at the first refusal change nothing, whatever their answers are.
"""

from sqlite3 import Connection
from typing import NamedTuple

PAUSES = (20.0, 40.0, 120.0, 180.0, 600.0)
"""Seconds from the first refusal of an hour to the next probe, from the second, and so on.

So probes follow 20 s, 1, 3 and 6 minutes after the first refusal, then every 10 minutes. With the
probe after each full hour, no hour has more than 12 refusals, even if the hold ends in between.
"""

PUBLISHED_PAUSE = 30.0
"""The `RetryPolicy.longest_wait` with which the pauses are those above; another one scales them."""

_SHORTEST_PAUSE = 0.1
# Its process may have been killed; an answer that comes later still counts.
_LONGEST_PROBE = 60.0
_HOUR = 3600.0
# A service that resets its counts on the full hour may do so a little late.
_PAST_FULL_HOUR = 5.0


class Hold(NamedTuple):
    """A hold; the times are those of the steady clock.

    Attributes:
        since: the first refusal.
        probe_at: when a request may ask again.
        probe_until: when the probe in flight counts as lost; 0 without one.
    """

    since: float
    probe_at: float
    probe_until: float

    def is_hopeless(self, wall_minus_steady: float) -> bool:
        """Return whether the next probe comes after the second full hour from the first refusal."""
        left_of_hour = _HOUR - (self.since + wall_minus_steady) % _HOUR
        return self.probe_at > self.since + left_of_hour + _HOUR + _PAST_FULL_HOUR


def read_hold(log: Connection) -> Hold | None:
    """Return the hold of the key, or None if it is free."""
    row = log.execute("SELECT since, probe_at, probe_until FROM hold").fetchone()
    return row and Hold(*row)


def begin_probe(log: Connection, steady: float) -> None:
    """Let the request that is permitted now be the probe, if the key is held."""
    log.execute("UPDATE hold SET probe_until = ?", (steady + _LONGEST_PROBE,))


def record_refusal(
    log: Connection, sent_at: float, *, steady: float, wall: float, longest_wait: float
) -> None:
    """Begin or continue the hold, because a request got a 429 that states no time."""
    log.execute("DELETE FROM refusals WHERE at <= ?", (steady - _HOUR,))
    count, last = log.execute("SELECT count(*), max(at) FROM refusals").fetchone()
    if count and sent_at <= last:
        return
    log.execute("INSERT INTO refusals VALUES (?)", (steady,))
    hold = read_hold(log)
    # The hold of an earlier run may still be there, whose last refusal is long ago.
    since = hold.since if hold and count else steady
    pause = PAUSES[min(count, len(PAUSES) - 1)] * longest_wait / PUBLISHED_PAUSE
    past_full_hour = _HOUR - wall % _HOUR + _PAST_FULL_HOUR
    probe_at = steady + min(max(pause, _SHORTEST_PAUSE), past_full_hour)
    log.execute("DELETE FROM hold")
    log.execute("INSERT INTO hold VALUES (?, ?, ?, 0)", (since, steady, probe_at))


def end_probe(log: Connection, sent_at: float, *, is_success: bool) -> None:
    """End the hold if its probe `is_success`; else let the next request be the probe."""
    change = "DELETE FROM hold" if is_success else "UPDATE hold SET probe_until = 0"
    log.execute(f"{change} WHERE refused_at < ?", (sent_at,))  # our own text
