"""What a client of either world is made of, before anything is sent."""

import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, Self, TypeVar

from adanalytics_client._checks import check_observer
from adanalytics_client._clock import SystemClock
from adanalytics_client._config import Environment, Given, make_config, make_credential
from adanalytics_client._effects import Clock
from adanalytics_client._hooks import Observer
from adanalytics_client._proxies import Proxies
from adanalytics_client._quota import QuotaState
from adanalytics_client._quota_store import QuotaLog, open_store
from adanalytics_client._retry import RetryPolicy
from adanalytics_client._session import Session
from adanalytics_client._url import Address

T = TypeVar("T")
Http = TypeVar("Http")


class _Driver(Protocol):
    def atomic(self, action: Callable[[], T]) -> T: ...


Driving = TypeVar("Driving", bound=_Driver)


class Connection(ABC, Generic[Http, Driving]):
    """The arguments of both clients, checked, and what of them needs no request.

    It does not tell what the arguments are: that is said where people look, at the clients.
    """

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
        limit: int | None = 1000,
        reserve: int = 0,
        on_limit: str = "wait",
        max_wait: float = 7200.0,
        quota_log: QuotaLog = "shared",
        observer: Observer | None = None,
        http: Http | None = None,
        clock: Clock | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        given = Given.of(api_key=api_key, token=token, email=email, password=password)
        # An error report shows what the frames it passed through still hold.
        del api_key, token, password
        if isinstance(base_url, str):
            base_url = Address(base_url)
        config = make_config(
            base_url,
            credential=make_credential(given),
            partner=partner,
            timeout=timeout,
            retry=retry,
            limit=limit,
            reserve=reserve,
            on_limit=on_limit,
            max_wait=max_wait,
        )
        check_observer(observer)
        self._session = Session.open(
            config,
            store=open_store(quota_log, config, os.environ),
            observer=observer or Observer(),
            clock=clock or SystemClock(),
            jitter=jitter,
            others=Proxies.of_environment().secrets(),
        )
        self._driver = self._drive(http)

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, observer: Observer | None = None
    ) -> Self:
        """A client from `environ`, by default the process's own environment.

        Reads `ADANALYTICS_BASE_URL`, `ADANALYTICS_PARTNER`, and `ADANALYTICS_API_KEY` or
        `ADANALYTICS_EMAIL` with `ADANALYTICS_PASSWORD`.

        Raises:
            ConfigurationError: naming the variable that is missing.

        Example:
            >>> Client.from_env({"ADANALYTICS_BASE_URL": "https://stats.example/v2/",
            ...                  "ADANALYTICS_API_KEY": "...", "ADANALYTICS_PARTNER": "acme"})
            Client('https://stats.example/v2', partner='acme')
        """
        found = Environment.read(os.environ if environ is None else environ)
        del environ
        return cls(**found.arguments(), observer=observer)

    def __repr__(self) -> str:
        if not hasattr(self, "_session"):
            # An error report may show a client that could not be made.
            return f"{type(self).__name__}()"
        config = self._session.config
        return f"{type(self).__name__}({config.base.text!r}, partner={config.partner!r})"

    @property
    def quota(self) -> QuotaState:
        """How many requests may still be sent this hour; asking sends none."""
        return self._driver.atomic(self._session.quota_state)

    @abstractmethod
    def _drive(self, http: Http | None) -> Driving:
        """What sends for this world, with a ready HTTP client or one of our own."""
