"""Events as the client holds them, for tests of what it does with them."""

from collections.abc import Iterable

from adanalytics_client._json.raw import RawRows


def raw_rows(texts: Iterable[bytes]) -> RawRows:
    """Return events from the texts of valid objects without line breaks."""
    return RawRows([*texts])
