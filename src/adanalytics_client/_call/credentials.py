"""The bearer credential in use, and one login for all requests that need it."""

import json
from collections import deque
from collections.abc import Callable, Iterable
from copy import copy
from typing import NamedTuple, TypeVar

from adanalytics_client import errors
from adanalytics_client._base import effects
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import BaseUrl, redact_queries, redact_url
from adanalytics_client._json.exact import Json, utf8

from .config import Bearer, Credential, Login

E = TypeVar("E", bound=errors.AdAnalyticsError)

JSON_BODY = ("content-type", "application/json")
LOGIN = "/api/auth/login"


def login_request(base: BaseUrl, login: Login) -> effects.Request:
    body = {"email": login.email, "password": login.password.reveal()}
    return effects.Request("POST", base.at(LOGIN), (JSON_BODY,), json.dumps(body).encode("utf-8"))


def token_of(content: Json) -> Secret:
    """Return the token of a login response, if a header can carry it."""
    token = content.get("token") if isinstance(content, dict) else None
    secret = Secret(token) if isinstance(token, str) else None
    # Error reports show the local variables of every frame in the traceback.
    del content, token
    if secret is None:
        raise errors.ProtocolError("The login answer has no token.", remedy=remedy("address"))
    try:
        return secret.for_header("token")
    except errors.ConfigurationError:
        raise errors.ProtocolError(
            "The login answer has a token with characters that a header cannot contain.",
            remedy="Report it to the service.",
        ) from None


# Requests sent with one of these may still be in flight; each token is valid for days.
_MOST_REPLACED = 4
# Characters of a server's text in a message, and bytes of a body in an error.
_LONGEST_TEXT = 1000
_LARGEST_BODY = 65_536
# Characters of a secret in any encoding; half of one may stand at the end of a text that was cut.
_LONGEST_SECRET = 16_384
# They carry other credentials: RFC 6265, RFC 9110 section 11, RFC 7615.
_SECRET_HEADERS = frozenset({"set-cookie", "authorization", "authentication-info"})


class LogIn(NamedTuple):
    """How to log in, and until when to wait for the login of another request, if not for ever."""

    operation: Callable[[Login], effects.Operation[Secret]]
    deadline: Deadline | None


class Credentials:
    """State shared by all requests of a client; a login runs inside `Exclusive` only.

    Requests whose token is refused while another request is already logging in wait for that login
    and share its outcome, even if it fails: a wrong password is tried once and not once for each
    request, which would lock the account.
    """

    def __init__(self, source: Credential | None, secrets: Iterable[Secret] = ()) -> None:
        """`secrets` are further secrets that a server may echo, such as a proxy's password."""
        self._source = source
        self._more_secrets = tuple(secrets)
        self._old_secrets: deque[Secret] = deque(maxlen=_MOST_REPLACED)
        self._secret = source.secret if isinstance(source, Bearer) else None
        self._round = 0
        self._failure: errors.AdAnalyticsError | None = None

    @property
    def renewable(self) -> bool:
        """Whether a refused credential can be replaced by a new login."""
        return isinstance(self._source, Login)

    @property
    def advice(self) -> errors.Remedy:
        if isinstance(self._source, Login):
            return remedy("log_in")
        if isinstance(self._source, Bearer) and self._source.kind == "token":
            return remedy("log_in_again")
        return remedy("new_key")

    def current(self, log_in: LogIn) -> effects.Operation[tuple[Secret, int]]:
        """Return the credential to send, after a login if there is none yet, and its round.

        The round shows whether a later 401 is for an old credential.
        """
        if self._source is None:
            raise errors.ConfigurationError(
                "The address needs a credential, but only signed addresses were expected here.",
                remedy="Download it with the client that ordered it.",
            )
        while self._secret is None:
            yield from self.renew(self._round, log_in)
        return self._secret, self._round

    def redact(self, text: str) -> str:
        """Return `text` without any secret of this client: a server may echo one.

        The last four replaced tokens are removed, too.
        """
        password = self._source.password if isinstance(self._source, Login) else None
        # Another thread may replace the token at the same time.
        for secret in (password, self._secret, *self._old_secrets.copy(), *self._more_secrets):
            text = text if secret is None else secret.redact(text)
        return text

    def shown(self, text: str) -> str:
        """Make a server's text safe in a message: no secret, no signature, short and encodable.

        JSON may hold half a surrogate pair, which neither a file nor a terminal can hold.
        """
        clean = utf8(redact_queries(self.redact(text))).decode()
        return clean if len(clean) <= _LONGEST_TEXT else f"{clean[:_LONGEST_TEXT]}..."

    def request_id(self, head: effects.ResponseHead) -> str | None:
        """The `X-Request-Id` of a response, for the service's support."""
        text = head.get("x-request-id")
        return self.shown(text) if text else None

    def scrub(self, error: E) -> E:
        """Remove every secret from an error, wherever a server's text may hold it."""
        # Chained errors may hold the same text.
        error.__context__ = None
        advice = error.remedy
        return error.amended(
            message=self.shown(error.message),
            remedy=errors.Remedy(
                self.shown(advice),
                code=advice.code,
                option=advice.option,
                value=self.shown(advice.value),
            ),
            url=self.redact(error.url) if error.url else None,
        )

    def complete(self, error: E, url: str, reply: effects.Reply | None) -> E:
        """Add the address and the response to an error, all without secrets."""
        if reply is not None:
            head = reply.head.headers.items()
            # The response to a login may hold a token under another name, which nothing knows yet.
            is_login = url.endswith(LOGIN) and reply.status < 300
            error.amended(
                request_id=self.request_id(reply.head),
                body=self._body(reply.body) if not is_login else "",
                headers={
                    name: self.shown(text) for name, text in head if name not in _SECRET_HEADERS
                },
            )
        return self.scrub(error.amended(url=redact_url(url)))

    def _body(self, body: bytes | bytearray) -> str:
        """Return the beginning of a body, cut where no half of a secret stays."""
        begin = bytes(body[: 2 * _LARGEST_BODY]).decode("utf-8", "backslashreplace")
        text = redact_queries(self.redact(begin))
        if len(body) > 2 * _LARGEST_BODY:
            text = text[:-_LONGEST_SECRET]
        return utf8(text)[:_LARGEST_BODY].decode(errors="ignore")

    def renew(self, generation: int, log_in: LogIn) -> effects.Operation[None]:
        """Replace the credential of a round, unless another request already has."""
        deadline = log_in.deadline
        moment = None if deadline is None else deadline.moment
        outcome = yield effects.Exclusive(lambda: self._log_in(generation, log_in), moment)
        if deadline is not None and isinstance(outcome, effects.Failure):
            raise errors.RequestTimeout(
                f"A login that another call started did not finish within {deadline.name}.",
                remedy="Try later, or allow more time.",
            )

    def _log_in(self, generation: int, log_in: LogIn) -> effects.Operation[None]:
        # Another request has logged in meanwhile, and its result is this one's, too.
        if self._round != generation or not isinstance(self._source, Login):
            if self._failure is not None:
                raise copy(self._failure)
            return
        try:
            token = yield from log_in.operation(self._source)
        except errors.AdAnalyticsError as error:
            # A login that only this call's deadline cut short says nothing to the others.
            temporary = (errors.ServerError, errors.TransportError)
            if not isinstance(error, temporary if log_in.deadline else errors.RequestTimeout):
                self._failure = error
                self._round += 1
            raise
        if self._secret is not None:
            # Responses in flight may still echo the old token, which must be masked.
            self._old_secrets.append(self._secret)
        self._secret = token
        self._failure = None
        self._round += 1
