"""Ranges of a download: which bytes come, with which status, and what is refused."""

import asyncio
import gc
import warnings
from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from adanalytics_server.errors import ApiError
from adanalytics_server.exports.byte_ranges import asked_range
from adanalytics_server.exports.file_answer import file_answer
from adanalytics_server.exports.preconditions import check_match, is_known
from adanalytics_server.local import LocalServer

API = "/api/partners/acme/ad-analytics"
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01", "format": "csv"}
ETAG = '"abc"'


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=5-", range(5, 10)),
        ("bytes=5-99", range(5, 10)),
        ("BYTES=2-3", range(2, 4)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-99", range(10)),
        # The whole file, for all that is no single range of bytes.
        (None, None),
        ("", None),
        ("bytes=", None),
        ("bytes=-", None),
        ("bytes=3-2", None),
        ("bytes=a-b", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
        ("bytes=" + "9" * 5000 + "-", None),
        ("bytes=٣-٤", None),
    ],
)
def test_one_range_is_understood(wanted: str | None, part: range | None) -> None:
    assert asked_range(wanted, if_range=None, etag=ETAG, size=10) == part


@pytest.mark.parametrize("wanted", ["bytes=10-", "bytes=10-12", "bytes=-0"])
def test_a_range_behind_the_end_is_refused(wanted: str) -> None:
    with pytest.raises(ApiError) as caught:
        asked_range(wanted, if_range=None, etag=ETAG, size=10)
    assert caught.value.status == 416
    assert caught.value.headers == {"Content-Range": "bytes */10"}


def test_an_empty_file_has_no_range() -> None:
    with pytest.raises(ApiError):
        asked_range("bytes=0-", if_range=None, etag=ETAG, size=0)


@pytest.mark.parametrize(
    ("if_range", "part"),
    [
        (ETAG, range(3, 5)),
        ('"abd"', None),
        ("abc", None),
        (f"W/{ETAG}", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_if_range_takes_the_same_file_only(if_range: str, part: range | None) -> None:
    assert asked_range("bytes=3-4", if_range=if_range, etag=ETAG, size=10) == part
    # Also a range that could not be satisfied in the new file is not an error then.
    if part is None:
        assert asked_range("bytes=99-", if_range=if_range, etag=ETAG, size=10) is None


@pytest.fixture
def url(http: httpx.Client) -> str:
    return str(http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"])


def test_a_part_says_where_it_is(url: str) -> None:
    whole = httpx.get(url)
    assert whole.headers["accept-ranges"] == "bytes"
    part = httpx.get(url, headers={"Range": "bytes=-4"})
    size = len(whole.content)
    assert (part.status_code, part.content) == (206, whole.content[-4:])
    assert part.headers["content-range"] == f"bytes {size - 4}-{size - 1}/{size}"
    assert part.headers["content-length"] == "4"
    assert part.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize(
    ("tags", "known"),
    [
        (ETAG, True),
        (f"W/{ETAG}", True),
        (f'"x", {ETAG}', True),
        ("*", True),
        ('"x"', False),
        ("abc", False),
        ("", False),
    ],
)
def test_if_none_match_is_a_list_of_what_is_there_already(tags: str, known: bool) -> None:
    assert is_known([tags], etag=ETAG) is known
    assert is_known(['"x"', tags], etag=ETAG) is (known and tags != "*")


@pytest.mark.parametrize("tags", [f"W/{ETAG}", '"x"', "abc", ""])
def test_if_match_takes_the_same_file_only(tags: str) -> None:
    check_match([], etag=ETAG)
    check_match([f'"x",{ETAG}'], etag=ETAG)
    check_match(["*"], etag=ETAG)
    with pytest.raises(ApiError) as caught:
        check_match([tags], etag=ETAG)
    assert caught.value.status == 412


def test_who_has_the_file_is_not_sent_it_again(url: str) -> None:
    etag = httpx.get(url).headers["etag"]
    again = httpx.get(url, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert httpx.get(url, headers={"If-None-Match": '"x"'}).status_code == 200


def test_a_part_of_another_file_is_not_sent(url: str) -> None:
    headers = {"Range": "bytes=1-2", "If-Match": '"x"'}
    refused = httpx.get(url, headers=headers)
    assert (refused.status_code, refused.json()) == (412, {"error": "Precondition Failed"})
    same = httpx.get(url, headers={**headers, "If-Match": refused.headers["etag"]})
    assert (same.status_code, len(same.content)) == (206, 2)


def test_errors_of_a_download_have_the_one_shape(url: str) -> None:
    beyond = httpx.get(url, headers={"Range": "bytes=99999999-"})
    assert (beyond.status_code, beyond.json()) == (416, {"error": "Range Not Satisfiable"})
    assert beyond.headers["content-range"].startswith("bytes */")
    assert httpx.get(url, headers={"Range": "bytes=9-1,x"}).status_code == 200
    assert httpx.get(url.replace("signature=", "signature=x")).json() == {"error": "Forbidden"}
    refused = httpx.get(url, headers={"Authorization": "Bearer x"})
    assert (refused.status_code, set(refused.json())) == (400, {"error"})
    assert httpx.post(url).json() == {"error": "Method Not Allowed"}


def test_a_deleted_file_is_said_to_be_gone_and_written_again(
    url: str, http: httpx.Client, server: LocalServer
) -> None:
    whole = httpx.get(url).content
    (file,) = (server.settings.data / "exports").iterdir()
    file.unlink()
    gone = httpx.get(url)
    assert (gone.status_code, gone.json()["error"]) == (
        410,
        "The file was deleted: order the export again",
    )
    again = http.post(f"{API}/bulk-export", json=ORDER).json()["download_url"]
    assert again != url
    assert httpx.get(again).content == whole


def test_a_client_that_leaves_at_once_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")

    async def ask(turns: int) -> None:
        async def leave() -> Message:
            for _ in range(turns):
                await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(_message: Message) -> None:
            pass

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        await file_answer(path, size=10, part=None, headers={})(scope, leave, send)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for turns in range(20):
            asyncio.run(ask(turns))
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
