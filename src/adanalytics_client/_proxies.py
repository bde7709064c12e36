"""The proxies that the environment names, as httpx uses them."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

import httpx

from adanalytics_client._secret import Secret
from adanalytics_client._url import redact_url
from adanalytics_client.errors import ConfigurationError

_SCHEMES = ("http", "https", "all")
_NO_ADDRESS = "is no address of a proxy such as http://proxy.example:3128"
_NOT_QUOTED = "holds a /, ? or # in its user or password; write it as %2F, %3F or %23"


@dataclass(frozen=True, slots=True)
class Proxies:
    """Which proxy a request goes through.

    Attributes:
        known: addresses by scheme and `all`, which may hold a password, and exceptions as `no`.
    """

    known: Mapping[str, str] = field(repr=False)

    @classmethod
    def of_environment(cls) -> "Proxies":
        """Those of the variables, and of the system's settings where it has some."""
        return cls(getproxies())

    def __bool__(self) -> bool:
        return bool(self.known)

    def of(self, url: str) -> str | None:
        """The proxy on the way to an address, as anybody may see it."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        spared = self._spared()
        if "*" in spared or host.endswith(tuple(filter(None, spared))):
            return None
        proxy = self.known.get(parts.scheme) or self.known.get("all")
        return redact_url("://".join(_taken_apart(proxy)[::2])) if proxy else None

    def secrets(self) -> list[Secret]:
        """The passwords as they are and as requests carry them; a user without one is a secret."""
        found = []
        for name in _SCHEMES:
            _, user_info, _ = _taken_apart(self.known.get(name, ""))
            user, _, password = map(unquote, user_info.partition(":"))
            if user_info:
                sent = base64.b64encode(f"{user}:{password}".encode()).decode()
                found += [Secret(password or user), Secret(sent)]
        return found

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Tell of what httpx cannot use, in the words of whoever set it.

        Raises:
            ConfigurationError: naming the variable, for an address that is none, a SOCKS proxy
                without what that needs, or exceptions that are no hosts.
        """
        used = () if "*" in self._spared() else _SCHEMES
        for name in used:
            if (fault := _fault_of(self.known.get(name))) is not None:
                raise ConfigurationError(f"{name.upper()}_PROXY {fault}.")
        try:
            yield
        except ImportError:
            socks = [name for name in used if self.known.get(name, "").startswith("socks")]
            raise ConfigurationError(
                f"{' and '.join(f'{name.upper()}_PROXY' for name in socks)} names a SOCKS proxy, "
                "which needs socksio; install it with: pip install 'httpx[socks]'"
            ) from None
        except (ValueError, httpx.InvalidURL):
            raise ConfigurationError(
                "NO_PROXY is no list of hosts such as .internal.example,127.0.0.1."
            ) from None

    def _spared(self) -> list[str]:
        return [each.strip().lower() for each in self.known.get("no", "").split(",")]


def _taken_apart(proxy: str) -> tuple[str, str, str]:
    """Scheme, user info and the rest; in what somebody forgot to quote the user info is longest."""
    scheme, mark, rest = proxy.partition("://")
    user_info, _, place = (rest if mark else proxy).rpartition("@")
    return scheme if mark else "http", user_info, place


def _fault_of(proxy: str | None) -> str | None:
    """What is wrong with the address of a proxy, if anything, without repeating it."""
    if not proxy:
        return None
    scheme, user_info, place = _taken_apart(proxy)
    if not set(user_info).isdisjoint("/?#"):
        return _NOT_QUOTED
    try:
        httpx.Proxy(f"{scheme}://{user_info}@{place}")
        address = urlsplit(f"{scheme}://{place}")
        # Reading the port fails where there can be none of that number.
        usable = bool(address.hostname) and address.port != 0
    except (ValueError, httpx.InvalidURL):
        usable = False
    return None if usable else _NO_ADDRESS
