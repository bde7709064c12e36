"""One request until it is answered well: credential, repeats, and the error at last."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from adanalytics_client._config import Login
from adanalytics_client._credentials import Credentials, Pass
from adanalytics_client._effects import (
    Atomic,
    Failure,
    Offload,
    Operation,
    Reply,
    Request,
    Sink,
    Sleep,
)
from adanalytics_client._exchange import Exchanged, announce, exchange
from adanalytics_client._hooks import RetryPlanned, tell
from adanalytics_client._json import Json, NotJson, parse
from adanalytics_client._login import login_request, token_of
from adanalytics_client._problems import (
    Problem,
    of_failure,
    of_status,
    of_unreadable,
    request_id_of,
)
from adanalytics_client._quota import Hold
from adanalytics_client._secret import Secret
from adanalytics_client._session import Session
from adanalytics_client._url import redact_url, without_user
from adanalytics_client.errors import AdAnalyticsError, ProtocolError, QuotaExceeded

T = TypeVar("T")
R = TypeVar("R")

NO_CONTENT = 204

# Below this a thread hop costs more than the parse that it would move away.
_QUICK_BODY = 65_536
_LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class Ask:
    """A request and how it may be treated.

    Attributes:
        request: what to send, without a credential.
        authorized: whether the client's credential goes with it (to the base origin only).
        repeatable: whether it may be sent again although it may have arrived.
        sink: takes the body of a file instead of memory.
        accepted: statuses beside 2xx that are answers and not errors.
    """

    request: Request
    authorized: bool = True
    repeatable: bool = True
    sink: Sink | None = None
    accepted: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The reply that counts, what was read from it, and the address that gave it."""

    value: T = field(repr=False)
    reply: Reply
    url: str

    def checked(self, credentials: Credentials, read: Callable[[], R]) -> R:
        """What `read` makes of the value; its ProtocolError gets the address and request id."""
        try:
            return read()
        except ProtocolError as error:
            error.url = redact_url(self.url)
            error.request_id = request_id_of(self.reply.head)
            credentials.scrub(error)
            # Not earlier, so that no half of a secret stays.
            error.message = error.message[:_LONGEST_MESSAGE]
            error.args = (error.message,)
            # The frames that read the answer hold all that it echoes.
            raise error.with_traceback(None) from None


def read_nothing(_reply: Reply) -> None:
    """For a reply whose head says all, or whose body went to a sink."""


def read_json(reply: Reply) -> Json:
    """The body as exact JSON; None when the status says that there is none."""
    return None if reply.status == NO_CONTENT else parse(reply.body)


def call(session: Session, ask: Ask, read: Callable[[Reply], T]) -> Operation[Answer[T]]:
    """Send until answered well; a body that `read` refuses as NotJson is asked for again.

    Raises:
        AdAnalyticsError: the last problem, once it may not or need not be tried again.
    """
    deadline = session.clock.monotonic() + session.config.retry.budget
    attempt, renewed = 0, False
    while True:
        attempt += 1
        used = Ready(ask.request)
        if ask.authorized:
            used = yield from with_credential(session, ask.request)
        try:
            done = yield from exchange(
                session,
                used.request,
                deadline=deadline,
                sink=ask.sink,
                resends=attempt - 1 + renewed,
            )
        except AdAnalyticsError as error:
            # A request held back for its quota was not sent this time.
            sent = attempt - 1 if isinstance(error, QuotaExceeded) else attempt
            error.attempts = max(error.attempts, sent)
            session.credentials.scrub(error)
            raise
        deadline += done.waited
        if not renewed and (yield from renewed_after(session, used, done)):
            renewed, attempt = True, attempt - 1
            continue
        verdict = yield from _verdict(session, ask, done, read)
        if isinstance(verdict, Answer):
            return verdict
        complete(session, verdict.error, done, attempt)
        tries = Tries(attempt, attempt, deadline)
        deadline += yield from before_repeat(session, verdict, done.url, tries)


def log_in(session: Session, login: Login) -> Operation[Secret]:
    """Exchange an e-mail and password for a token; repeating it harms nobody."""
    request = login_request(session.config.base, login)
    answer = yield from call(session, Ask(request, authorized=False), read_json)
    return answer.checked(session.credentials, lambda: token_of(answer.value))


def issued_token(session: Session) -> Operation[Secret]:
    """The credential in use; for an account the token of its login, which may happen now."""
    issued = yield from session.credentials.current(_log_in_of(session))
    return issued.secret


@dataclass(frozen=True, slots=True)
class Ready:
    """A request as it will be sent, and the pass in it, if any."""

    request: Request
    issued: Pass | None = None


def with_credential(session: Session, request: Request) -> Operation[Ready]:
    """`request` with the client's credential if it goes to the base origin, else as it is."""
    if not session.config.base.owns(request.url):
        return Ready(request)
    issued = yield from session.credentials.current(_log_in_of(session))
    # httpx would put a user that the address names in the credential's place.
    url = without_user(request.url)
    return Ready(replace(request, url=url, credential=issued.secret), issued)


def renewed_after(session: Session, used: Ready, done: Exchanged) -> Operation[bool]:
    """After a 401 replace the credential that was refused; False when nothing can be done."""
    refused = isinstance(done.outcome, Reply) and done.outcome.status == 401
    home = session.config.base.owns(done.url)
    if used.issued is None or not (refused and home and session.credentials.renewable):
        return False
    yield from session.credentials.renew(used.issued, _log_in_of(session))
    return True


def _log_in_of(session: Session) -> Callable[[Login], Operation[Secret]]:
    return lambda login: log_in(session, login)


def _verdict(
    session: Session, ask: Ask, done: Exchanged, read: Callable[[Reply], T]
) -> Operation[Answer[T] | Problem]:
    """Read a good answer; for any other say what the problem is."""
    outcome = done.outcome
    if isinstance(outcome, Failure):
        return of_failure(outcome, done.url, repeatable=ask.repeatable)
    if not 200 <= outcome.status < 300 and outcome.status not in ask.accepted:
        return of_status(
            outcome,
            repeatable=ask.repeatable,
            now=session.clock.time(),
            credentials=session.credentials,
            home=session.config.base.owns(done.url),
        )
    try:
        if len(outcome.body) < _QUICK_BODY:
            value = read(outcome)
        else:
            value = yield Offload(lambda: read(outcome))
    except NotJson as error:
        return of_unreadable(outcome, error, repeatable=ask.repeatable)
    return Answer(value, outcome, done.url)


def complete(session: Session, error: AdAnalyticsError, done: Exchanged, attempt: int) -> None:
    """Add what a person needs to find the exchange, and take out what nobody may see."""
    error.attempts = attempt
    error.url = redact_url(done.url)
    if isinstance(done.outcome, Reply):
        error.request_id = request_id_of(done.outcome.head)
    session.credentials.scrub(error)


@dataclass(frozen=True, slots=True)
class Tries:
    """How far the attempts at one thing have come.

    Attributes:
        sent: how many there were.
        failures: how many of the last ones brought nothing.
        deadline: until when to go on, on the monotonic clock; waits for a rate do not count.
    """

    sent: int
    failures: int
    deadline: float


def before_repeat(session: Session, problem: Problem, url: str, tries: Tries) -> Operation[float]:
    """Wait before sending again, or raise; gives the seconds that the budget does not count."""
    policy, config = session.config.retry, session.config
    seconds = policy.wait(max(0, tries.failures - 1), problem.asked, session.jitter)
    hold = (yield from _held(session, url, seconds)) if problem.limited else None
    if not problem.again or tries.failures >= policy.attempts:
        raise problem.error
    if hold is not None:
        if config.on_limit == "raise" or seconds > config.max_wait:
            raise problem.error
        announce(session, hold)
        yield Sleep(seconds)
        return seconds
    if session.clock.monotonic() + seconds > tries.deadline:
        raise problem.error
    told = problem.error.message
    planned = RetryPlanned(session.shown(url), tries.sent, seconds, told)
    tell(session.observer.retry, planned)
    yield Sleep(seconds)
    return 0.0


def _held(session: Session, url: str, seconds: float) -> Operation[Hold]:
    """Obey a 429: every request with this key waits, not only the one that was refused."""
    if session.config.base.counts(url):
        hold: Hold = yield Atomic(lambda: session.quota.hold(seconds))
        return hold
    until = datetime.fromtimestamp(session.clock.time() + seconds, tz=UTC)
    return Hold(seconds, until, news=True, asked=True)
