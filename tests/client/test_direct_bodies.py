"""Bodies as pieces, and bodies put where they shall lie, over our own connections."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import httpx
import pytest
from tests.client.two_transports import Http
from tests.client.wire import CHUNKED, Wire, sized

from adanalytics_client._receiving import ReceiveInto
from adanalytics_client._wire import RECEIVE_INTO

BODY = bytes(range(256)) * 900


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("share", [0, 1, 100_000, len(BODY)])
def test_a_body_is_put_where_it_shall_lie(
    share: int,
    *,
    secured: bool,
    http: Http,
    wire: Callable[..., Wire],
    trusted: ssl.SSLContext,
) -> None:
    """As much of it as there is memory for, and the rest as pieces."""
    server = wire([sized(BODY), sized(b"again")], context=trusted if secured else None)
    memory, filled = bytearray(share), 0
    with http.stream("GET", server.url) as answer:
        receive_into = answer.extensions[RECEIVE_INTO]
        while filled < share:
            filled += receive_into(memoryview(memory)[filled:])
        assert memory + b"".join(answer.iter_raw()) == BODY
        assert receive_into(memoryview(bytearray(9))) == 0
    assert http.get(server.url).content == b"again"
    assert [len(each) for each in server.heads] == [2]


@pytest.mark.parametrize("missing", [1, 200_000])
def test_a_body_that_breaks_off_on_its_way_to_memory(
    missing: int, http: Http, wire: Callable[..., Wire]
) -> None:
    server = wire([sized(BODY)[:-missing]], [sized(b"again")])
    memory = bytearray(len(BODY))
    sizes = list[int]()

    def receive(receive_into: ReceiveInto) -> None:
        while size := receive_into(memoryview(memory)[sum(sizes) :]):
            sizes.append(size)

    with (
        http.stream("GET", server.url) as answer,
        pytest.raises(httpx.RemoteProtocolError, match=f"{missing} of {len(BODY)} bytes"),
    ):
        receive(answer.extensions[RECEIVE_INTO])
    assert memory[: sum(sizes)] == BODY[:-missing]
    assert http.get(server.url).content == b"again"


def test_a_body_of_unknown_length_comes_in_pieces_only(
    http: Http, wire: Callable[..., Wire]
) -> None:
    with http.stream("GET", wire([CHUNKED]).url) as answer:
        assert RECEIVE_INTO not in answer.extensions
        assert answer.read() == b"abcde"
