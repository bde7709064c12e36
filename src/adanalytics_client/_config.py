"""What a client is told when it is made, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from adanalytics_client._checks import check_seconds, check_text, is_whole
from adanalytics_client._retry import RetryPolicy
from adanalytics_client._secret import Secret
from adanalytics_client._url import Address, BaseUrl
from adanalytics_client.errors import ConfigurationError

OnLimit = Literal["wait", "raise"]
"""What to do when the requests of an hour are used up."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """A credential that is sent as it is: an API key, or a token from an earlier login."""

    kind: Literal["api_key", "token"]
    secret: Secret


@dataclass(frozen=True, slots=True)
class Login:
    """An account whose token is fetched when first needed, and again when it has expired."""

    email: str
    password: Secret


Credential = Bearer | Login


@dataclass(frozen=True, slots=True)
class Given:
    """A credential as a caller gave it, hidden before anything of it is checked.

    Error reports show the local variables of the frames that an error passed through.
    """

    api_key: Secret | None
    token: Secret | None
    email: str | None
    password: Secret | None

    @classmethod
    def of(
        cls, *, api_key: str | None, token: str | None, email: str | None, password: str | None
    ) -> "Given":
        """Hide what a caller gave; nothing raises here, whatever it is."""
        return cls(_hidden(api_key), _hidden(token), email, _hidden(password))


def _hidden(value: str | None) -> Secret | None:
    return None if value is None else Secret(value)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything fixed for the life of a client; holds no readable secret."""

    base: BaseUrl
    credential: Credential
    partner: str | None
    timeout: float | None
    retry: RetryPolicy
    limit: int | None
    reserve: int
    on_limit: OnLimit
    max_wait: float


def make_credential(given: Given) -> Credential:
    """The one credential among the arguments.

    Raises:
        ConfigurationError: for none, more than one, or half of one.
    """
    api_key, token, email, password = given.api_key, given.token, given.email, given.password
    check_text("email", email)
    for name, secret in (("api_key", api_key), ("token", token), ("password", password)):
        if secret is not None:
            secret.check(name)
    count = [bool(api_key), bool(token), bool(email or password)].count(True)
    if count == 0:
        raise ConfigurationError(
            "No credential: pass api_key=, token=, or email= and password=, "
            "or set ADANALYTICS_API_KEY, or ADANALYTICS_EMAIL and _PASSWORD, and use from_env()."
        )
    if count > 1:
        raise ConfigurationError("Pass one of api_key=, token=, or email= with password=.")
    if api_key:
        return Bearer("api_key", bearer_secret(api_key, "api_key"))
    if token:
        return Bearer("token", bearer_secret(token, "token"))
    if not email or not password:
        raise ConfigurationError("A login needs both email= and password=.")
    return Login(email, password)


def bearer_secret(given: Secret, name: str) -> Secret:
    """A secret that can stand in an Authorization header, without white space around it.

    Raises:
        ConfigurationError: for text that no header may hold. The text is not repeated, while
            an HTTP library's own error would show it.
    """
    secret = given.trimmed()
    if not secret.fits_header:
        raise ConfigurationError(
            f"{name} holds a space, line break or other illegal character; copy it anew."
        )
    return secret


def make_config(
    base_url: str,
    *,
    credential: Credential,
    partner: str | None,
    timeout: float | None,
    retry: RetryPolicy | None,
    limit: int | None,
    reserve: int,
    on_limit: str,
    max_wait: float,
) -> Config:
    """Check the settings of a client.

    Raises:
        ConfigurationError: naming the setting that is wrong.
    """
    if timeout is not None:
        check_seconds("timeout", timeout, zero=False)
    check_seconds("max_wait", max_wait, zero=True)
    check_text("partner", partner)
    if retry is not None and not isinstance(retry, RetryPolicy):
        raise ConfigurationError(f"retry={retry!r}: pass a RetryPolicy, or None for the usual one.")
    if limit is not None and not is_whole(limit, 1):
        raise ConfigurationError(
            f"limit={limit!r}: pass a whole number of requests an hour, at least 1, "
            "or None for no limit."
        )
    if not is_whole(reserve, 0, None if limit is None else limit - 1):
        most = "" if limit is None else f", less than limit={limit}"
        raise ConfigurationError(
            f"reserve={reserve!r}: pass a whole number of requests an hour, at least 0{most}."
        )
    if on_limit not in get_args(OnLimit):
        raise ConfigurationError(f"on_limit={on_limit!r}: choose wait or raise.")
    return Config(
        base=BaseUrl.parse(base_url),
        credential=credential,
        # As keys are: what was copied with a space or a line break around it.
        partner=partner and partner.strip(),
        timeout=timeout,
        retry=retry or RetryPolicy(),
        limit=limit,
        reserve=reserve,
        on_limit="wait" if on_limit == "wait" else "raise",
        max_wait=max_wait,
    )


class Arguments(TypedDict):
    """The arguments of a client that the environment can give, secrets in plain text."""

    base_url: str
    api_key: str | None
    email: str | None
    password: str | None
    partner: str | None


@dataclass(frozen=True, slots=True)
class Environment:
    """What the environment says about the service; secrets stay unreadable in a repr."""

    base_url: str
    partner: str | None
    api_key: Secret | None
    email: str | None
    password: Secret | None

    def arguments(self) -> Arguments:
        """The same as arguments of a client.

        Raises:
            ConfigurationError: when there is no base address.
        """
        if not self.base_url:
            raise ConfigurationError("ADANALYTICS_BASE_URL is not set; set it to the service.")
        return {
            "base_url": self.base_url,
            "api_key": self.api_key.reveal() if self.api_key else None,
            "email": self.email,
            "password": self.password.reveal() if self.password else None,
            "partner": self.partner,
        }

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> "Environment":
        """Read `ADANALYTICS_BASE_URL`, `_API_KEY` or `_EMAIL` and `_PASSWORD`, and `_PARTNER`.

        An API key wins over a login, so that a script's key is not put aside by a person's e-mail.
        """
        key = variables.get("ADANALYTICS_API_KEY")
        password = None if key else variables.get("ADANALYTICS_PASSWORD")
        return cls(
            base_url=Address(variables.get("ADANALYTICS_BASE_URL") or ""),
            partner=variables.get("ADANALYTICS_PARTNER") or None,
            api_key=Secret(key) if key else None,
            email=None if key else variables.get("ADANALYTICS_EMAIL"),
            password=Secret(password) if password else None,
        )
