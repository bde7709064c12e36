"""What an observer raises ends the work, and it is seen where it comes from; both variants."""

import gzip
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.client.notes import Notes
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import Observer
from adanalytics_client.observers import BytesReceived

DAY = "2026-01-15"
DATES = {"dates": [DAY]}
ENDS = [StopIteration("mine"), StopAsyncIteration("mine")]


def raising(method: str, error: Exception) -> Observer:
    """An observer of which one method raises, as `next()` on something empty does."""

    def fail(_self: Observer, _info: object) -> None:
        raise error

    made: Observer = type("Raising", (Observer,), {method: fail})()
    return made


def test_a_method_of_one_observer_is_called(open_variant: OpenVariant, stand_in: StandIn) -> None:
    """A request that nobody watches has no report; this one is watched without a class."""
    stand_in.says(Say(DATES))
    statuses: list[int | None] = []
    observer = Observer()
    setattr(observer, "request", lambda info: statuses.append(info.status))  # noqa: B010  # typed
    open_variant(observer=observer).call("dates")
    assert statuses == [200]


@pytest.mark.parametrize("error", ENDS, ids=["sync end", "async end"])
@pytest.mark.parametrize("method", ["due", "request", "retry", "wait", "page", "drift", "bytes"])
def test_the_end_of_an_iterator_is_no_end_of_the_work(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: Path, method: str, error: Exception
) -> None:
    page = {"events": [{"event_id": "a"}], "pagination": {"has_more": True}}
    last = {"events": [{"event_id": "a"}, {"event_id": "b"}], "pagination": {"has_more": False}}
    stand_in.says_by_name(
        dates=[Say(status=503), Say(status=429), Say(DATES)],
        events=[Say(page), Say(last)],
        bulk_export=[Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a\r\n")],
    )
    variant = open_variant(observer=raising(method, error))
    works: list[Callable[[Variant], object]] = [
        lambda variant: variant.call("dates"),
        lambda variant: variant.rows(DAY, hour=3),
        lambda variant: variant.call("export", DAY, to=tmp_path / "out.csv"),
    ]
    work = {"page": works[1], "drift": works[1], "bytes": works[2]}.get(method, works[0])
    with pytest.raises(RuntimeError, match="The observer raised Stop") as caught:
        work(variant)
    assert caught.value.__cause__ is error


def test_any_other_error_comes_as_it_is(open_variant: OpenVariant, stand_in: StandIn) -> None:
    stand_in.says(Say(DATES))
    with pytest.raises(LookupError, match="mine"):
        open_variant(observer=raising("due", LookupError("mine"))).call("dates")


def test_an_error_of_httpx_is_no_trouble_of_the_service(
    open_variant: OpenVariant, stand_in: StandIn, tmp_path: Path
) -> None:
    """An observer may send what it is told to somewhere, by httpx, too."""
    stand_in.says_by_name(
        bulk_export=[Say({"status": "done", "url": "/f.csv"})], f_csv=[Say(b"a\r\n")]
    )
    cause = OSError("cause")
    theirs = httpx.ConnectError("metrics are down")
    theirs.__cause__ = cause
    variant = open_variant(observer=raising("bytes", theirs))
    with pytest.raises(httpx.ConnectError) as caught:
        variant.call("export", DAY, to=tmp_path / "out.csv")
    assert caught.value is theirs
    assert (theirs.__cause__, theirs.__context__) == (cause, None)
    assert len(stand_in.asked) == 2


@pytest.mark.parametrize(
    ("announced", "packed", "expected"),
    [({"size_bytes": 3000}, False, 3000), ({}, False, None), ({"size_bytes": 3000}, True, None)],
    ids=["announced", "not announced", "announced of what is packed"],
)
def test_the_size_announced_is_expected_of_a_body_without_a_length(
    open_variant: OpenVariant,
    stand_in: StandIn,
    tmp_path: Path,
    announced: dict[str, int],
    *,
    packed: bool,
    expected: int | None,
) -> None:
    content, notes = b"a,b\r\n" + b"1,2\r\n" * 599, Notes()
    headers = {"Content-Type": "text/csv"} | ({"Content-Encoding": "gzip"} if packed else {})
    body = gzip.compress(content) if packed else content
    stand_in.says_by_name(
        bulk_export=[Say({"status": "done", "url": "/f.csv", **announced})],
        f_csv=[Say(body, headers=headers, chunked=True)],
    )
    variant = open_variant(observer=notes)
    variant.call("export", DAY, to=tmp_path / "out.csv", check="none")
    told = notes.of(BytesReceived)
    assert {info.expected for info in told} == {expected}
    assert told[-1].received == len(body)
