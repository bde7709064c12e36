"""The proxies in the environment, as httpx uses them."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import redact_url
from adanalytics_client._io.library import httpx
from adanalytics_client.errors import ConfigurationError

T = TypeVar("T")

_SCHEMES = ("http", "https", "all")
_NO_ADDRESS = "is not a proxy address such as http://proxy.example:3128"
_NO_SOCKS = "names a SOCKS proxy, which needs socksio; install it with: pip install 'httpx[socks]'"
_NOT_QUOTED = "holds a /, ? or # in its user or password; write it as %2F, %3F or %23"


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies that requests go through.

    Attributes:
        known: addresses by scheme and `all`, which may hold a password, and exceptions as `no`.
    """

    known: Mapping[str, str] = field(repr=False)

    @classmethod
    def of_environment(cls) -> "Proxies":
        """Return the proxies in the variables, and in the system's settings if it has any."""
        return cls(getproxies())

    def __bool__(self) -> bool:
        return bool(self.known)

    def of(self, url: str) -> str | None:
        """Return the proxy for an address, safe to show."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        excepted = self._excepted()
        if "*" in excepted or host.endswith(tuple(excepted)):
            return None
        proxy = self.known.get(parts.scheme) or self.known.get("all")
        return redact_url("://".join(_split(proxy)[::2])) if proxy else None

    def secrets(self) -> list[Secret]:
        """Return the passwords, plain and as sent; a user without one is a secret."""
        found = []
        for name in _SCHEMES:
            _, user_info, _ = _split(self.known.get(name, ""))
            user, _, password = map(unquote, user_info.partition(":"))
            if user_info:
                sent = base64.b64encode(f"{user}:{password}".encode()).decode()
                found += [Secret(password or user), Secret(sent)]
        return found

    def check(self) -> None:
        """Check that httpx can use them."""
        if "*" in self._excepted():
            return
        for name in _SCHEMES:
            if (problem := _problem_of(self.known.get(name))) is not None:
                raise ConfigurationError(f"{name.upper()}_PROXY {problem}.")
        try:
            for host in self._excepted():
                httpx.URL(_pattern_of(host))
        except httpx.InvalidURL:
            raise ConfigurationError(
                "NO_PROXY is not a list of hosts.",
                remedy="Write it like .internal.example,127.0.0.1.",
            ) from None

    def mounts(self, transport: Callable[[httpx.Proxy], T]) -> dict[str, T | None]:
        """Return an httpx client's transports for `mounts=`; `transport` makes one through a proxy.

        The patterns are those of httpx's `trust_env=True`, which it ignores for a client with its
        own transport.
        """
        if "*" in self._excepted():
            return {}
        through = {
            f"{name}://": transport(httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}"))
            for name in _SCHEMES
            if (proxy := self.known.get(name))
        }
        return {**through, **{_pattern_of(host): None for host in self._excepted()}}

    def _excepted(self) -> list[str]:
        hosts = (each.strip().lower() for each in self.known.get("no", "").split(","))
        return [each for each in hosts if each]


def _pattern_of(host: str) -> str:
    """Return the pattern of a `NO_PROXY` entry: an address, or a host with its subdomains."""
    if "://" in host:
        return host
    try:
        address = ip_address(host.partition("/")[0])
    except ValueError:
        return f"all://{host}" if host == "localhost" else f"all://*{host}"
    return f"all://[{host}]" if address.version == 6 else f"all://{host}"


def _split(proxy: str) -> tuple[str, str, str]:
    """Scheme, user info and the rest; of several @, the last one ends the user info."""
    scheme, mark, rest = proxy.partition("://")
    user_info, _, place = (rest if mark else proxy).rpartition("@")
    return scheme if mark else "http", user_info, place


def _problem_of(proxy: str | None) -> str | None:
    """Return the fault of a proxy's address, if any, without repeating the address."""
    if not proxy:
        return None
    scheme, user_info, place = _split(proxy)
    if not set(user_info).isdisjoint("/?#"):
        return _NOT_QUOTED
    try:
        httpx.Proxy(f"{scheme}://{user_info}@{place}")
        address = urlsplit(f"{scheme}://{place}")
        # Reading the port fails if its number is impossible.
        if not address.hostname or address.port == 0:
            return _NO_ADDRESS
    except (ValueError, httpx.InvalidURL):
        return _NO_ADDRESS
    if scheme.startswith("socks"):
        # Late, because its import takes some milliseconds.
        from importlib.util import find_spec

        return _NO_SOCKS if find_spec("socksio") is None else None
    return None
