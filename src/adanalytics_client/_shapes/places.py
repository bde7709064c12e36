"""Places of a service's profile: a path in the body such as `meta.total`, or a header."""

from collections.abc import Mapping

from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import BODY

_HEADER = "header "


def values_at(content: Json, headers: Mapping[str, str], place: str) -> tuple[Json, ...]:
    """Return the value at a place; nothing if the response has no such place.

    Args:
        headers: the headers by their names in lower case.

    Examples:
        >>> values_at({"meta": {"total": 3}}, {}, "meta.total")
        (3,)
        >>> values_at([], {"x-total-count": "3"}, "header X-Total-Count")
        ('3',)
    """
    if place == BODY:
        return (content,)
    if place.startswith(_HEADER):
        value = headers.get(place.removeprefix(_HEADER).lower())
        return () if value is None else (value,)
    if not isinstance(content, dict):
        return ()
    # A name may hold a dot itself.
    if place in content:
        return (content[place],)
    name, _, rest = place.partition(".")
    return values_at(content.get(name), {}, rest) if rest else ()
