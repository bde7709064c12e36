"""The proxies in the environment, as httpx uses them."""

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import inet_aton
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import origin_of, redact_url
from adanalytics_client.errors import ConfigurationError

from .library import httpx

_SCHEMES = ("http", "https", "all")
_SEPARATORS = re.compile(r"[\s,;|]+")
# A name or an address, the latter perhaps in brackets or with a number of bits; then a port.
_PLACE = re.compile(
    r"(?:\[([\w.:%-]+)\]|([\w.*-]+|[\w.%-]*:[\w.%-]*:[\w.:%-]*))(/[\d.]+)?(?::(\d+))?"
)
_PUNYCODE = re.compile(r"\bxn--([^.]+)")
_NO_ADDRESS = "is not a proxy address such as http://proxy.example:3128"
_NO_SOCKS = "names a SOCKS proxy, which needs socksio; install it with: pip install 'httpx[socks]'"
_NOT_QUOTED = "holds a /, ? or # in its user or password; write it as %2F, %3F or %23"


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies that requests go through.

    Attributes:
        addresses: addresses by scheme and `all`, which may hold a password, and exceptions as `no`.
    """

    addresses: Mapping[str, str] = field(repr=False)

    @classmethod
    def of_environment(cls) -> "Proxies":
        """Return the proxies in the variables, and in the system's settings if it has any."""
        return cls({name: text.strip() for name, text in getproxies().items()})

    def variable_for(self, url: str) -> str | None:
        """Return the variable with the proxy for an address, without `_PROXY`; None for none."""
        if not self.addresses:
            return None
        scheme, host, port = origin_of(url) or ("", "", 0)
        name = scheme if self.addresses.get(scheme) else "all"
        if not self.addresses.get(name) or _is_local(host):
            return None
        exclusions = filter(None, map(_Exclusion.parse, self._entries()))
        return (
            None if any(exclusion.covers(scheme, host, port) for exclusion in exclusions) else name
        )

    def of(self, url: str) -> str | None:
        """Return the proxy for an address, safe to show."""
        name = self.variable_for(url)
        return redact_url("://".join(_split(self.addresses[name])[::2])) if name else None

    def through(self, url: str) -> httpx.Proxy | None:
        """Return the proxy for an address, with its password; None for a direct connection.

        Raises:
            ConfigurationError: when httpx cannot use the proxy, or an entry of `NO_PROXY` cannot be
                read, so that the proxy may be meant to see nothing.
        """
        name = self.variable_for(url)
        if name is None:
            return None
        if (problem := _problem_of(self.addresses[name])) is not None:
            raise ConfigurationError(f"{name.upper()}_PROXY {problem}.")
        # A misspelt entry would send the credential through the proxy.
        for entry in self._entries():
            if _Exclusion.parse(entry) is None:
                raise ConfigurationError(
                    f"NO_PROXY contains {entry!r}, which is not a host, an address or a range.",
                    remedy="Write it like .internal.example,127.0.0.1,10.0.0.0/8,::1.",
                )
        return _proxy_at(*_split(self.addresses[name]))

    def _entries(self) -> list[str]:
        """Return the entries of `NO_PROXY`; commas or blanks separate them, or what Java writes."""
        return [*filter(None, _SEPARATORS.split(self.addresses.get("no", "").lower()))]

    def secrets(self) -> list[Secret]:
        """Return the passwords, plain and as sent; a user without one is a secret."""
        secrets = []
        for name in _SCHEMES:
            _, user_info, _ = _split(self.addresses.get(name, ""))
            user, _, password = map(unquote, user_info.partition(":"))
            if user_info:
                header = base64.b64encode(f"{user}:{password}".encode()).decode()
                secrets += [Secret(password or user), Secret(header)]
        return secrets


class _Exclusion(NamedTuple):
    """An entry of `NO_PROXY`: a host with its subdomains, or a range of addresses.

    The rules are those of curl (https://curl.se/libcurl/c/CURLOPT_NOPROXY.html): a dot before or
    after a host means nothing, and an address may have a number of bits. curl ignores an entry with
    a port, a scheme, brackets, or a * inside. Here it excludes what it says.
    """

    scheme: str
    host: str
    addresses: IPv4Network | IPv6Network | None
    port: str

    @classmethod
    def parse(cls, entry: str) -> "_Exclusion | None":
        """Return the exclusion that an entry stands for; None for any other text."""
        scheme, _, place = entry.rstrip("/").rpartition("://")
        parts = _PLACE.fullmatch(place)
        if parts is None:
            return None
        host, bits, port = (parts[1] or parts[2]), parts[3] or "", parts[4] or ""
        try:
            # curl takes ranges here, and people copy its settings.
            addresses = ip_network(f"{host.partition('%')[0]}{bits}", strict=False)
        except ValueError:
            is_host = not bits and ":" not in host
            return cls(scheme, _unicode(host.strip(".")), None, port) if is_host else None
        return cls(scheme, host, addresses, port)

    def covers(self, scheme: str, host: str, port: int) -> bool:
        """Return whether connections to a host and port use no proxy."""
        if self.scheme not in {"", "all", scheme} or self.port not in {"", str(port)}:
            return False
        if self.addresses is not None:
            return any(address in self.addresses for address in _addresses_of(host))
        host = _unicode(host.rstrip("."))
        return fnmatchcase(host, self.host) or fnmatchcase(host, f"*.{self.host}")


def _unicode(host: str) -> str:
    """Return a host with its Punycode labels as Unicode (RFC 5890), in lower case."""
    with suppress(UnicodeError):
        return _PUNYCODE.sub(lambda label: label[1].encode().decode("punycode"), host.lower())
    return host


def _addresses_of(host: str) -> list[IPv4Address | IPv6Address]:
    """Return the address that a host is, also as the IPv4 address that it maps; none for a name."""
    name = host.rstrip(".").partition("%")[0]
    try:
        # The system also takes 127.1 for an address.
        address = ip_address(name if ":" in name else inet_aton(name))
    except (ValueError, OSError):
        return []
    ipv4 = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return [address, ipv4] if ipv4 else [address]


def _is_local(host: str) -> bool:
    """Return whether a host is this machine, which a proxy elsewhere could not reach.

    Go's net/http has the same rule (https://pkg.go.dev/net/http#ProxyFromEnvironment). So the
    servers of tests and of the demo need no exclusion.
    """
    name = host.rstrip(".")
    return name == "localhost" or any(address.is_loopback for address in _addresses_of(name))


def _proxy_at(scheme: str, user_info: str, place: str) -> httpx.Proxy:
    return httpx.Proxy(f"{scheme}://{user_info}@{place}" if user_info else f"{scheme}://{place}")


def _split(proxy: str) -> tuple[str, str, str]:
    """Scheme, user info and the rest; of several @, the last one ends the user info."""
    scheme, mark, rest = proxy.partition("://")
    user_info, _, place = (rest if mark else proxy).rpartition("@")
    return scheme if mark else "http", user_info, place


def _problem_of(proxy: str) -> str | None:
    """Return the fault of a proxy's address, if any, without repeating the address."""
    scheme, user_info, place = _split(proxy)
    if any(map(str.isspace, place)):
        return _NO_ADDRESS
    if not set(user_info).isdisjoint("/?#"):
        return _NOT_QUOTED
    try:
        _proxy_at(scheme, user_info, place)
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
