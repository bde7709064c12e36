"""The only loop that sends a request until its answer is good, and the call that reads a body."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Generic, TypeVar

from adanalytics_client._base import effects
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import RetryPlanned, WaitStarted, notify
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import without_user
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client._quota.window import Reason, Wait
from adanalytics_client.errors import AdAnalyticsError, ProtocolError, QuotaExceeded, RequestTimeout

from .config import Login
from .credentials import Credentials, LogIn, login_request, token_of
from .exchange import SILENT_WAIT, Exchange, advice_for, announce, exchange, moment_in
from .failures import (
    FailedAttempt,
    attempt_without_response,
    incomplete_attempt,
    refused_attempt,
    unreadable_attempt,
)
from .retry import pause_before
from .session import Session

T = TypeVar("T")
R = TypeVar("R")

NO_CONTENT = 204

_ACCEPTED = 202
# OK, Created, Non-Authoritative Information, No Content, Reset Content.
_WHOLE = frozenset({200, 201, 203, NO_CONTENT, 205})

# Below this size a thread hop costs more than the parse that it would move.
_QUICK_BODY = 65_536


class Access(Enum):
    """Whether a request to the base origin carries the client's credential.

    An address of the API responds with 401 without it. A signed one responds with 400 to it:
    https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html (InvalidArgument).
    """

    WITH_CREDENTIAL = "always"
    CREDENTIAL_FIRST = "without it after a 400"
    BARE_FIRST = "with it after a refusal"
    # A login.
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be done to get a good answer.

    Attributes:
        access: whether the request carries the credential; it goes to the base origin only.
        repeatable: whether the request may be sent again even if it may have arrived.
        carry: whether the credential follows a redirect within the base origin.
        patient: whether the service may be down for as long as `RetryPolicy.patience` says.
        is_whole: whether the response must be all of the data; a 202 (RFC 9110, section 15.3.3)
            is then requested again, and a 206 or another success for a part is refused.
        appears_by: for a file: until then an answer may mean that it does not exist yet.
    """

    access: Access = Access.WITH_CREDENTIAL
    repeatable: bool = True
    carry: bool = True
    patient: bool = False
    is_whole: bool = False
    appears_by: Deadline | None = None


Judge = Callable[[Exchange], effects.Operation[T | FailedAttempt]]
"""Makes the value of a good answer, or says what is wrong with it."""


def attempts(
    session: Session,
    request: Callable[[], effects.Request],
    judge: Judge[T],
    rules: Rules,
    *,
    sink: effects.Sink | None,
    deadline: Deadline,
) -> effects.Operation[T]:
    """Send until `judge` returns a value, or raise the error of the last problem.

    `request` makes the request of each attempt, without a credential; `sink` receives the body.
    """
    state = _Attempts(session, rules, sink, deadline)
    while True:
        round_trip = yield from state.send(request())
        verdict = yield from judge(round_trip)
        if not isinstance(verdict, FailedAttempt):
            return verdict
        yield from state.pause_after(verdict, round_trip)


@dataclass(slots=True)
class _Attempts:
    """The attempts so far; those without a new byte of a file are failures."""

    session: Session
    rules: Rules
    sink: effects.Sink | None
    deadline: Deadline
    requests: int = 0
    failures: int = 0
    progress: int = 0
    farthest: int = 0
    polls: int = 0
    is_announced: bool = False
    down_since: float | None = None
    seconds: float = 0.0
    # Waited since the first 429 in a row that states no time.
    seconds_refused: float = 0.0
    login_renewed: bool = False
    url: str = ""
    authorized: bool = False
    has_signature: bool = False

    def send(self, request: effects.Request) -> effects.Operation[Exchange]:
        """Send a request, again if it needs or refuses the credential or needs a new one."""
        if request.url != self.url:
            access = self.rules.access
            self.url, self.has_signature = request.url, False
            self.authorized = access in (Access.WITH_CREDENTIAL, Access.CREDENTIAL_FIRST)
        session, base, rules = self.session, self.session.config.base, self.rules
        log_in = log_in_of(session, self.deadline)
        # The time in which the bytes of a file arrive does not count.
        deadline_of_one_request = self.deadline if rules.appears_by is None else None
        bad_request = None
        while True:
            start = session.clock.monotonic()
            url, secret, issued_in = request.url, None, None
            try:
                if self.authorized and base.owns(request.url):
                    secret, issued_in = yield from session.credentials.current(log_in)
                    # httpx would replace the credential by a user in the address.
                    url = without_user(url)
                round_trip = yield from exchange(
                    session,
                    replace(request, url=url, credential=secret, timeout=session.config.timeout),
                    sink=self.sink,
                    carry=rules.carry,
                    deadline=deadline_of_one_request,
                    max_wait=session.config.quota.max_wait - self.seconds_refused,
                    resends=self.requests,
                )
            except (QuotaExceeded, RequestTimeout, ProtocolError) as error:
                # A request held back for quota or lack of time was not sent this time.
                now = isinstance(error, ProtocolError)
                error.amended(attempts=error.attempts + self.requests + now)
                session.credentials.scrub(error)
                raise
            self.requests += 1
            self.seconds = session.clock.monotonic() - start
            if deadline_of_one_request is None:
                self.deadline.extend(round_trip.pause)
            if self._toggle_credential(request.url, round_trip):
                is_first = rules.access is Access.CREDENTIAL_FIRST and not self.authorized
                bad_request = round_trip if is_first else None
                continue
            is_refused = round_trip.status == 401 and base.owns(round_trip.url)
            if is_refused and bad_request:
                # The address needs the credential, so it was not the credential that it refused.
                self.authorized, self.has_signature = True, False
                return bad_request
            renewable = session.credentials.renewable and not self.login_renewed
            if issued_in is not None and is_refused and renewable:
                yield from session.credentials.renew(issued_in, log_in)
                self.login_renewed = True
                continue
            if self.has_signature:
                round_trip = round_trip._replace(has_signature=True)
            return round_trip

    def _toggle_credential(self, url: str, round_trip: Exchange) -> bool:
        """Add or drop the credential after a response; return whether to send again."""
        access, session, base = self.rules.access, self.session, self.session.config.base
        if access in (Access.WITH_CREDENTIAL, Access.NEVER) or not base.owns(url):
            return False
        if not (self.authorized or self.has_signature) and _may_need_credential(
            session, url, round_trip
        ):
            self.authorized = True
            return True
        # A signed address refuses a second credential, as object stores do.
        if round_trip.status == 400 and self.authorized:
            self.authorized, self.has_signature = False, True
            return True
        return False

    def pause_after(self, attempt: FailedAttempt, round_trip: Exchange) -> effects.Operation[None]:
        """Wait before the next attempt, or raise the error of the problem."""
        session, policy = self.session, self.session.config.retry
        reply = round_trip.outcome if isinstance(round_trip.outcome, effects.Reply) else None
        error = attempt.error.amended(attempts=self.requests)
        session.credentials.complete(error, round_trip.url, reply)
        if round_trip.hold is not None:
            if self.seconds_refused:
                self.seconds_refused += round_trip.pause
            yield from self._wait_out(round_trip.hold, error, round_trip.url)
            self.seconds_refused += round_trip.hold.seconds
            return
        self.seconds_refused = 0.0
        if attempt.at_once:
            return
        if attempt.progress != self.progress and self.rules.appears_by is not None:
            # The time in which bytes arrive does not count as waiting.
            self.rules.appears_by.extend(self.seconds)
        self.progress = attempt.progress
        if attempt.absent and (yield from self._until_it_appears(attempt)):
            return
        if self.progress > self.farthest:
            self.farthest, self.failures, self.down_since = self.progress, 0, None
            self.deadline = session.deadline()
        else:
            self.failures += 1
        seconds = policy.wait(max(0, self.failures - 1), attempt.retry_after)
        hold = (yield from _obey(session, round_trip.url, seconds)) if attempt.limited else None
        if not attempt.can_retry:
            raise error
        if self.failures >= policy.attempts:
            if not self._outlasts_outage(attempt):
                raise error
            seconds = max(attempt.retry_after or 0.0, policy.longest_wait)
        if hold is not None:
            yield from self._wait_out(hold, error, round_trip.url)
            return
        if not self.deadline.allows(seconds):
            raise _out_of_time(session, attempt, self.deadline)
        plan = RetryPlanned(session.shown(round_trip.url), self.requests, seconds, error.message)
        LOG.info("%s", plan)
        notify(session.observer.retry, plan)
        yield effects.Sleep(session.clock.monotonic() + seconds)

    def _wait_out(self, hold: Wait, error: AdAnalyticsError, url: str) -> effects.Operation[None]:
        """Wait as long as the service says, or until the next probe, and postpone the deadline."""
        config = self.session.config
        # After several wrong passwords services lock an account for minutes, even to the right one.
        logs_in = self.rules.access is Access.NEVER
        longest = config.quota.max_wait - self.seconds_refused
        if logs_in:
            longest = config.retry.longest_wait
        if config.quota.on_limit == "raise" or hold.is_hopeless or hold.seconds > longest:
            if hold.reason is not Reason.SLOW_DOWN:
                due = f"{hold.resumes_at:%Y-%m-%d %H:%M:%S} UTC"
                error.amended(
                    message=f"{error.message} It states no time; the next try is due at {due}.",
                    remedy=advice_for(hold),
                    resumes_at=hold.resumes_at,
                )
            raise error
        address = self.session.shown(url)
        LOG.info("%s", RetryPlanned(address, self.requests, hold.seconds, error.message))
        announce(self.session, hold)
        yield effects.Sleep(hold.until)
        self.deadline.extend(hold.seconds)

    def _outlasts_outage(self, attempt: FailedAttempt) -> bool:
        """Return whether to go on after the last attempt: the service is down for a short time."""
        if not (self.rules.patient and attempt.outage):
            return False
        now, patience = self.session.clock.monotonic(), self.session.config.retry.patience
        # From the first failure on: answers in between begin the time anew.
        self.down_since = now if self.down_since is None else self.down_since
        if now - self.down_since < patience:
            return True
        attempt.error.amended(
            message=f"{attempt.error.message} It has been down for {patience:g} s.",
            remedy="Try later. A sync (Dataset.sync, adanalytics sync) keeps the hours that have "
            "arrived and resumes.",
        )
        return False

    def _until_it_appears(self, attempt: FailedAttempt) -> effects.Operation[bool]:
        """Wait for a file that does not exist yet; False if there was never time for it."""
        appears_by, pause = self.rules.appears_by, attempt.retry_after or 0.0
        if appears_by is None or appears_by.left <= 0 or pause > appears_by.left:
            # Having waited, the caller learns what the address said last.
            if self.polls:
                raise attempt.error
            return False
        seconds = min(max(pause, pause_before(self.polls)), appears_by.left)
        is_new = seconds > SILENT_WAIT and not self.is_announced
        yield from wait(self.session, "the file is not ready yet", seconds, is_new=is_new)
        self.polls, self.is_announced = self.polls + 1, self.is_announced or is_new
        self.deadline.extend(seconds)
        return True


def _may_need_credential(session: Session, url: str, round_trip: Exchange) -> bool:
    """Return whether an address refused a request without the credential.

    Some services hide a file from strangers (404), or redirect them to the page of a login.
    """
    outcome = round_trip.outcome
    if not isinstance(outcome, effects.Reply):
        return False
    if session.config.credential is None:
        # Which the next attempt then misses; any other refusal is that of a signature.
        return outcome.status == 401
    is_page = round_trip.url != url and outcome.head.media_type == "text/html"
    limited = outcome.head.get("retry-after") is not None
    return is_page or (outcome.status in {302, 401, 403, 404} and not limited)


def wait(
    session: Session, reason: str, seconds: float, *, is_new: bool = False
) -> effects.Operation[None]:
    """Sleep, after a report to the observer, and to the log when it `is_new` and long."""
    until = session.clock.monotonic() + seconds
    announce(session, WaitStarted(reason, seconds, moment_in(session, seconds)), is_new=is_new)
    yield effects.Sleep(until)


def _out_of_time(session: Session, attempt: FailedAttempt, deadline: Deadline) -> AdAnalyticsError:
    error, name = attempt.error, deadline.name
    reason = f"{name} leaves no time for another try."
    if attempt.retry_after:
        until = f"{moment_in(session, attempt.retry_after):%Y-%m-%d %H:%M:%S} UTC"
        seconds = f"{attempt.retry_after:.0f} s"
        reason = f"The service asks to wait {seconds}, until {until}; {name} leaves less."
    return error if name in error.message else error.amended(message=f"{error.message} {reason}")


def _obey(session: Session, url: str, seconds: float) -> effects.Operation[Wait]:
    """Obey a 429: every request with this key waits, not only the one that was refused."""
    if session.config.base.counts(url):
        hold: Wait = yield effects.Atomic(lambda: session.quota.hold(seconds))
        return hold._replace(seconds=seconds)
    until = session.clock.monotonic() + seconds
    return Wait(seconds, until, moment_in(session, seconds), is_new=True, reason=Reason.SLOW_DOWN)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A good reply, the value read from it, and the address that sent it."""

    value: T = field(repr=False)
    reply: effects.Reply
    url: str

    def checked(self, credentials: Credentials, reader: Callable[[], R]) -> R:
        """Return the result of `reader`; a ProtocolError gets the address and request id."""
        try:
            return reader()
        except RecursionError:
            # The members beside a page's events may be nested to any depth.
            text = "The answer is nested too deeply."
            error = ProtocolError(text, remedy="Report it to the service.")
        except ProtocolError as problem:
            error = problem
        # The frames that read the response hold everything that it echoes.
        raise credentials.complete(error, self.url, self.reply).with_traceback(None) from None


def read_json(reply: effects.Reply) -> Json:
    """Return the body as exact JSON; None when the status means that there is none."""
    return None if reply.status == NO_CONTENT else parse(reply.body)


def call(
    session: Session,
    request: effects.Request,
    reader: Callable[[effects.Reply], T],
    rules: Rules = Rules(),
    *,
    sink: effects.Sink | None = None,
    deadline: Deadline | None = None,
) -> effects.Operation[Answer[T]]:
    """Send until it succeeds; a body that `reader` refuses as NotJson is requested again."""

    def judge(round_trip: Exchange) -> "effects.Operation[Answer[T] | FailedAttempt]":
        outcome = round_trip.outcome
        if isinstance(outcome, effects.Failure):
            limit = session.limit_of(deadline)
            return attempt_without_response(
                outcome, round_trip.url, repeatable=rules.repeatable, limit_name=limit
            )
        if not 200 <= outcome.status < 300:
            return refused_attempt(session, outcome, round_trip.url, repeatable=rules.repeatable)
        if rules.is_whole and outcome.status not in _WHOLE:
            return incomplete_attempt(session, outcome, can_retry=outcome.status == _ACCEPTED)
        try:
            # The size of the body that a sink has kept is not known here.
            if sink is None and len(outcome.body) < _QUICK_BODY:
                value = reader(outcome)
            else:
                value = yield effects.Offload(lambda: reader(outcome))
        except NotJson as error:
            return unreadable_attempt(outcome, error, repeatable=rules.repeatable)
        except ProtocolError as error:
            # Without the frames that hold everything that the response echoes.
            return FailedAttempt(error.with_traceback(None), can_retry=False)
        return Answer(value, outcome, round_trip.url)

    deadline = deadline or session.deadline()
    return (
        yield from attempts(session, lambda: request, judge, rules, sink=sink, deadline=deadline)
    )


def log_in_of(session: Session, deadline: Deadline) -> LogIn:
    """Return how to exchange an e-mail and password for a token, by `deadline`."""

    def log_in(login: Login) -> "effects.Operation[Secret]":
        request = login_request(session.config.base, login)
        answer = yield from call(
            session, request, read_json, Rules(Access.NEVER), deadline=deadline
        )
        return answer.checked(session.credentials, lambda: token_of(answer.value))

    return LogIn(log_in, session.limit)
