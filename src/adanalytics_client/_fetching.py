"""One file of an export, asked again from where it broke off until it is whole."""

from itertools import count

from adanalytics_client._body import DamagedBody
from adanalytics_client._call import Ready, complete, renewed_after, with_credential
from adanalytics_client._effects import (
    Failure,
    Offload,
    Operation,
    Reply,
    Request,
    Sleep,
    Trouble,
)
from adanalytics_client._exchange import Exchanged, exchange
from adanalytics_client._export import ExportFile
from adanalytics_client._hooks import RetryPlanned, tell
from adanalytics_client._part import PartFile
from adanalytics_client._problems import Problem, of_failure, of_status
from adanalytics_client._retry import retry_after
from adanalytics_client._session import Session
from adanalytics_client.errors import (
    ChecksumMismatch,
    DownloadError,
    ExportExpired,
    ProtocolError,
)

# A file that is stored compressed must come as it is, so that ranges mean its own bytes.
_AS_STORED = ("accept-encoding", "identity")


def fetch_file(session: Session, file: ExportFile, part: PartFile) -> Operation[None]:
    """Fetch one file.

    The client's credential stays away at first, since a signed address may refuse one. An address
    on the base origin gets it after a 401, and where that redirects within the origin, the address
    behind it only after another 401.
    """
    farthest, failures, authorized, carry, renewed = 0, 0, False, False, False
    for sent in count():
        used = Ready(Request("GET", file.url, (_AS_STORED, *part.ranges())))
        if authorized:
            used = yield from with_credential(session, used.request)
        done = yield from _attempt(session, used, part, carry=carry, resends=sent)
        if _asks_credential(session, file, done):
            if not authorized:
                authorized = True
                continue
            if not carry and done.url != file.url:
                carry = True
                continue
        if not renewed and (yield from renewed_after(session, used, done)):
            renewed = True
            continue
        problem = yield from _judge(session, done, part)
        if problem is None:
            return
        failures = 0 if part.received > farthest else failures + 1
        farthest = max(farthest, part.received)
        complete(session, problem.error, done, sent + 1)
        yield from _before_repeat(session, problem, done.url, sent=sent + 1, failures=failures)


def _attempt(
    session: Session, used: Ready, part: PartFile, *, carry: bool, resends: int
) -> Operation[Exchanged]:
    try:
        return (
            yield from exchange(
                session, used.request, deadline=None, sink=part, carry=carry, resends=resends
            )
        )
    except ProtocolError as error:
        session.credentials.scrub(error)
        raise
    except DamagedBody as error:
        part.restart()
        failure = Failure(Trouble.UNREADABLE, arrived=True, detail=str(error))
        return Exchanged(failure, used.request.url, 0.0)


def _asks_credential(session: Session, file: ExportFile, done: Exchanged) -> bool:
    refused = isinstance(done.outcome, Reply) and done.outcome.status == 401
    return refused and session.config.base.owns(file.url) and session.config.base.owns(done.url)


def _judge(session: Session, done: Exchanged, part: PartFile) -> Operation[Problem | None]:
    """None when the file is whole, else what is wrong."""
    outcome = done.outcome
    if isinstance(outcome, Failure):
        if outcome.trouble is Trouble.UNREADABLE:
            text = f"The file arrived damaged ({outcome.detail}); download it again."
            return Problem(DownloadError(text), again=True)
        broken = part.received and outcome.trouble is Trouble.BROKEN
        if broken or outcome.trouble is Trouble.TRUNCATED:
            told = f" of {part.total}" if part.total is not None else ""
            error = DownloadError(
                f"The file broke off after {part.received}{told} bytes; download it again."
            )
            return Problem(error, again=True)
        return of_failure(outcome, done.url, repeatable=True)
    if part.taken or part.ends_here(outcome.head):
        if outcome.status == 206 and part.short:
            text = f"Only a part of the rest came, up to byte {part.received}; download it again."
            return Problem(DownloadError(text), again=True)
        return (yield from _verified(part))
    return _refusal(session, outcome, done.url, part)


def _verified(part: PartFile) -> Operation[Problem | None]:
    try:
        yield Offload(part.verify)
    except ChecksumMismatch as error:
        # What an earlier run left may have suffered meanwhile; what came whole just now may not.
        again = part.inherited
        part.restart()
        return Problem(error, again=again)
    except DownloadError as error:
        part.restart()
        return Problem(error, again=True)
    return None


def _refusal(session: Session, reply: Reply, url: str, part: PartFile) -> Problem:
    """The problem of an answer that did not bring the file."""
    now = session.clock.time()
    if reply.status == 416:
        part.restart()
        error = DownloadError("The service does not have the rest of the file; download it again.")
        return Problem(error, again=True)
    if 200 <= reply.status < 300 and reply.status != 202:
        kinds = {200: "an HTML page", 206: "another part"}
        kind = kinds.get(reply.status, f"status {reply.status}")
        error = DownloadError(f"Instead of the file came {kind}; try the download later.")
        return Problem(error, again=True)
    if reply.status == 202:
        error = DownloadError("The file is not ready yet; wait for the export first.")
        return Problem(error, again=True, asked=retry_after(reply.head, now))
    if reply.status == 410 or (reply.status == 403 and reply.head.get("retry-after") is None):
        expired = ExportExpired("The file is no longer offered; start the export again.")
        return Problem(expired, again=False)
    problem = of_status(
        reply,
        repeatable=True,
        now=now,
        credentials=session.credentials,
        home=session.config.base.owns(url),
    )
    if reply.status == 404:
        problem.error.message = "The file was not found (404). Start the export again."
    return problem


def _before_repeat(
    session: Session, problem: Problem, url: str, *, sent: int, failures: int
) -> Operation[None]:
    """Wait before asking again, or raise; only attempts without a new byte are failures."""
    policy = session.config.retry
    seconds = policy.wait(max(0, failures - 1), problem.asked, session.jitter)
    if not problem.again or failures >= policy.attempts or seconds > session.config.max_wait:
        raise problem.error
    tell(
        session.observer.retry,
        RetryPlanned(session.shown(url), sent, seconds, problem.error.message),
    )
    yield Sleep(seconds)
