"""The login request and the token in its answer."""

import json

from adanalytics_client._config import Login, bearer_secret
from adanalytics_client._effects import Request
from adanalytics_client._json import Json
from adanalytics_client._secret import Secret
from adanalytics_client._url import BaseUrl
from adanalytics_client.errors import ConfigurationError, ProtocolError

JSON_BODY = ("content-type", "application/json")


def login_request(base: BaseUrl, login: Login) -> Request:
    """`POST /api/auth/login` with the e-mail and password."""
    body = {"email": login.email, "password": login.password.reveal()}
    return Request(
        "POST", base.at("/api/auth/login"), (JSON_BODY,), json.dumps(body).encode("utf-8")
    )


def token_of(content: Json) -> Secret:
    """The token of a login answer.

    Raises:
        ProtocolError: when there is none that a header can carry.
    """
    token = content.get("token") if isinstance(content, dict) else None
    issued = Secret(token) if isinstance(token, str) else None
    # An error report shows what the frames it passed through still hold.
    del content, token
    if issued is None:
        raise ProtocolError("The login answered without a token.")
    try:
        return bearer_secret(issued, "token")
    except ConfigurationError:
        raise ProtocolError("The login answered with a token that no header can carry.") from None
