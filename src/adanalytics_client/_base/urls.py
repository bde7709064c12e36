"""Addresses: the service's base, joining, origins, and redaction."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple, SupportsIndex, get_args
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from adanalytics_client.errors import ConfigurationError, ProtocolError

from .effects import Pairs
from .validation import whole

Origin = tuple[str, str, int]

Resource = Literal["events", "summary", "dates", "bulk-export"]
"""A resource of a partner, the last part of its address."""

OPERATIONS: Mapping[Resource, str] = {
    **{resource: resource for resource in get_args(Resource)},
    "bulk-export": "export",
}
"""The method of a client for each resource, which is also the command of the command line."""

Params = Mapping[str, str | int | date | Sequence[str | int | date]]
"""Further query parameters by name, such as `{"campaign_id": 7}`; a list is sent as several."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_USER = re.compile(r"((?:[a-z][a-z0-9+.-]*:)?//)[^/?#]*@", re.IGNORECASE)
# Known names only: signatures and keys have names that nobody can list. Any other value may hide a
# signature behind an & in another encoding.
_SHOWN_PARAMETER = re.compile(
    r"(?:start_date|end_date|hour|page|per_page|group_by|format)=[\w.:-]{1,40}", re.ASCII
)
_QUERY = re.compile(
    r"""(?:\?|%3f)(?:(?!%3[fd])[^\s"'<>?=])*(?:=|%3d)[^\s"'<>]*""", re.ASCII | re.IGNORECASE
)


def origin_of(url: str) -> Origin | None:
    """Scheme, host and port of an absolute http(s) address, or None for anything else."""
    try:
        # Half a surrogate pair, which JSON can hold, is not allowed in an address.
        url.encode()
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme]


def redact_url(url: str) -> str:
    """Return an address that is safe to show: no user info, and only known query parameters.

    The rest of a query may be a signature (S3, GCS and Azure all sign there).
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    pairs = parts.query.split("&") if parts.query else []
    shown = [*filter(_SHOWN_PARAMETER.fullmatch, pairs)]
    query = "&".join(shown if len(shown) == len(pairs) else [*shown, "***"])
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def redact_queries(text: str) -> str:
    """Return a text in which every address is shortened as `redact_url` would, wherever it is."""
    return _QUERY.sub(_redacted_query, text)


def _redacted_query(match: re.Match[str]) -> str:
    query = match[0].rstrip(".,;:!)]}")
    public_query = redact_url(query) if query.startswith("?") else "%3F***"
    return public_query + match[0][len(query) :]


class Address(str):
    """An address from outside, maybe with a signature: its repr is safe to show.

    Error reports show the repr of every local variable, and truncate a long text first.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(redact_url(self))

    def __getitem__(self, place: SupportsIndex | slice) -> "Address":
        return Address(super().__getitem__(place))


def without_user(url: str) -> Address:
    """Return an address without its user info; the rest stays byte for byte."""
    user = _USER.match(url)
    return Address(user[1] + url[user.end() :] if user else url)


def host_of(url: str) -> str:
    """Host and port of an address as people write them, without any user info."""
    return urlsplit(url).netloc.rpartition("@")[2] or "the service"


def absolute_url(base: str, reference: str) -> str:
    """`reference` resolved against `base`; an absolute one is unchanged, byte for byte."""
    try:
        return reference if origin_of(reference) else urljoin(base, reference)
    except ValueError:
        raise ProtocolError("The service gave an invalid address.") from None


class BaseUrl(NamedTuple):
    """The service's address without a trailing slash, and its origin."""

    text: str
    origin: Origin

    @classmethod
    def parse(cls, text: object) -> "BaseUrl":
        """Check a base address.

        Raises:
            ConfigurationError: when it is not http(s), has no host, or carries a user, a query or a
                fragment. The message does not repeat the text, which may hold a password.
        """
        address = Address(text.strip() if isinstance(text, str) else "")
        origin = origin_of(address)
        if origin is None:
            raise ConfigurationError(
                "base_url is not an http or https address.",
                remedy="Write it like https://stats.example.",
            )
        # A password in an address would be shown in logs and errors.
        if "@" in urlsplit(address).netloc:
            raise ConfigurationError(
                "base_url must not hold a user or password.",
                remedy="Pass api_key, or email and password.",
            )
        parts = urlsplit(address)
        if parts.query or parts.fragment:
            raise ConfigurationError(
                "base_url must have no query or fragment.",
                remedy="Leave out everything from ? or # on.",
            )
        path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
        return cls(urlunsplit((parts.scheme, parts.netloc, path, "", "")), origin)

    def at(self, path: str) -> str:
        """Return the address of a path that starts with a slash."""
        return self.text + path

    def is_at(self, url: str) -> bool:
        """Tell whether `url` is this base, even with the default port or another case."""
        return origin_of(url) == self.origin and urlsplit(url).path == urlsplit(self.text).path

    def owns(self, url: str) -> bool:
        """Tell whether `url` has the same scheme, host and port, so it may get a credential."""
        # Most addresses begin with the base itself, which saves parsing them.
        return url.startswith(f"{self.text}/") or origin_of(url) == self.origin

    def partner(self, partner: str | None, resource: Resource) -> str:
        """Return the address of a resource of a partner."""
        if not partner:
            raise ConfigurationError(
                "No partner is set.",
                remedy="Pass partner=, or set ADANALYTICS_PARTNER and use from_env().",
            )
        # A dot segment survives quoting, and every HTTP library then resolves it.
        if partner in {".", ".."}:
            raise ConfigurationError(
                f"{partner!r} is not a valid partner id.",
                remedy="Copy it from the address of a page about the partner.",
            )
        return self.at(f"/api/partners/{quote(partner, safe='')}/ad-analytics/{resource}")

    def counts(self, url: str) -> bool:
        """Whether `url` belongs to the Partner API, whose requests the hourly limit counts."""
        prefix = self.at("/api/partners/")
        return url.startswith(prefix) or (
            self.owns(url) and urlsplit(url).path.startswith(urlsplit(prefix).path)
        )


def further_params(params: Mapping[str, object] | None, names: Collection[str]) -> Pairs:
    """Return the caller's query parameters as text; refuse those that the client sends itself."""
    if not isinstance(params, Mapping | None):
        raise ConfigurationError(
            f"params={params!r} is not valid.", remedy="Pass a dict, such as {'campaign_id': 7}."
        )
    pairs = []
    for name, entry in (params or {}).items():
        if not name or name in names:
            advice = f"; the client itself sends {', '.join(names)}" if names else ""
            raise ConfigurationError(
                f"params: the name {name!r} is not valid.",
                remedy=f"Pass the service's own names{advice}.",
            )
        values = [whole(value) for value in (entry if isinstance(entry, list | tuple) else [entry])]
        # `True` would be sent as the word True, which no service means.
        if not values or not all(
            isinstance(value, str | int | date) and not isinstance(value, bool) for value in values
        ):
            raise ConfigurationError(
                f"params: {name}={entry!r} is not valid.",
                remedy="Pass a str, an int or a date, or a list of these.",
            )
        pairs += [(name, str(value)) for value in values]
    return tuple(pairs)


def with_query(
    url: str, parameters: Mapping[str, str], params: Iterable[tuple[str, str]] = ()
) -> str:
    """`url` with a query of `parameters` and then `params`, in their order."""
    pairs = [*parameters.items(), *params]
    return f"{url}?{urlencode(pairs)}" if pairs else url
