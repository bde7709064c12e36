"""The proxies that the environment names, as httpx uses them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from adanalytics_client._url import redact_url
from adanalytics_client.errors import ConfigurationError

_VARIABLES = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"


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
        spared = [each.strip().lower() for each in self.known.get("no", "").split(",")]
        if "*" in spared or host.endswith(tuple(filter(None, spared))):
            return None
        proxy = self.known.get(parts.scheme) or self.known.get("all")
        if not proxy:
            return None
        return redact_url(proxy if "://" in proxy else f"http://{proxy}")

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Tell of a proxy that httpx cannot use, in the words of whoever set it.

        Raises:
            ConfigurationError: for a SOCKS proxy without what that needs, or an address that is
                none.
        """
        try:
            yield
        except ImportError:
            raise ConfigurationError(
                f"{_VARIABLES} names a SOCKS proxy, which needs socksio; install it with: "
                "pip install 'httpx[socks]'"
            ) from None
        except (ValueError, httpx.InvalidURL):
            raise ConfigurationError(
                f"{_VARIABLES} is no address of a proxy such as http://proxy.example:3128."
            ) from None
