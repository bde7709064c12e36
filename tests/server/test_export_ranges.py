"""Ranges of a download: which bytes come, with which status, and what is refused."""

import asyncio
import gc
import io
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import httpx
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from adanalytics_server.exports.download import download_answer
from adanalytics_server.exports.table import ExportJob
from adanalytics_server.local import LocalServer

API = "/api/partners/acme/ad-analytics"
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01", "format": "csv"}


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """The addresses of two exports without events: a csv has its header, jsonl is empty."""
    with LocalServer() as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        yield {
            form: httpx.post(
                f"{server.url}{API}/bulk-export", json={**ORDER, "format": form}, headers=headers
            ).json()["download_url"]
            for form in ("csv", "jsonl")
        }


@pytest.fixture(scope="module")
def url(urls: dict[str, str]) -> str:
    return urls["csv"]


@pytest.fixture(scope="module")
def whole(url: str) -> httpx.Response:
    return httpx.get(url)


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", slice(1)),
        ("bytes=5-", slice(5, None)),
        ("bytes=5-9999", slice(5, None)),
        ("BYTES=2-3", slice(2, 4)),
        ("bytes=-3", slice(-3, None)),
        ("bytes=-9999", slice(None)),
    ],
)
def test_one_range_is_understood(url: str, whole: httpx.Response, wanted: str, part: slice) -> None:
    answer = httpx.get(url, headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (206, whole.content[part])


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "bytes=",
        "bytes=-",
        "bytes=3-2",
        "bytes=a-b",
        "bytes=0-1,4-5",
        "bytes=9-1,x",
        "lines=0-1",
        "bytes=" + "9" * 5000 + "-",
        "bytes=\xb2-\xb3",
    ],
)
def test_what_is_no_single_range_of_bytes_is_answered_with_the_whole_file(
    url: str, whole: httpx.Response, wanted: str
) -> None:
    answer = httpx.get(url, headers={b"Range": wanted.encode("latin-1")})
    assert (answer.status_code, answer.content) == (200, whole.content)


@pytest.mark.parametrize("wanted", ["bytes={}-", "bytes={}-99999", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(url: str, whole: httpx.Response, wanted: str) -> None:
    size = len(whole.content)
    refused = httpx.get(url, headers={"Range": wanted.format(size)})
    assert (refused.status_code, refused.json()) == (416, {"error": "Range Not Satisfiable"})
    assert refused.headers["content-range"] == f"bytes */{size}"


def test_an_empty_file_has_no_range(urls: dict[str, str]) -> None:
    assert httpx.get(urls["jsonl"]).content == b""
    assert httpx.get(urls["jsonl"], headers={"Range": "bytes=0-"}).status_code == 416


def test_if_range_takes_the_same_file_only(url: str, whole: httpx.Response) -> None:
    etag = whole.headers["etag"]
    same = httpx.get(url, headers={"Range": "bytes=3-4", "If-Range": etag})
    assert (same.status_code, same.content) == (206, whole.content[3:5])
    for other in ('"abd"', "abc", f"W/{etag}", "Wed, 21 Oct 2015 07:28:00 GMT"):
        # Also a range that could not be satisfied in the new file is not an error then.
        for wanted in ("bytes=3-4", "bytes=99999-"):
            answer = httpx.get(url, headers={"Range": wanted, "If-Range": other})
            assert (answer.status_code, answer.content) == (200, whole.content)


def test_a_part_says_where_it_is(url: str, whole: httpx.Response) -> None:
    assert whole.headers["accept-ranges"] == "bytes"
    part = httpx.get(url, headers={"Range": "bytes=-4"})
    size = len(whole.content)
    assert (part.status_code, part.content) == (206, whole.content[-4:])
    assert part.headers["content-range"] == f"bytes {size - 4}-{size - 1}/{size}"
    assert part.headers["content-length"] == "4"
    assert part.headers["etag"] == whole.headers["etag"]


def test_errors_of_a_download_have_the_one_shape(url: str) -> None:
    assert httpx.get(url.replace("signature=", "signature=x")).json() == {"error": "Forbidden"}
    refused = httpx.get(url, headers={"Authorization": "Bearer x"})
    assert (refused.status_code, set(refused.json())) == (400, {"error"})
    assert httpx.post(url).json() == {"error": "Method Not Allowed"}


def test_a_deleted_file_is_said_to_be_gone_and_written_again(
    http: httpx.Client, server: LocalServer
) -> None:
    url = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    whole = httpx.get(url).content
    (file,) = (server.settings.data / "exports").iterdir()
    file.unlink()
    gone = httpx.get(url)
    assert (gone.status_code, gone.json()["error"]) == (
        410,
        "The file was deleted: start the export again",
    )
    again = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    assert again != url
    assert httpx.get(again).content == whole


def test_a_client_that_leaves_at_once_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    left_open: list[io.FileIO] = []
    day = date(2026, 1, 31)
    job = ExportJob(
        id="1",
        partner=1,
        status="completed",
        format="csv",
        compression="none",
        start_date=day,
        end_date=day,
        created_at=0,
        expires_at=0,
        row_count=1,
        size_bytes=10,
        sha256="abc",
        error=None,
    )

    async def ask(turns: int) -> None:
        async def leave() -> Message:
            for _ in range(turns):
                await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(_message: Message) -> None:
            await asyncio.sleep(0)

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        answer = await download_answer(Headers({}), job, path)
        await answer(scope, leave, send)
        left_open.extend(
            each
            for each in gc.get_objects()
            if isinstance(each, io.FileIO) and each.name == str(path) and not each.closed
        )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for turns in range(20):
            asyncio.run(ask(turns))
        gc.collect()
    assert not left_open
    assert [str(warning.message) for warning in caught] == []
