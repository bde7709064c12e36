"""One quota for all tasks of a cluster: they lease each request from the driver program.

A call is a small `POST` with JSON over a connection of its own: at 1,000 requests an hour,
connections that stay open would save nothing, and might be closed at any time.
"""

import hmac
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Self

from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.validation import is_whole
from adanalytics_client._call.config import Config, Login
from adanalytics_client._quota import (
    RATE_HEADERS,
    WINDOW,
    Hold,
    Moment,
    Quota,
    QuotaState,
    Sent,
    Store,
)
from adanalytics_client.client import Client
from adanalytics_client.errors import (
    AdAnalyticsError,
    ConfigurationError,
    QuotaExceeded,
    TransportError,
)

_LOG = logging.getLogger("adanalytics_client")

# Seconds without a byte; another process may hold the log of sends for ten.
_PATIENCE = 30.0
_LARGEST_BODY = 64 * 1024
_LONGEST_NAME = 64
# The server forgets the counts of older reads. Each needs a request, so these span hours.
_MOST_READS = 10_000
_LARGEST_NUMBER = 2**63 - 1

Body = dict[str, Any]


class QuotaServer:
    """Lets the tasks of a cluster send requests within one quota; runs in the driver program.

    It counts in the same log as a `Client` on this machine, and also the requests of each Spark
    read. A request needs the credential: tasks prove that they have it without sending it. Calls
    are not encrypted: run it in a network that you trust. They hold no credential and no data, but
    whoever reads one could use up the quota, stop all tasks, or check guesses of a password, so
    prefer an API key. Each call has a thread while it lasts.

    Args:
        client: its credential, address, limit, reserve and log of sends are those of all tasks.
        host: the address at which executors reach this machine; the default is for executors on
            the machine itself.

    Attributes:
        address: the value of the option `quotaServer`.

    Raises:
        OSError: when this machine has no such address.

    Examples:
        >>> with Client.from_env(reserve=200) as client, QuotaServer(client) as quota:
        ...     quota
        QuotaServer('127.0.0.1:...')
    """

    def __init__(self, client: Client, *, host: str = "127.0.0.1") -> None:
        session = client._session  # noqa: SLF001  # of this package
        self._server = _LeaseServer(host, _Leases(session.quota), quota_token(session.config))
        self.address = f"{host}:{self._server.server_address[1]}"
        # The pause before `close` takes effect, at most.
        seconds = {"poll_interval": 0.1}
        threading.Thread(
            target=self._server.serve_forever, kwargs=seconds, name="adanalytics", daemon=True
        ).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def close(self) -> None:
        """Stop; tasks that need a request then fail and say so.

        Examples:
            >>> quota = QuotaServer(client)
            >>> quota.close()
        """
        self._server.shutdown()
        self._server.server_close()


def quota_token(config: Config) -> Secret:
    """Proves the possession of a credential for a service to the quota server, and not elsewhere.

    HMAC-SHA256 (RFC 2104) of the name of the quota log, which includes the service's origin.
    """
    credential = config.credential
    if credential is None:
        raise ConfigurationError("A client without a credential cannot lease requests.")
    key = credential.password if isinstance(credential, Login) else credential.secret
    context = f"adanalytics quota server\n{config.quota_name}"
    return Secret(hmac.digest(key.reveal().encode(), context.encode(), "sha256").hex())


def with_leases(client: Client, address: str, *, read_id: str, max_requests: int) -> Client:
    """The same client, whose every request is leased from the quota server at `address`.

    Closing it closes nothing, as with a client from `with_options`.

    Args:
        client: owns the connections; its credential must be that of the server.
        address: of the quota server.
        read_id: names the Spark read whose requests are counted together.
        max_requests: those that the read may send; another one raises QuotaExceeded.
    """
    session = client._session  # noqa: SLF001  # of this package
    clock = session.clock
    quota = LeasedQuota(
        address,
        token=quota_token(session.config),
        read_id=read_id,
        max_requests=max_requests,
        now=lambda: Moment(clock.time(), clock.monotonic()),
    )
    return client._sharing(replace(session, quota=quota))  # noqa: SLF001  # of this package


class LeasedQuota(Quota):
    """The quota of a quota server, which makes every decision.

    Raises:
        ConfigurationError: by all methods, when the server refuses the token.
        TransportError: by all methods but `settle`, when the server does not answer.
    """

    def __init__(
        self,
        address: str,
        *,
        token: Secret,
        read_id: str,
        max_requests: int,
        now: Callable[[], Moment],
    ) -> None:
        super().__init__(None, reserve=0, store=Store(None), now=now)
        self._address = address
        self._token = token
        self._read_id = read_id
        self._max_requests = max_requests

    def with_reserve(self, _reserve: int) -> "LeasedQuota":
        """This quota: the reserve is the server's."""
        return self

    def take(self) -> Sent | Hold:
        """Lease one request.

        Raises:
            QuotaExceeded: when the read has sent as many as it may.
        """
        answer = self._ask("take", read_id=self._read_id, max_requests=self._max_requests)
        if "granted" in answer:
            raise QuotaExceeded(
                f"maxRequests={self._max_requests}: this read has sent {answer['granted']} "
                "requests and needs more. Raise maxRequests, or read fewer hours."
            )
        if "seconds" in answer:
            return self._hold(answer["seconds"], self._now(), asked=answer["asked"])
        return Sent(answer["number"])

    def settle(self, sent: Sent, head: ResponseHead | None) -> None:
        """Record the end of a request.

        Without an answer the request counts for some minutes longer, and the next `take` says what
        is wrong: no page is lost for it.
        """
        stated = {name: head.get(name) for name in RATE_HEADERS if head and head.get(name)}
        try:
            self._ask("settle", number=sent.number, stated=stated)
        except TransportError as error:
            _LOG.debug("%s", error)

    def hold(self, seconds: float) -> Hold:
        """Send nothing for `seconds`, in any task, because the service responded with a 429."""
        self._ask("hold", seconds=seconds)
        return self._hold(seconds, self._now(), asked=True)

    def state(self) -> QuotaState:
        """The quota left now, of all reads."""
        answer = self._ask("state")
        moment = answer["resumes_at"]
        resumes_at = None if moment is None else datetime.fromisoformat(moment)
        return QuotaState(answer["limit"], answer["remaining"], resumes_at)

    def _ask(self, action: str, **body: object) -> Body:
        """The server's answer; an error report shows no frame that holds the token."""
        try:
            status, answer = self._post(action, json.dumps(body))
            if status == 200:
                found: Body = json.loads(answer)
                return found
            problem = f"status {status}: {answer[:500]}"
        except (OSError, HTTPException, ValueError) as error:
            status = 0
            problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if status == 401:
            raise ConfigurationError(
                f"The quota server at {self._address} refused the credential. Executors need the "
                "same credential and base URL as the driver program; nothing was sent."
            )
        raise TransportError(
            f"The quota server at {self._address} gave no answer ({problem}). No request is sent "
            "without it. The QuotaServer in the driver program must be open, and executors must "
            "reach this address."
        )

    def _post(self, action: str, body: str) -> tuple[int, str]:
        # Not with httpx: neither proxies nor mocks of the service are meant for these calls.
        connection = HTTPConnection(self._address, timeout=_PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {self._token.reveal()}"}
            connection.request("POST", f"/{action}", body, headers)
            response = connection.getresponse()
            text = response.read(_LARGEST_BODY).decode()
            return response.status, self._token.redact(text)
        finally:
            connection.close()


class _Leases:
    """The server's quota, and how many requests each read was granted."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._granted: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, body: Body) -> Body:
        read_id, most = body["read_id"], body["max_requests"]
        _check(isinstance(read_id, str) and len(read_id) <= _LONGEST_NAME and is_whole(most, 1))
        with self._lock:
            granted = self._granted.get(read_id, 0)
            if granted >= most:
                return {"granted": granted}
            leave = self._quota.take()
            if isinstance(leave, Hold):
                return {"seconds": leave.seconds, "asked": leave.asked}
            # At the end, so that the first is the one unused for longest.
            self._granted.pop(read_id, None)
            self._granted[read_id] = granted + 1
            if len(self._granted) > _MOST_READS:
                del self._granted[next(iter(self._granted))]
        return {"number": leave.number}

    def settle(self, body: Body) -> Body:
        number, stated = body["number"], body["stated"]
        _check(number is None or is_whole(number, 1, _LARGEST_NUMBER))
        _check(isinstance(stated, dict) and all(isinstance(each, str) for each in stated.values()))
        self._quota.settle(Sent(number), ResponseHead(200, stated))
        return {}

    def hold(self, body: Body) -> Body:
        seconds = body["seconds"]
        _check(isinstance(seconds, int | float) and seconds >= 0)
        self._quota.hold(min(seconds, WINDOW))
        return {}

    def state(self, _facts: Body) -> Body:
        state = self._quota.state()
        moment = state.resumes_at and state.resumes_at.isoformat()
        return {"limit": state.limit, "remaining": state.remaining, "resumes_at": moment}


def _check(field: object) -> None:
    if not field:
        raise ValueError("a field is wrong")


class _LeaseServer(ThreadingTCPServer):
    # Not an HTTPServer, which looks up the name of its address: that may take seconds.
    daemon_threads = True
    # Connections that wait to be accepted: all tasks of a stage begin at once.
    request_queue_size = 128

    def __init__(self, host: str, leases: _Leases, token: Secret) -> None:
        super().__init__((host, 0), _Handler)
        self.token = token
        self.actions: dict[str, Callable[[Body], Body]] = {
            f"/{each.__name__}": each
            for each in (leases.take, leases.settle, leases.hold, leases.state)
        }

    def handle_error(self, *_: object) -> None:
        """A task that is killed breaks its connection; nobody needs to act on that."""
        _LOG.debug("A call to the quota server broke.", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _LeaseServer
    timeout = _PATIENCE
    # Head and body in one packet.
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer one call; the connection then closes."""
        status, answer = self._answered()
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answered(self) -> tuple[int, Body]:
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            return 400, {"error": "Content-Length is not a number."}
        if not 0 <= length <= _LARGEST_BODY:
            return 413, {"error": f"A body has at most {_LARGEST_BODY} bytes."}
        # Also before a refusal: closing a connection with unread bytes would drop the answer.
        body = self.rfile.read(length)
        if not self._authorized():
            return 401, {"error": "Unauthorized"}
        action = self.server.actions.get(self.path)
        if action is None:
            return 404, {"error": "Not Found"}
        try:
            return 200, action(json.loads(body))
        except (ValueError, KeyError, TypeError):
            return 400, {"error": "The body is not as documented."}
        except AdAnalyticsError as error:
            return 503, {"error": error.message}

    def _authorized(self) -> bool:
        given = self.headers.get("Authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {self.server.token.reveal()}".encode())

    def log_message(self, *_: object) -> None:
        """Nothing: standard error belongs to the driver program."""
