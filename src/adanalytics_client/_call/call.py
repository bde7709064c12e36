"""Send one request until it succeeds: credential, exchange, verdict, retry."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.effects import Failure, Offload, Operation, Reply, Request
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import without_user
from adanalytics_client._call.config import Login
from adanalytics_client._call.credentials import Credentials, LogIn, Pass, login_request, token_of
from adanalytics_client._call.exchange import Ask, Exchanged, exchange
from adanalytics_client._call.failures import (
    Problem,
    failure_problem,
    status_problem,
    unreadable_problem,
)
from adanalytics_client._call.session import Session
from adanalytics_client._call.waiting import Tries, before_repeat
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client.errors import AdAnalyticsError, ProtocolError, QuotaExceeded, RequestTimeout

T = TypeVar("T")
R = TypeVar("R")

NO_CONTENT = 204

# Below this size a thread hop costs more than the parse that it would move.
_QUICK_BODY = 65_536


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A good reply, the value read from it, and the address that sent it."""

    value: T = field(repr=False)
    reply: Reply
    url: str

    def checked(self, credentials: Credentials, read: Callable[[], R]) -> R:
        """The result of `read`; a ProtocolError gets the address and request id."""
        try:
            return _within_the_stack(read)
        except ProtocolError as error:
            credentials.complete(error, self.url, self.reply)
            # The frames that read the response hold everything that it echoes.
            raise error.with_traceback(None) from None


def _within_the_stack(read: Callable[[], R]) -> R:
    try:
        return read()
    except RecursionError:
        # The members beside a page's events may be nested to any depth.
        raise ProtocolError(
            "The answer is nested too deeply.", remedy="Report it to the service."
        ) from None


def read_nothing(_reply: Reply) -> None:
    """Read nothing: the head says everything, or the body went to a sink."""


def read_json(reply: Reply) -> Json:
    """The body as exact JSON; None when the status means that there is none."""
    return None if reply.status == NO_CONTENT else parse(reply.body)


def call(
    session: Session, ask: Ask, read: Callable[[Reply], T], *, deadline: Deadline | None = None
) -> Operation[Answer[T]]:
    """Send until it succeeds; a body that `read` refuses as NotJson is requested again.

    Args:
        session: the client's session.
        ask: the request.
        read: makes the value from the reply.
        deadline: that of the enclosing call; by default a deadline of its own.

    Raises:
        AdAnalyticsError: the last problem, once the request may not or need not be sent again.
    """
    deadline = deadline or session.deadline()
    attempt, renewed = 0, False
    while True:
        attempt += 1
        prepared = Prepared(ask.request)
        if ask.authorized:
            prepared = yield from with_credential(session, ask.request, deadline)
        sent, before = replace(ask, request=prepared.request), attempt - 1 + renewed
        try:
            done = yield from exchange(session, sent, deadline=deadline, resends=before)
        except AdAnalyticsError as error:
            # A request held back for quota or lack of time was not sent this time.
            held = isinstance(error, (QuotaExceeded, RequestTimeout))
            error.amended(attempts=error.attempts + (before if held else attempt))
            session.credentials.scrub(error)
            raise
        if not renewed and (yield from renewed_after(session, prepared, done, deadline)):
            renewed, attempt = True, attempt - 1
            continue
        verdict = yield from _verdict(session, ask, done, read, deadline)
        if isinstance(verdict, Answer):
            return verdict
        complete(session, verdict.error, done, attempt)
        tries = Tries(attempt, attempt, deadline)
        yield from before_repeat(session, verdict, done.url, tries)


def log_in(session: Session, login: Login, deadline: Deadline) -> Operation[Secret]:
    """Exchange an e-mail and password for a token; a repeated login does no harm."""
    request = login_request(session.config.base, login)
    ask = Ask(request, authorized=False)
    answer = yield from call(session, ask, read_json, deadline=deadline)
    return answer.checked(session.credentials, lambda: token_of(answer.value))


def issued_token(session: Session) -> Operation[Secret]:
    """The credential in use; for an account the token of its login, which may happen now."""
    issued = yield from session.credentials.current(_log_in_of(session, session.deadline()))
    return issued.secret


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request with its credential, and the `Pass` that it is from, if any."""

    request: Request
    issued: Pass | None = None


def with_credential(session: Session, request: Request, deadline: Deadline) -> Operation[Prepared]:
    """`request` with the client's credential if it goes to the base origin, else unchanged."""
    if not session.config.base.owns(request.url):
        return Prepared(request)
    issued = yield from session.credentials.current(_log_in_of(session, deadline))
    # httpx would replace the credential by a user in the address.
    url = without_user(request.url)
    return Prepared(replace(request, url=url, credential=issued.secret), issued)


def renewed_after(
    session: Session, prepared: Prepared, done: Exchanged, deadline: Deadline
) -> Operation[bool]:
    """Replace a credential that was refused with a 401; False when that is not possible."""
    refused = isinstance(done.outcome, Reply) and done.outcome.status == 401
    home = session.config.base.owns(done.url)
    if prepared.issued is None or not (refused and home and session.credentials.renewable):
        return False
    yield from session.credentials.renew(prepared.issued, _log_in_of(session, deadline))
    return True


def _log_in_of(session: Session, deadline: Deadline) -> LogIn:
    return LogIn(lambda login: log_in(session, login, deadline), session.hurry)


def _verdict(
    session: Session, ask: Ask, done: Exchanged, read: Callable[[Reply], T], deadline: Deadline
) -> Operation[Answer[T] | Problem]:
    """Read a good response, or return the problem of any other."""
    outcome = done.outcome
    if isinstance(outcome, Failure):
        within = session.limit_of(deadline)
        return failure_problem(outcome, done.url, repeatable=ask.repeatable, within=within)
    if not 200 <= outcome.status < 300 and outcome.status not in ask.accepted:
        return status_problem(
            outcome,
            repeatable=ask.repeatable,
            now=session.clock.time(),
            credentials=session.credentials,
            home=session.config.base.owns(done.url),
        )
    try:
        # The size of the body that a sink has kept is not known here.
        if ask.sink is None and len(outcome.body) < _QUICK_BODY:
            value = read(outcome)
        else:
            value = yield Offload(lambda: read(outcome))
    except NotJson as error:
        return unreadable_problem(outcome, error, repeatable=ask.repeatable)
    except ProtocolError as error:
        # Without the frames that hold everything that the response echoes.
        return Problem(error.with_traceback(None), again=False)
    return Answer(value, outcome, done.url)


def complete(session: Session, error: AdAnalyticsError, done: Exchanged, attempt: int) -> None:
    """Add the details that identify the exchange, and remove the secrets."""
    reply = done.outcome if isinstance(done.outcome, Reply) else None
    session.credentials.complete(error.amended(attempts=attempt), done.url, reply)
