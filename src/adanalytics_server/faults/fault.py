"""What a fault is: an effect, the requests it is for, and when it strikes. Plain data."""

from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, get_args

from pydantic import ConfigDict

from adanalytics_server.api.operations import OPERATIONS, Operation

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

# What an effect takes besides its name; anything else with it is a mistake.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "status": ("status", "body", "content_type", "retry_after"),
    "latency": ("seconds",),
    "slow_body": ("seconds",),
    "page_drift": ("rows",),
}
# Effects that only some operations can show.
_ONLY_FOR: dict[str, tuple[Operation, ...]] = {
    "page_drift": ("events",),
    "stuck_export": ("start_export",),
    "failed_export": ("start_export",),
    "expired_url": ("start_export", "export_status"),
}
LONGEST_SECONDS = 3_600.0


class FaultError(ValueError):
    """A fault that cannot be; the text says what is wrong and what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which the server misbehaves.

    Attributes:
        effect: one of :data:`EFFECTS`.
        method: strike only this HTTP method.
        path: strike only these paths, a pattern with ``*`` and ``?``.
        operation: strike only this operation.
        key: strike only credentials with these last four characters.
        after: let so many matching requests pass first.
        times: strike so many times; ``None`` for always.
        per: count ``times`` anew in every hour of the server's clock, or for every distinct
            request (method, path and query); ``None`` counts once and for all.
        probability: strike a matching request with this probability, 0 to 1.
        seed: of the dice; the same seed strikes the same requests of a sequence.
        status: effect ``status``: the HTTP status.
        body: effect ``status``: the text sent; the API's JSON error when left out.
        content_type: effect ``status``: the type of ``body``.
        retry_after: effect ``status``: the ``Retry-After`` header, sent as it is.
        seconds: effects ``latency`` and ``slow_body``: how long it takes.
        rows: effect ``page_drift``: rows by which later pages have moved.

    Raises:
        FaultError: parts that do not fit together.

    Examples:
        >>> Fault(effect="status", status=503, operation="events", times=1).operations
        ('events',)
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    effect: Effect
    method: str | None = None
    path: str | None = None
    operation: Operation | None = None
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
            raise FaultError(f"{self.effect!r} is no effect; there is: {', '.join(EFFECTS)}")
        self._check_parameters()
        self._check_match()
        self._check_times()

    @property
    def label(self) -> str:
        """The effect in words, as the short text form begins."""
        return str(self.status) if self.effect == "status" else self.effect.replace("_", " ")

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that it can strike; empty for all requests."""
        if self.operation is not None:
            return (self.operation,)
        return _ONLY_FOR.get(self.effect, ())

    def fits(self, *, method: str, path: str, operation: str | None, key: str | None) -> bool:
        """Tell whether a request is one of those that it is for."""
        return (
            (self.method is None or self.method == method)
            and (self.path is None or fnmatchcase(path, self.path))
            and (not self.operations or operation in self.operations)
            and (self.key is None or self.key == key)
        )

    def _check_parameters(self) -> None:
        allowed = _PARAMETERS.get(self.effect, ())
        every = {name for names in _PARAMETERS.values() for name in names}
        for field in fields(self):
            if field.name in every - set(allowed) and getattr(self, field.name) is not None:
                raise FaultError(f"effect {self.effect} takes no {field.name}")
        if self.effect == "status" and not (self.status and 200 <= self.status <= 599):
            raise FaultError("effect status needs a status from 200 to 599")
        if self.content_type is not None and self.body is None:
            raise FaultError("content_type goes with a body")
        for name, value in (("content_type", self.content_type), ("retry_after", self.retry_after)):
            if value is not None and not (value.isascii() and value.isprintable()):
                raise FaultError(f"{name} must be printable ASCII, as headers are")
        if "seconds" in allowed and not 0 < (self.seconds or 0) <= LONGEST_SECONDS:
            raise FaultError(f"effect {self.effect} needs seconds, up to {LONGEST_SECONDS:.0f}")
        if self.rows is not None and self.rows < 1:
            raise FaultError("rows must be at least 1")

    def _check_match(self) -> None:
        if self.method is not None and not (self.method.isalpha() and self.method.isupper()):
            raise FaultError(f"{self.method!r} is no HTTP method in capital letters")
        if self.path is not None and not self.path.startswith("/"):
            raise FaultError(f"a path begins with '/': {self.path!r} does not")
        if self.operation is not None and self.operation not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise FaultError(f"{self.operation!r} is no operation; there is: {known}")
        possible = _ONLY_FOR.get(self.effect)
        if possible and self.operation not in (None, *possible):
            raise FaultError(f"{self.effect} is for {' and '.join(possible)} only")
        if self.key is not None and len(self.key) != 4:
            raise FaultError("key is the last four characters of a key, never more of it")

    def _check_times(self) -> None:
        if self.after < 0:
            raise FaultError("after must not be negative")
        if self.times is not None and self.times < 1:
            raise FaultError("times must be at least 1")
        if self.per is not None and self.times is None:
            raise FaultError("per needs times: how often in each")
        if not 0 < self.probability <= 1:
            raise FaultError("probability must be above 0 and at most 1")
