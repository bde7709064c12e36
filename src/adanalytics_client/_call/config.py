"""The settings of a client, checked once, and the kinds of credentials."""

from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, NamedTuple

from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._base.validation import check_seconds, check_text, invalid
from adanalytics_client._json.exact import parse
from adanalytics_client._quota.policy import QuotaPolicy
from adanalytics_client._shapes.service import ServiceProfile
from adanalytics_client.errors import ConfigurationError

from .retry import RetryPolicy

# For one that only requests signed addresses, which the service does not count.
_UNCOUNTED = QuotaPolicy(limit=None, max_wait=0, log="memory")


class Bearer(NamedTuple):
    """A credential that is sent unchanged: an API key, or a token from an earlier login."""

    kind: Literal["api_key", "token"]
    secret: Secret


class Login(NamedTuple):
    """An account whose token is fetched when first needed, and again when it has expired."""

    email: str
    password: Secret


Credential = Bearer | Login


class GivenCredential(NamedTuple):
    """A caller's credential, hidden before any part of it is checked.

    Error reports show the local variables of every frame in the traceback.
    """

    api_key: Secret | None
    token: Secret | None
    email: str | None
    password: Secret | None

    @classmethod
    def of(
        cls, *, api_key: str | None, token: str | None, email: str | None, password: str | None
    ) -> "GivenCredential":
        """Hide the arguments of a caller; nothing raises here, whatever they are."""
        return cls(_hidden(api_key), _hidden(token), email, _hidden(password))

    def completed(self, variables: Mapping[str, str]) -> "GivenCredential":
        """Return this credential, or the one in the environment if none is given.

        A given e-mail or password is completed from the environment. A key there takes precedence
        over a login there, so that a person's e-mail does not override a script's key.
        """
        if self.api_key is not None or self.token is not None:
            return self
        key = variables.get("ADANALYTICS_API_KEY")
        # A given e-mail means a login, whatever key the environment has.
        if key and self.email is None and self.password is None:
            return self._replace(api_key=Secret(key))
        email, password = self.email, self.password
        if email is None:
            email = variables.get("ADANALYTICS_EMAIL")
        if password is None:
            password = _hidden(variables.get("ADANALYTICS_PASSWORD") or None)
        return self._replace(email=email, password=password)

    def revealed(self) -> dict[str, str | None]:
        """Return the same as arguments of a client; never keep them in a variable."""
        return {
            "api_key": self.api_key.reveal() if self.api_key else None,
            "token": self.token.reveal() if self.token else None,
            "email": self.email,
            "password": self.password.reveal() if self.password else None,
        }

    def checked(self) -> Credential:
        secrets = {"api_key": self.api_key, "token": self.token, "password": self.password}
        check_text("email", self.email)
        # Before anything is sent: a key with a line break would otherwise fail inside httpx, with
        # the key in the message.
        for name, secret in secrets.items():
            if secret is not None:
                secret.check(name)
        credentials = (self.api_key, self.token, self.email or self.password)
        count = sum(map(bool, credentials))
        if count == 0:
            raise ConfigurationError(
                "There is no credential.",
                remedy="Pass api_key=, token=, or email= and password=; or set "
                "ADANALYTICS_API_KEY, or ADANALYTICS_EMAIL and _PASSWORD, and use from_env(); or "
                "sign in with adanalytics login, and use from_profile().",
            )
        if count > 1:
            raise ConfigurationError(
                "More than one credential is given.",
                remedy="Pass one of api_key=, token=, or email= with password=.",
            )
        if self.api_key:
            return Bearer("api_key", self.api_key.for_header("api_key"))
        if self.token:
            return Bearer("token", self.token.for_header("token"))
        if not self.email or not self.password:
            raise ConfigurationError(
                "A login needs an e-mail and a password.", remedy="Pass both email= and password=."
            )
        return Login(self.email, self.password)


def _hidden(value: str | None) -> Secret | None:
    return None if value is None else Secret(value)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings fixed for the life of a client, checked; they hold no readable secret."""

    base: BaseUrl
    # None for one that only requests signed addresses.
    credential: Credential | None
    partner: str | None
    timeout: float | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    quota: QuotaPolicy = _UNCOUNTED
    service: ServiceProfile = field(default_factory=ServiceProfile)

    def __post_init__(self) -> None:
        if self.timeout is not None:
            check_seconds("timeout", self.timeout, zero=False)
        check_text("partner", self.partner)
        # Like keys: a copied one may be surrounded by a space or a line break.
        object.__setattr__(self, "partner", self.partner and self.partner.strip())
        if not isinstance(self.retry, RetryPolicy):
            raise invalid("retry", self.retry, "Pass a RetryPolicy, or None for the usual one.")
        if not isinstance(self.service, ServiceProfile):
            raise invalid(
                "service", self.service, "Pass a ServiceProfile, or None for the usual one."
            )

    @property
    def quota_name(self) -> str:
        """A name for the key's quota log that does not reveal the key.

        The service counts by key and by the user of a token, so the name does not include the
        partner, and all tokens of a user have one name.
        """
        scheme, host, port = self.base.origin
        if self.credential is None:
            identity = "nobody"
        elif isinstance(self.credential, Login):
            identity = f"user {self.credential.email.strip().lower()}"
        else:
            user = _user_of(self.credential.secret) if self.credential.kind == "token" else ""
            # The service counts per user, and a user's tokens change every week.
            identity = user or f"bearer {self.credential.secret.reveal()}"
        text = f"adanalytics quota\n{scheme}://{host}:{port}\n{identity}"
        return sha256(text.encode()).hexdigest()[:32]


def _user_of(token: Secret) -> str:
    """Return the user that a token names; empty if it names none, or is no JWT (RFC 7519).

    Who signed it does not matter here: a wrong name only counts for another user.
    """
    parts = token.reveal().split(".")
    with suppress(ValueError, IndexError):
        claims = parse(b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_"))
        # `sub` is of RFC 7519; the others are those of libraries for Rails and Node.
        for name in ("email", "sub", "user_id", "userId", "id"):
            if isinstance(claims, dict) and (user := claims.get(name)):
                return f"user {user}".lower()
    return ""
