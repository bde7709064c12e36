"""One file of an export, asked again from where it broke off until it is whole."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from adanalytics_client._body import DamagedBody
from adanalytics_client._call import Ready, complete, renewed_after, with_credential
from adanalytics_client._deadline import Deadline
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
from adanalytics_client._file_credential import FileCredential
from adanalytics_client._hooks import WaitStarted, tell
from adanalytics_client._instead import Instead, Wanted, came_instead
from adanalytics_client._part import PartFile
from adanalytics_client._problems import Problem, of_failure, of_status
from adanalytics_client._repeating import Tries, before_repeat
from adanalytics_client._retry import pause_before, retry_after
from adanalytics_client._session import Session
from adanalytics_client.errors import (
    ChecksumMismatch,
    DownloadError,
    ExportExpired,
    ProtocolError,
)

# A file that is stored compressed must come as it is, so that ranges mean its own bytes.
_AS_STORED = ("accept-encoding", "identity")


@dataclass(slots=True)
class _Patience:
    """How long to go on: only attempts without a new byte are failures.

    Attributes:
        ready_by: until when to wait for a file that is still being made.
        deadline: until when to repeat what failed; a new byte begins the budget anew.
    """

    session: Session
    ready_by: Deadline
    deadline: Deadline
    farthest: int = 0
    failures: int = 0
    questions: int = 0

    def before_repeat(
        self, problem: Problem, done: Exchanged, part: PartFile, sent: int
    ) -> Operation[None]:
        """Wait before asking again, or raise."""
        session = self.session
        self.deadline.put_off(done.waited)
        if problem.waiting and (yield from self._until_ready(problem)):
            return
        if part.received > self.farthest:
            self.farthest, self.failures = part.received, 0
            self.deadline = session.deadline()
        else:
            self.failures += 1
        tries = Tries(sent, self.failures, self.deadline)
        yield from before_repeat(session, problem, done.url, tries)

    def _until_ready(self, problem: Problem) -> Operation[bool]:
        """Wait for a file that is still being made; False where there was never time for it."""
        clock = self.session.clock
        left, asked = self.ready_by.left, problem.asked or 0.0
        if left <= 0 or asked > left:
            if self.questions:
                raise problem.error
            return False
        seconds = min(max(asked, pause_before(self.questions)), left)
        self.questions += 1
        resumes_at = datetime.fromtimestamp(clock.time() + seconds, tz=UTC)
        told = WaitStarted("the file is not ready yet", seconds, resumes_at)
        tell(self.session.observer.wait, told)
        yield Sleep(seconds)
        self.deadline.put_off(seconds)
        return True


def fetch_file(
    session: Session, file: ExportFile, part: PartFile, wanted: Wanted, *, ready_by: Deadline
) -> Operation[None]:
    """Fetch one file.

    Args:
        session: the client's session.
        file: where it is.
        part: takes it.
        wanted: what it should be.
        ready_by: until when a file that is still being made is waited for; the time in which bytes
            of it come is no wait, and moves this.
    """
    patience = _Patience(session, ready_by, session.deadline())
    credential, renewed = FileCredential(session.config.base, file.url), False
    for sent in count():
        used = Ready(Request("GET", file.url, (_AS_STORED, *part.ranges())))
        if credential.goes:
            used = yield from with_credential(session, used.request, patience.deadline)
        begun, had = session.clock.monotonic(), part.received
        done = yield from _attempt(session, used, part, carry=credential.carried, resends=sent)
        if part.received != had:
            ready_by.put_off(session.clock.monotonic() - begun)
        if credential.changed(done):
            continue
        if not renewed and (yield from renewed_after(session, used, done, patience.deadline)):
            renewed = True
            continue
        problem = credential.refused(done) or (yield from _judge(session, done, part, wanted))
        if problem is None:
            return
        complete(session, problem.error, done, sent + 1)
        yield from patience.before_repeat(problem, done, part, sent + 1)


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


def _judge(
    session: Session, done: Exchanged, part: PartFile, wanted: Wanted
) -> Operation[Problem | None]:
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
        within = session.limit_of(None)
        return of_failure(outcome, done.url, repeatable=True, within=within)
    if part.taken or part.ends_here(outcome.head):
        if outcome.status == 206 and part.short:
            text = f"Only a part of the rest came, up to byte {part.received}; download it again."
            return Problem(DownloadError(text), again=True)
        return (yield from _verified(session, outcome, part, wanted))
    return _refusal(session, outcome, done.url, part)


def _verified(
    session: Session, reply: Reply, part: PartFile, wanted: Wanted
) -> Operation[Problem | None]:
    failure: DownloadError | None = None
    try:
        if (yield Offload(part.verify)):
            return None
    except DownloadError as error:
        failure = error
    instead = yield Offload(lambda: came_instead(wanted, part.arrival()))
    if failure is None and instead is None:
        return None
    # What an earlier run left may have suffered meanwhile; what came whole just now may not.
    again = part.inherited or not isinstance(failure, ChecksumMismatch)
    part.restart()
    if instead is not None:
        return _in_place(instead, wanted, retry_after(reply.head, session.clock.time()))
    return Problem(failure, again) if failure is not None else None


def _in_place(instead: Instead, wanted: Wanted, asked: float | None) -> Problem:
    advice = "wait for the export first" if instead.waiting else "try the download later"
    error = DownloadError(f"Instead of the {wanted.form} file came {instead.told}; {advice}.")
    return Problem(error, again=True, asked=asked, waiting=instead.waiting)


def _refusal(session: Session, reply: Reply, url: str, part: PartFile) -> Problem:
    """The problem of an answer that did not bring the file."""
    now = session.clock.time()
    if reply.status == 416:
        part.restart()
        error = DownloadError("The service does not have the rest of the file; download it again.")
        return Problem(error, again=True)
    if 200 <= reply.status < 400 and reply.status != 202:
        kinds = {200: "an HTML page", 206: "another part"}
        # One that names where to go was followed.
        other = " without an address" if reply.status >= 300 else ""
        kind = kinds.get(reply.status, f"status {reply.status}{other}")
        error = DownloadError(f"Instead of the file came {kind}; try the download later.")
        return Problem(error, again=True)
    if reply.status == 202:
        error = DownloadError("The file is not ready yet; wait for the export first.")
        return Problem(error, again=True, asked=retry_after(reply.head, now), waiting=True)
    if _has_expired(reply):
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


def _has_expired(reply: Reply) -> bool:
    """S3 says of some addresses that have expired that the request is a bad one."""
    if reply.status == 400:
        return b"expired" in bytes(reply.body).lower()
    limited = reply.status == 403 and reply.head.get("retry-after") is not None
    return reply.status in {403, 410} and not limited
