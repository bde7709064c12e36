"""Between this client's requests and replies and those of httpx."""

import os
import re
import ssl
from collections.abc import Callable, Mapping
from errno import errorcode

import httpx

from adanalytics_client._body import Body, DamagedBody, OversizedBody
from adanalytics_client._effects import Failure, Head, Reply, Request, Send, Trouble
from adanalytics_client._malformed import malformed
from adanalytics_client._rooms import Rooms

_LEGAL_TARGET = re.compile(rb"[\x21-\x7e]+")

HEAD_WAIT = "adanalytics.head"
"""The extension with the seconds for all steps up to the head of the answer together.

A head that comes byte by byte keeps every single step in time.
"""

WHOLE_WAIT = "adanalytics.whole"
"""The extension with the seconds for the whole exchange; what frames a body may drip, too."""

RECEIVE_INTO = "adanalytics.receive_into"
"""The extension of a response that receives into memory: a `ReceiveInto`."""

SLOW_BODY = "the body came too slowly"
"""What is told of a body that missed the deadline."""

ReceiveInto = Callable[[memoryview], int]
"""Puts the next bytes of the body at the beginning of some memory and tells how many.

At least one, and 0 only behind the last.
"""


def to_httpx(
    request: Request,
    headers: dict[str, str],
    waits: Mapping[str, float | None],
    *,
    head_wait: float | None,
    whole_wait: float | None,
) -> httpx.Request:
    """The request as httpx sends it.

    Args:
        request: what to send.
        headers: all of them.
        waits: seconds for each step, by httpx's names.
        head_wait: seconds for all of them up to the head of the answer; None is without end.
        whole_wait: the same up to the end of its body.

    Raises:
        httpx.InvalidURL: for an address that httpx cannot read.
    """
    made = httpx.Request(
        request.method,
        request.url,
        headers=headers,
        content=request.body,
        extensions={"timeout": dict(waits), HEAD_WAIT: head_wait, WHOLE_WAIT: whole_wait},
    )
    target = _target(request.url)
    if target != made.url.raw_path and _LEGAL_TARGET.fullmatch(target):
        # httpx folds dot segments and quotes some characters, which would break a signature.
        made.extensions["target"] = target
    return made


def to_head(response: httpx.Response) -> Head:
    """Status and headers; a header that came twice is joined with a comma."""
    return Head(
        response.status_code, {name.lower(): text for name, text in response.headers.items()}
    )


def to_failure(error: Exception, *, answered: bool) -> Failure:
    """What a transport error means; `answered` tells that the head of an answer had arrived."""
    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return Failure(Trouble.TIMEOUT, arrived=False)
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol)):
        return Failure(Trouble.UNREACHABLE, arrived=False, detail=_cause(error))
    if isinstance(error, (httpx.InvalidURL, httpx.LocalProtocolError)):
        # The text of these may repeat what was sent, with its credential.
        return Failure(Trouble.UNREACHABLE, arrived=False, detail="the request cannot be sent")
    if isinstance(error, httpx.TimeoutException):
        return Failure(Trouble.TIMEOUT, arrived=True, detail=SLOW_BODY if answered else "")
    if isinstance(error, httpx.RemoteProtocolError) and (damage := malformed(str(error))):
        trouble = Trouble.TRUNCATED if answered else Trouble.MALFORMED
        return Failure(trouble, arrived=True, detail=damage)
    trouble = Trouble.TRUNCATED if answered else Trouble.BROKEN
    return Failure(trouble, arrived=True, detail=_cause(error))


def _cause(error: BaseException) -> str:
    """What the operating system said at the bottom of it, else the error's own words."""
    told = str(error)
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            told = below.strerror
            # asyncio puts words of its own in strerror; TLS has other numbers of its own.
            number = below.errno or 0
            if number in errorcode and not isinstance(below, ssl.SSLError):
                told = os.strerror(number)
        below = below.__cause__ or below.__context__
    return told


class Receiver:
    """Takes one answer's body, piece by piece, to where it belongs."""

    def __init__(
        self, send: Send, response: httpx.Response, rooms: Rooms, *, decoded: bool
    ) -> None:
        self.head = _decoded(to_head(response)) if decoded else to_head(response)
        self._sink = send.sink
        takes = self._sink.accept(self.head) if self._sink else False
        self.unread = takes is None
        self._body: Body | None = None
        self._damage: Failure | None = None
        if takes is False:
            try:
                self._body = Body(
                    self.head.get("content-encoding"), self.head.get("content-length"), rooms
                )
            except DamagedBody as error:
                self._damage = Failure(Trouble.UNREADABLE, arrived=True, detail=str(error))

    def receive(self, receive_into: ReceiveInto) -> bool:
        """Have the next bytes put where they shall lie; False where pieces have to be written."""
        if self._body is None:
            return False
        with self._body.space() as space:
            size = receive_into(space) if space else 0
        if size:
            self._body.filled(size)
        return size > 0

    def write(self, piece: bytes) -> bool:
        """Take a piece; False means that no more is wanted."""
        if self._damage is not None:
            return False
        if self._body is None:
            if self._sink is not None:
                self._sink.write(piece)
            return True
        try:
            self._body.write(piece)
        except DamagedBody as error:
            self._damage = Failure(Trouble.UNREADABLE, arrived=True, detail=str(error))
        except OversizedBody:
            self._damage = Failure(Trouble.TOO_LARGE, arrived=True)
        return self._damage is None

    def finish(self) -> Reply | Failure:
        """The reply, or why there is none."""
        if self._damage is not None:
            return self._damage
        try:
            return Reply(self.head, self._body.finish() if self._body else b"")
        except DamagedBody as error:
            return Failure(Trouble.TRUNCATED, arrived=True, detail=str(error))


def _decoded(head: Head) -> Head:
    """The head of a body that is no longer as it was sent."""
    spoilt = {"content-encoding", "content-length"}
    return Head(
        head.status, {name: text for name, text in head.headers.items() if name not in spoilt}
    )


def _target(url: str) -> bytes:
    after_host = url.partition("://")[2]
    slash, query = after_host.find("/"), after_host.find("?")
    if slash < 0 or 0 <= query < slash:
        return b"/" + (after_host[query:].encode("utf-8") if query >= 0 else b"")
    return after_host[slash:].encode("utf-8")
