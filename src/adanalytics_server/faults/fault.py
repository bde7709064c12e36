"""Faults as plain data: an effect, the requests that it matches, and when it strikes.

Tests write the short form: ``503 once per hour``, ``reset on events after 3``. Spaces separate the
words, which are case-insensitive; the clauses after the effect come in any order, each at most
once::

    fault   = effect clause*
    effect  = STATUS [ "retry-after" SECONDS ]         a response with this status
            | "latency" TIME | "slow body" TIME        TIME is 200ms or 1.5s
            | "page drift" [ ROWS ]
            | "reset" | "empty reply" | "truncated body" | "truncated gzip" | "bad json"
            | "wrong content type" | "html page"
            | "stuck export" | "failed export" | "expired url"
    clause  = "on" [ METHOD ] [ OPERATION | PATH ]     PATH begins with "/", "*" matches anything
            | "for key" FOUR                           last four characters of the key
            | "after" N                                let N matching requests pass
            | ( "once" | "twice" | N "times" | "always" ) [ "per" ( "hour" | "request" ) ]
            | "with probability" P [ "seed" N ]

A fault without "once", "twice" or "times" always strikes.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, ClassVar, Literal, get_args

from pydantic import ConfigDict

from adanalytics_server.api.routes import OPERATIONS

from .journal import Entry

Effect = Literal[
    "status",
    "latency",
    "reset",
    "empty_reply",
    "truncated_body",
    "truncated_gzip",
    "slow_body",
    "bad_json",
    "wrong_content_type",
    "html_page",
    "page_drift",
    "stuck_export",
    "failed_export",
    "expired_url",
]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
Every = Literal["hour", "request"]

# The parameters of each effect.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "status": ("status", "body", "content_type", "retry_after"),
    "latency": ("seconds",),
    "slow_body": ("seconds",),
    "page_drift": ("rows",),
}
# Effects that only some operations support.
_ONLY_FOR: dict[str, tuple[str, ...]] = {
    "page_drift": ("events",),
    "stuck_export": ("start_export",),
    "failed_export": ("start_export",),
    "expired_url": ("start_export", "export_status"),
}
LONGEST_SECONDS = 3_600.0
_NUMBER = "[0-9]{1,9}"
_TIME = r"[0-9]{1,9}(\.[0-9]{1,6})?(ms|s)"
_FRACTION = r"[01](\.[0-9]{1,9})?|\.[0-9]{1,9}"


class FaultError(ValueError):
    """A fault is invalid; the message says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which the server misbehaves.

    Attributes:
        effect: one of ``EFFECTS``.
        method: strike only requests with this HTTP method.
        path: strike only requests to these paths; ``*`` and ``?`` are wildcards.
        operation: strike only requests for this operation.
        key: strike only requests whose credential ends in these four characters.
        after: let this many matching requests pass first.
        times: how many times the fault strikes; ``None`` means always.
        per: count ``times`` separately for each ``hour`` of the server's clock, or for each
            different ``request`` (method, path and query); with ``None``, there is one count.
        probability: strike a matching request with this probability, above 0 and up to 1.
        seed: the seed for ``probability``; with an equal seed, a run affects the same requests.
        status: for the effect ``status``, the HTTP status.
        body: for the effect ``status``, the body; by default the API's JSON error.
        content_type: for the effect ``status``, the content type of ``body``.
        retry_after: for the effect ``status``, the ``Retry-After`` header, sent unchanged.
        seconds: for the effects ``latency`` and ``slow_body``, the duration.
        rows: for the effect ``page_drift``, the number of rows by which later pages shift.

    Raises:
        FaultError: a field is invalid, or the fields do not fit together.

    Examples:
        >>> Fault(effect="status", status=503, operation="events", times=1).operations
        ('events',)
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    effect: Effect
    method: str | None = None
    path: str | None = None
    operation: str | None = None
    key: str | None = None
    after: int = 0
    times: int | None = None
    per: Every | None = None
    probability: float = 1.0
    seed: int = 0
    status: int | None = None
    body: str | None = None
    content_type: str | None = None
    retry_after: str | None = None
    seconds: float | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise FaultError(f"unknown effect {self.effect!r}; known effects: {', '.join(EFFECTS)}")
        effect_parameters = _PARAMETERS.get(self.effect, ())
        for name in chain(*_PARAMETERS.values()):
            if name not in effect_parameters and getattr(self, name) is not None:
                raise FaultError(f"effect {self.effect} takes no {name}")
        if self.effect == "status" and not (self.status and 200 <= self.status <= 599):
            raise FaultError("effect status needs a status from 200 to 599")
        if self.content_type is not None and self.body is None:
            raise FaultError("content_type needs a body")
        for name, value in (("content_type", self.content_type), ("retry_after", self.retry_after)):
            if value is not None and not (value.isascii() and value.isprintable()):
                raise FaultError(f"{name} must be printable ASCII, as headers are")
        if "seconds" in effect_parameters and not 0 < (self.seconds or 0) <= LONGEST_SECONDS:
            raise FaultError(f"effect {self.effect} needs seconds, up to {LONGEST_SECONDS:.0f}")
        if self.rows is not None and self.rows < 1:
            raise FaultError("rows must be at least 1")
        if self.method is not None and not (self.method.isalpha() and self.method.isupper()):
            raise FaultError(f"{self.method!r} is not an HTTP method in capital letters")
        if self.path is not None and not self.path.startswith("/"):
            raise FaultError(f"the path {self.path!r} must begin with '/'")
        if self.operation is not None and self.operation not in OPERATIONS:
            names = ", ".join(OPERATIONS)
            raise FaultError(f"unknown operation {self.operation!r}; known operations: {names}")
        possible = _ONLY_FOR.get(self.effect)
        if possible and self.operation not in (None, *possible):
            raise FaultError(f"effect {self.effect} works with {' and '.join(possible)} only")
        if self.key is not None and len(self.key) != 4:
            raise FaultError("key must be exactly the last four characters of a key")
        if self.after < 0:
            raise FaultError("after must not be negative")
        if self.times is not None and self.times < 1:
            raise FaultError("times must be at least 1")
        if self.per is not None and self.times is None:
            raise FaultError("per needs times: how often to strike in each")
        if not 0 < self.probability <= 1:
            raise FaultError("probability must be above 0 and at most 1")

    @property
    def label(self) -> str:
        """Return the effect as it is written in the short form of a fault, such as ``503``."""
        return str(self.status) if self.effect == "status" else self.effect.replace("_", " ")

    @property
    def operations(self) -> tuple[str, ...]:
        """Return the operations that the fault can strike; an empty tuple means all requests."""
        if self.operation is not None:
            return (self.operation,)
        return _ONLY_FOR.get(self.effect, ())

    def fits(self, request: Entry) -> bool:
        return (
            self.method in (None, request.method)
            and (self.path is None or fnmatchcase(request.path, self.path))
            and (not self.operations or request.operation in self.operations)
            and self.key in (None, request.key)
        )


def parse_fault(text: str) -> Fault:
    """Read a fault from its short form; the grammar is at the top of this module.

    Raises:
        FaultError: the text does not follow the grammar; the message shows what cannot be read.

    Examples:
        >>> parse_fault("503 once per hour").per
        'hour'
    """
    rest = " ".join(text.split())
    effect, match = _first(_EFFECTS, rest)
    if match is None:
        effects = ", ".join(sorted(set(EFFECTS) - {"status"})).replace("_", " ")
        raise FaultError(
            f"fault {text!r}: it must begin with a status such as 503, or with: {effects};"
            " latency and slow body need a time such as 200ms or 1.5s"
        )
    values: dict[str, Any] = {"effect": effect, **_values(match)}
    clauses = set()
    while rest := rest[match.end() :].lstrip():
        clause, match = _first(_CLAUSES, rest)
        if match is None:
            raise FaultError(f"fault {text!r}: cannot read {rest!r}; a fault may say: {_FORMS}")
        if clause in clauses:
            raise FaultError(f"fault {text!r}: the clause {clause!r} occurs twice")
        clauses.add(clause)
        values |= _values(match)
    try:
        return Fault(**values)
    except FaultError as error:
        raise FaultError(f"fault {text!r}: {error}") from error


def _seconds(text: str) -> float:
    return float(text.lower().rstrip("ms")) / (1000 if text.lower().endswith("ms") else 1)


def _times(text: str) -> int | None:
    words = {"once": 1, "twice": 2, "always": None}
    return words[text.lower()] if text.lower() in words else int(text.split(maxsplit=1)[0])


_METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"
_OPERATIONS = "|".join(OPERATIONS)
# The name of each group is a field of the fault.
_EFFECTS: dict[str, str] = {
    **{effect: effect.replace("_", " ") for effect in EFFECTS},
    "status": f"(?P<status>[2-5][0-9]{{2}})( retry-after (?P<retry_after>{_NUMBER}))?",
    "latency": f"latency (?P<seconds>{_TIME})",
    "slow_body": f"slow body (?P<seconds>{_TIME})",
    # A number before "times" counts the strikes, not the rows.
    "page_drift": f"page drift( (?P<rows>{_NUMBER})(?! times))?",
}
_CLAUSES = {
    "on": rf"on(?= (({_METHODS}|{_OPERATIONS})( |$)|/))( (?P<method>{_METHODS})(?= |$))?"
    rf"( (?P<path>/\S*)| (?P<operation>{_OPERATIONS})(?= |$))?",
    "for key": r"for key (?P<key>\S+)",
    "after": f"after (?P<after>{_NUMBER})",
    "with probability": f"with probability (?P<probability>{_FRACTION})"
    "( seed (?P<seed>-?[0-9]{1,18}))?",
    "times": f"(?P<times>once|twice|always|{_NUMBER} times)( per (?P<per>hour|request))?",
}
_FORMS = (
    "retry-after SECONDS (right after a status); on METHOD, a /path or one of"
    f" {', '.join(OPERATIONS)}; for key FOUR (its last four characters); after N;"
    " once, twice, N times or always, then per hour or per request;"
    " with probability P (a number from 0 to 1), then seed N"
)
_TYPES: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("status", "rows", "after", "seed"), int),
    **dict.fromkeys(("operation", "per"), str.lower),
    "method": str.upper,
    "probability": float,
    "seconds": _seconds,
    "times": _times,
}


def _first(forms: Mapping[str, str], text: str) -> tuple[str, re.Match[str] | None]:
    """Return the first form that the text begins with."""
    for name, pattern in forms.items():
        if match := re.match(f"(?:{pattern})(?= |$)", text, re.IGNORECASE):
            return name, match
    return "", None


def _values(match: re.Match[str]) -> dict[str, object]:
    groups = match.groupdict().items()
    return {name: _TYPES.get(name, str)(text) for name, text in groups if text is not None}
