"""A JSON answer whose body is in several parts, sent one after the other."""

from collections.abc import Iterator
from itertools import groupby

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

# Up to about this size, a call for each part costs more than joining it with its neighbours.
_MOST_JOINED_BYTES = 1 << 16


class PartsResponse(Response):
    """Sends large parts as they are, with the length of all of them announced."""

    media_type = "application/json"

    def __init__(self, parts: list[bytes], *, headers: dict[str, str]) -> None:
        self._parts = list(_with_small_ones_joined(parts))
        length = sum(map(len, parts))
        super().__init__(headers={**headers, "content-length": str(length)})

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send the head and then the parts."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        last = len(self._parts) - 1
        for number, part in enumerate(self._parts):
            await send({"type": "http.response.body", "body": part, "more_body": number < last})


def _with_small_ones_joined(parts: list[bytes]) -> Iterator[bytes]:
    for is_small, group in groupby(parts, key=lambda part: len(part) <= _MOST_JOINED_BYTES):
        if is_small:
            yield b"".join(group)
        else:
            yield from group
