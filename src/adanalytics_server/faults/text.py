"""Faults in a few words, as tests write them: ``503 once per hour``, ``reset on events after 3``.

The grammar. Words are separated by spaces and may be in any case; the clauses after the effect
come in any order, each at most once::

    fault   = effect clause*
    effect  = STATUS [ "retry-after" WORD ]            an answer of this status instead
            | "latency" TIME | "slow body" TIME        TIME is 200ms or 1.5s
            | "page drift" [ ROWS ]
            | "reset" | "empty reply" | "truncated body" | "truncated gzip" | "bad json"
            | "wrong content type" | "html page"
            | "stuck export" | "failed export" | "expired url"
    clause  = "on" [ METHOD ] [ OPERATION | PATH ]     PATH begins with "/", "*" is anything
            | "for key" FOUR                           last four characters of the key
            | "after" N                                let N matching requests pass
            | ( "once" | "twice" | N "times" | "always" ) [ "per" ( "hour" | "request" ) ]
            | "with probability" P [ "seed" N ]

Without a clause of times a fault strikes always.
"""

import re
from collections import deque
from typing import Any

from adanalytics_server.api.operations import OPERATIONS
from adanalytics_server.faults.fault import EFFECTS, Effect, Every, Fault, FaultError

_STATUS = re.compile(r"[2-5][0-9]{2}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_SEED = re.compile(r"-?[0-9]{1,18}")
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s)")
_FRACTION = re.compile(r"[01](?:\.[0-9]{1,9})?|\.[0-9]{1,9}")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_EFFECTS: dict[tuple[str, ...], Effect] = {
    tuple(effect.split("_")): effect for effect in EFFECTS if effect != "status"
}
_TIMES = {"once": 1, "twice": 2}


def parse_fault(text: str) -> Fault:
    """Read a fault from its short form; the grammar is at the top of this module.

    Raises:
        FaultError: the text does not follow it; the message names the word.

    Examples:
        >>> parse_fault("503 once per hour").per
        'hour'
    """
    return _Reader(text).fault()


class _Reader:
    """Takes the words of one fault from the left."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = deque(text.split())
        self._values: dict[str, Any] = {}
        self._clauses: set[str] = set()

    def fault(self) -> Fault:
        self._read_effect()
        while self._words:
            self._read_clause()
        try:
            return Fault(**self._values)
        except FaultError as error:
            raise FaultError(f"fault {self._text!r}: {error}") from error

    def _wrong(self, problem: str) -> FaultError:
        return FaultError(f"fault {self._text!r}: {problem}")

    def _peek(self) -> str:
        return self._words[0].lower() if self._words else ""

    def _take(self, what: str, pattern: re.Pattern[str] | None = None) -> str:
        word = self._words.popleft() if self._words else ""
        if not word or (pattern and not pattern.fullmatch(word.lower())):
            raise self._wrong(f"{what} is expected where {word or 'it ends'!r} is")
        return word

    def _read_effect(self) -> None:
        if _STATUS.fullmatch(self._peek()):
            self._values |= {"effect": "status", "status": int(self._take("a status"))}
            if self._peek() == "retry-after":
                self._words.popleft()
                self._values["retry_after"] = self._take("the value of Retry-After")
            return
        effect = self._take_named_effect()
        self._values["effect"] = effect
        if effect in ("latency", "slow_body"):
            self._values["seconds"] = self._take_seconds()
        following = [word.lower() for word in self._words][1:2]
        # A number that "times" follows counts the strikes, not the rows.
        if effect == "page_drift" and _NUMBER.fullmatch(self._peek()) and following != ["times"]:
            self._values["rows"] = int(self._words.popleft())

    def _take_named_effect(self) -> Effect:
        words = [word.lower() for word in self._words]
        for name, effect in _EFFECTS.items():
            if tuple(words[: len(name)]) == name:
                for _ in name:
                    self._words.popleft()
                return effect
        known = ", ".join(" ".join(name) for name in _EFFECTS)
        raise self._wrong(f"it must begin with a status such as 503, or with: {known}")

    def _take_seconds(self) -> float:
        found = _TIME.fullmatch(self._take("a time such as 200ms or 1.5s", _TIME).lower())
        if found is None:
            raise self._wrong("a time such as 200ms or 1.5s is expected")
        return float(found[1]) / (1000 if found[2] == "ms" else 1)

    def _read_clause(self) -> None:
        word = self._take("a clause")
        first = word.lower()
        if first == "on":
            self._once("on")
            self._read_target()
        elif first == "for":
            self._once("for")
            self._take("'key'", re.compile("key"))
            self._values["key"] = self._take("the last four characters of a key")
        elif first == "after":
            self._once("after")
            self._values["after"] = int(self._take("a number", _NUMBER))
        elif first == "with":
            self._once("with")
            self._take("'probability'", re.compile("probability"))
            self._values["probability"] = float(self._take("a number from 0 to 1", _FRACTION))
            if self._peek() == "seed":
                self._words.popleft()
                self._values["seed"] = int(self._take("a whole number", _SEED))
        elif first in _TIMES or first == "always" or _NUMBER.fullmatch(first):
            self._once("times")
            self._read_times(first)
        else:
            raise self._wrong(
                f"{word!r} begins no clause; there is: on, for key, after, once, twice,"
                " N times, always, with probability"
            )

    def _once(self, clause: str) -> None:
        if clause in self._clauses:
            raise self._wrong(f"the clause {clause!r} is there twice")
        self._clauses.add(clause)

    def _read_target(self) -> None:
        if self._peek().upper() in _METHODS:
            self._values["method"] = self._words.popleft().upper()
        if self._peek().startswith("/"):
            self._values["path"] = self._words.popleft()
        elif self._peek() in OPERATIONS:
            self._values["operation"] = self._words.popleft().lower()
        elif "method" not in self._values:
            found = self._words[0] if self._words else "nothing"
            known = ", ".join(OPERATIONS)
            raise self._wrong(f"'on' takes a method, a path or one of {known}; not {found}")

    def _read_times(self, first: str) -> None:
        if _NUMBER.fullmatch(first):
            self._take("'times'", re.compile("times"))
            self._values["times"] = int(first)
        else:
            self._values["times"] = _TIMES.get(first)
        if self._peek() == "per":
            self._words.popleft()
            every = self._take("'hour' or 'request'", re.compile("hour|request")).lower()
            per: Every = "hour" if every == "hour" else "request"
            self._values["per"] = per
