"""The base of both clients: their arguments, and other clients on the same connections.

`Client` and `AsyncClient` describe the arguments, because people look there.
"""

import copy
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack

from ._base.clock import Clock, SystemClock
from ._base.logs import log_to_stderr
from ._base.observer import Observer
from ._base.urls import Address, BaseUrl
from ._base.validation import check_observer, invalid
from ._base.variables import variable
from ._call.config import Config, GivenCredential
from ._call.retry import RetryPolicy
from ._call.session import Connection, Session
from ._io.http import AnyHttpClient, BaseDriver
from ._io.proxies import Proxies
from ._quota.policy import OnLimit, QuotaLog, QuotaPolicy
from ._quota.store import open_store
from ._quota.window import QuotaState
from ._shapes.service import ServiceProfile
from .errors import ConfigurationError

Http = TypeVar("Http", bound=AnyHttpClient)
Driving = TypeVar("Driving", bound=BaseDriver[Any])
Choice = TypeVar("Choice")
AnyClient = TypeVar("AnyClient", bound="ClientBase[Any, Any]")

# The defaults come first.
_ON_LIMIT: tuple[OnLimit, ...] = ("wait", "raise")
_QUOTA_LOG: tuple[QuotaLog, ...] = ("shared", "memory")


class ClientOptions(TypedDict, Generic[Http], total=False):
    """The arguments that each way to make a client takes."""

    timeout: float | None
    retry: RetryPolicy | None
    quota: QuotaPolicy | None
    service: ServiceProfile | str | os.PathLike[str] | None
    observer: Observer | None
    http: Http | None
    clock: Clock | None


def _chosen(argument: Choice | None, name: str, choices: tuple[Choice, ...]) -> Choice:
    """Return what is given, else the choice in a variable of the environment, else the first."""
    if argument is not None:
        return argument
    value = variable(name) or choices[0]
    for choice in choices:
        if value == choice:
            return choice
    raise invalid(name, value, f"Set it to {' or '.join(map(str, choices))}.")


def _resolved(quota: QuotaPolicy | None) -> QuotaPolicy:
    """Return the policy with a choice for what it leaves to the environment."""
    if quota is None:
        quota = QuotaPolicy()
    if not isinstance(quota, QuotaPolicy):
        raise invalid("quota", quota, "Pass a QuotaPolicy, or None for the usual one.")
    return replace(
        quota,
        on_limit=_chosen(quota.on_limit, "ADANALYTICS_ON_LIMIT", _ON_LIMIT),
        log=_chosen(quota.log, "ADANALYTICS_QUOTA_LOG", _QUOTA_LOG),
    )


def connect(
    driver: type[Driving],
    config: Config,
    *,
    observer: Observer | None = None,
    http: AnyHttpClient | None = None,
    clock: Clock | None = None,
) -> Connection[Driving]:
    """Return the connection of a new client; nothing is sent yet."""
    session = Session.open(
        config,
        store=open_store(config.quota.log, config.quota_name, os.environ),
        observer=observer or Observer(),
        clock=clock or SystemClock(),
        secrets=Proxies.of_environment().secrets(),
    )
    redact = session.credentials.redact
    return Connection(session, driver(http, config.base, clock=session.clock, redact=redact))


class ClientBase(Generic[Http, Driving]):
    """Checks the arguments of both clients, and has the methods that need no request."""

    _driver: type[Driving]

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        email: str | None = None,
        password: str | None = None,
        token: str | None = None,
        partner: str | None = None,
        timeout: float | None = None,
        retry: RetryPolicy | None = None,
        quota: QuotaPolicy | None = None,
        service: ServiceProfile | str | os.PathLike[str] | None = None,
        observer: Observer | None = None,
        http: Http | None = None,
        clock: Clock | None = None,
    ) -> None:
        credential = GivenCredential.of(
            api_key=api_key, token=token, email=email, password=password
        )
        log_to_stderr(os.environ)
        # Error reports show the local variables of every frame in the traceback.
        del api_key, token, password
        if isinstance(base_url, str):
            base_url = Address(base_url)
        if isinstance(service, str | os.PathLike):
            service = ServiceProfile.read(service)
        config = Config(
            credential=credential.checked(),
            partner=partner,
            timeout=timeout,
            retry=RetryPolicy() if retry is None else retry,
            quota=_resolved(quota),
            base=BaseUrl.parse(base_url),
            service=ServiceProfile() if service is None else service,
        )
        check_observer(observer)
        # For the objects that stand on this client, not for its users.
        self.connection = connect(self._driver, config, observer=observer, http=http, clock=clock)
        self._shares = False

    @classmethod
    def from_env(  # noqa: PYI019  # jedi does not know Self
        cls: type[AnyClient],
        environ: Mapping[str, str] | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        email: str | None = None,
        password: str | None = None,
        token: str | None = None,
        partner: str | None = None,
        **options: Unpack[ClientOptions[Http]],
    ) -> AnyClient:
        """Return a client with the settings in `environ`, by default the process's environment.

        The settings are `ADANALYTICS_BASE_URL`, `ADANALYTICS_PARTNER`, and `ADANALYTICS_API_KEY` or
        `ADANALYTICS_EMAIL` with `ADANALYTICS_PASSWORD`. The constructor's keyword arguments
        override the environment; a credential that you pass replaces the one found there.

        Raises:
            ConfigurationError: when a variable is missing; the error names it.

        Examples:
            >>> Client.from_env({"ADANALYTICS_BASE_URL": "https://stats.example/v2/",
            ...                  "ADANALYTICS_API_KEY": "..."}, partner="acme", timeout=10)
            Client('https://stats.example/v2', partner='acme')
        """
        environment = os.environ if environ is None else environ
        credential = GivenCredential.of(
            api_key=api_key, token=token, email=email, password=password
        ).completed(environment)
        address = base_url or environment.get("ADANALYTICS_BASE_URL")
        base_url = None if address is None else Address(address)
        partner = partner or environment.get("ADANALYTICS_PARTNER") or None
        # An error report with local variables must not show them.
        del api_key, token, password, environ, environment, address
        if not base_url:
            raise ConfigurationError(
                "ADANALYTICS_BASE_URL is not set.",
                remedy="Set it to the service, or use from_profile() after adanalytics login.",
            )
        return cls(base_url, **credential.revealed(), partner=partner, **options)

    @classmethod
    def from_profile(  # noqa: PYI019  # jedi does not know Self
        cls: type[AnyClient],
        name: str = "default",
        *,
        partner: str | None = None,
        **options: Unpack[ClientOptions[Http]],
    ) -> AnyClient:
        """Return a client with the address, partner and credential that `adanalytics login` stored.

        The settings come from the profile in `$XDG_CONFIG_HOME/adanalytics/config.toml`. The key or
        token comes from the keyring or a private file. The variables of `from_env` are not read.
        Keyword arguments mean the same as in the constructor, and override the profile, but a
        `quota` with the usual limit or longest wait leaves that of the profile.

        Raises:
            ConfigurationError: when the profile or its login is missing or cannot be used; the
                error names the command that signs in.

        Examples:
            >>> Client.from_profile("night", partner="south")
            Client('https://stats.example', partner='south')
        """
        from ._profiles.login_store import sign_in_of
        from ._profiles.settings_file import read_profiles, settings_file

        profile = read_profiles(settings_file(os.environ)).find(name)
        kind, secret = sign_in_of(name, profile, os.environ)
        # Several partners are for summaries of the command line; a client reads one.
        if partner is None and "," in (partner := profile.partner or ""):
            raise ConfigurationError(
                f"Profile '{name}' has the partners {partner}.", remedy="Pass one as partner=."
            )
        quota, usual = _resolved(options.get("quota")), QuotaPolicy()
        if quota.limit == usual.limit:
            quota = replace(quota, limit=profile.rate_limit or None)
        if quota.max_wait == usual.max_wait and profile.max_wait is not None:
            quota = replace(quota, max_wait=profile.max_wait)
        options["quota"] = quota
        options["service"] = options.get("service") or profile.service
        return cls(
            profile.base_url or "",
            api_key=secret.reveal() if kind == "api_key" else None,
            token=secret.reveal() if kind == "token" else None,
            partner=partner or None,
            **options,
        )

    def with_options(
        self,
        *,
        timeout: float | None = None,
        retry: RetryPolicy | None = None,
        reserve: int | None = None,
        on_limit: OnLimit | None = None,
        max_wait: float | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Return a client with different options but the same connections, login and quota.

        An omitted option keeps its value. `reserve`, `on_limit` and `max_wait` are as in
        `QuotaPolicy`, of which the clients share the `limit` and the `log`. The connections belong
        to the original client: closing it closes all clients that share them, and closing one of
        the others does nothing.

        Raises:
            ConfigurationError: when an option is wrong; the error names it.

        Examples:
            >>> patient = client.with_options(timeout=300, reserve=200)
            >>> patient.quota.remaining
            800
        """
        check_observer(observer)
        old = self._session.config
        config = replace(
            old,
            timeout=old.timeout if timeout is None else timeout,
            retry=old.retry if retry is None else retry,
            quota=replace(
                old.quota,
                reserve=old.quota.reserve if reserve is None else reserve,
                on_limit=old.quota.on_limit if on_limit is None else on_limit,
                max_wait=old.quota.max_wait if max_wait is None else max_wait,
            ),
        )
        return self._sharing(self._session.with_config(config, observer))

    def for_partner(self, partner: str) -> Self:
        """Return a client for another partner, with the same connections, login and quota.

        Closing the returned client does nothing, as with a client from `with_options`.

        Raises:
            ConfigurationError: when `partner` is not text.

        Examples:
            >>> south = client.for_partner("south")
            >>> south.quota == client.quota
            True
        """
        config = replace(self._session.config, partner=partner)
        return self._sharing(self._session.with_config(config))

    def _sharing(self, session: Session) -> Self:
        shared = copy.copy(self)
        shared.connection = replace(self.connection, session=session)
        shared._shares = True  # noqa: SLF001  # of the same class
        return shared

    @property
    def _session(self) -> Session:
        return self.connection.session

    def __repr__(self) -> str:
        if not hasattr(self, "connection"):
            # An error report may show a client whose constructor failed.
            return f"{type(self).__name__}()"
        config = self._session.config
        return f"{type(self).__name__}({config.base.text!r}, partner={config.partner!r})"

    @property
    def base_url(self) -> str:
        """Return the address of the service."""
        return self._session.config.base.text

    @property
    def partner(self) -> str | None:
        """Return the partner whose data are read, if one is set."""
        return self._session.config.partner

    @property
    def quota(self) -> QuotaState:
        """Return what is left of the quota for this hour; no request is sent."""
        return self._session.quota.state()
