"""Values in C whose fields no repr shows."""

from typing import Any

from msgspec import Struct


class Hidden(Struct, frozen=True):
    """A value that holds events: neither its repr shows them, nor the one that rich takes."""

    __repr__ = object.__repr__

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []
