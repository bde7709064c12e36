"""Downloads that go on where they broke off: in the same run, and in one that starts later."""

import gzip
import hashlib
import re
from itertools import product

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store
from tests.client.stand_in import Asked, Say
from tests.client.variants import BOTH_LIBRARIES

from adanalytics_client import errors

# Shorter than the bytes that `break_off` leaves.
SHORT = b"a,b\r\n1,2\r\n"
# In the header, in a value, around each line end, and before the last byte.
CUTS = (0, 1, 16, 17, 18, 20, len(FILE) - 2, len(FILE) - 1)


@BOTH_LIBRARIES
def test_a_download_that_was_cut_goes_on_in_the_same_run_if_it_has_an_etag(store: Store) -> None:
    variant = store.open_variant()
    for cut, etag in product(CUTS, ('"v1"', None)):
        store.cuts, store.etag = [cut], etag
        resumes = bool(cut and etag)
        assert store.fetch(variant) == FILE
        assert store.ranges == [None, f"bytes={cut}-" if resumes else None]
        assert store.stand_in.asked[2].headers.get("if-range") == (etag if resumes else None)
        assert store.names == ["out.csv"]


def test_a_download_that_was_cut_goes_on_in_a_new_run(store: Store) -> None:
    for cut in CUTS:
        store.target.write_bytes(b"old")
        assert store.break_off(cut).part == (str(store.part) if cut else None)
        assert store.target.read_bytes() == b"old"
        notes = [each.read_text() for each in store.target.parent.glob("*.json")]
        assert "s3cret" not in "".join(notes)
        assert store.fetch() == FILE
        assert store.ranges == [f"bytes={cut}-" if cut else None]
        assert store.names == ["out.csv"]


def test_a_saved_job_goes_on_with_its_download(store: Store) -> None:
    store.cuts = [9, 9]
    first = store.open_variant(retry=ONCE)
    job = first.call("start_export", *DAYS)
    with pytest.raises(errors.DownloadError):
        first.on(job, "download", store.target, check="none")
    again = store.open_variant()
    store.stand_in.asked.clear()
    later = type(job).from_json(again.client, job.to_json())
    again.on(later, "download", store.target, check="none")
    assert store.ranges == ["bytes=9-"]
    assert len(store.stand_in.asked) == 1


@pytest.mark.parametrize("honours_if_range", [True, False])
@pytest.mark.parametrize("new", [FILE.upper(), FILE.upper() + FILE[18:].upper(), SHORT])
def test_two_versions_are_never_glued(store: Store, new: bytes, *, honours_if_range: bool) -> None:
    """Also when the service overlooks If-Range, and the new version is as long as the old one."""
    store.break_off()
    store.content, store.etag, store.honours_if_range = new, '"v2"', honours_if_range
    assert store.fetch() == new


DIGEST = hashlib.sha256(FILE).hexdigest()


@pytest.mark.parametrize("digest", [None, DIGEST])
def test_a_part_of_another_export_is_gone_on_with_if_the_bytes_are_the_same(
    store: Store, digest: str | None
) -> None:
    """An ETag says something about one file only: another may have the same."""
    store.answer = {"sha256": digest}
    store.break_off()
    store.answer["export_id"] = "e2"
    store.content = FILE if digest else FILE.upper()
    assert store.fetch() == store.content
    assert store.ranges == ["bytes=12-" if digest else None]


@pytest.mark.parametrize("digests", [(None, DIGEST), (DIGEST, None)])
def test_a_part_is_gone_on_with_where_one_answer_has_no_checksum(
    store: Store, digests: tuple[str | None, str | None]
) -> None:
    store.answer = {"sha256": digests[0]}
    store.break_off()
    store.answer["sha256"] = digests[1]
    assert store.fetch() == FILE
    assert store.ranges == ["bytes=12-"]


def test_a_service_may_send_less_of_the_rest_than_was_asked_for(store: Store) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"url": "/f.csv"})
        headers = {"ETag": '"v1"'}
        start = re.fullmatch(r"bytes=(\d+)-", asked.headers.get("range", ""))
        if start is None:
            return Say(FILE, headers=headers, cut=3)
        first = int(start[1])
        last = min(first + 6, len(FILE) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(FILE)}"
        return Say(FILE[first : last + 1], status=206, headers=headers)

    store.stand_in.script = script
    assert store.fetch() == FILE


DATED = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Date": "Thu, 01 Jan 2026 00:00:01 GMT"}


@pytest.mark.parametrize(
    ("dates", "resumes"),
    [
        (DATED, True),
        ({**DATED, "Last-Modified": "Fri, 31 Dec 2100 00:00:00 GMT"}, False),
        ({**DATED, "Last-Modified": "soon"}, False),
        ({"Last-Modified": DATED["Last-Modified"]}, False),
    ],
)
def test_a_date_is_a_validator_when_it_is_older_than_the_answer(
    store: Store, dates: dict[str, str], *, resumes: bool
) -> None:
    store.etag, store.headers, store.honours_if_range = None, dates, False
    store.break_off()
    assert store.fetch() == FILE
    assert store.ranges == ["bytes=12-" if resumes else None]


def test_a_416_starts_afresh(store: Store) -> None:
    store.break_off()
    store.content, store.honours_if_range = SHORT, False
    assert store.fetch() == SHORT
    assert store.ranges == ["bytes=12-", None]


def test_a_gzip_file_goes_on_and_must_end(store: Store) -> None:
    """Of two members, cut between them: the rest is still missing, though gzip has ended."""
    first, second = gzip.compress(SHORT[:5]), gzip.compress(SHORT[5:])
    store.target = store.target.with_name("out.csv.gz")
    store.content = first + second
    store.break_off(len(first))
    assert gzip.decompress(store.fetch()) == SHORT
    store.content, store.etag = first + second[:-1], '"v2"'
    store.target = store.target.with_name("other.csv.gz")
    with pytest.raises(errors.DownloadError, match="the end is missing"):
        store.fetch(store.open_variant(retry=ONCE))
    assert store.names == ["out.csv.gz"]


ETAG = {"ETag": '"v1"'}


@pytest.mark.parametrize(
    ("range_of_rest", "rest", "then", "asked"),
    [
        # Of an unknown length.
        ("3-8/*", FILE[3:9], [], [None, "bytes=3-", None]),
        ("3-8/7", FILE[3:9], [], [None, "bytes=3-", None]),
        ("3-8/25", FILE[3:12], [], [None, "bytes=3-", None]),
        # A range that is refused then is no end, whatever length is named.
        (
            "3-8/25",
            FILE[3:9],
            [Say(status=416, headers={"Content-Range": "bytes */9"})],
            [None, "bytes=3-", "bytes=9-", None],
        ),
    ],
)
def test_a_rest_that_does_not_fit_its_range_is_fetched_afresh(
    store: Store, range_of_rest: str, rest: bytes, then: list[Say], asked: list[str | None]
) -> None:
    """A file of unknown length breaks off after three bytes."""
    store.stand_in.says(
        Say({"url": "/f.csv"}),
        Say(FILE, headers=ETAG, cut=3, chunked=True),
        Say(rest, status=206, headers={**ETAG, "Content-Range": f"bytes {range_of_rest}"}),
        *then,
        Say(SHORT[:7], headers={"ETag": '"v2"'}),
    )
    assert store.fetch() == SHORT[:7]
    assert store.ranges == asked


@pytest.mark.parametrize(
    ("after", "etag", "goes_on"),
    [("/f.csv?id=1", None, True), ("/f.csv?id=2", None, False), ("/f.csv?id=2", '"v1"', False)],
)
def test_without_an_id_a_file_is_known_by_its_whole_address(
    store: Store, after: str, etag: str | None, *, goes_on: bool
) -> None:
    store.etag, store.headers, store.honours_if_range = etag, DATED, False
    store.answer = {"export_id": None, "download_url": "/f.csv?id=1"}
    store.break_off()
    store.answer["download_url"] = after
    store.content = FILE if goes_on else FILE.upper()
    assert store.fetch() == store.content
    assert store.ranges == ["bytes=12-" if goes_on else None]


@pytest.mark.parametrize(
    ("days", "options", "partner"),
    [
        (("2026-01-01", "2026-01-30"), {}, "acme"),
        (DAYS, {"format": "jsonl"}, "acme"),
        (DAYS, {"compression": "gzip"}, "acme"),
        (DAYS, {}, "other"),
    ],
)
def test_a_part_of_another_order_is_not_gone_on_with(
    store: Store, days: tuple[str, str], options: dict[str, str], partner: str
) -> None:
    """Though the service gives every file the same address and ETag."""
    store.target = store.target.with_name("out")
    store.answer = {"export_id": None}
    store.break_off()
    store.content = b'{"a": 1}\n' if options.get("format") == "jsonl" else FILE.upper()
    if "compression" in options:
        store.content = gzip.compress(store.content)
    assert store.fetch(store.open_variant(partner=partner), *days, **options) == store.content
    assert store.ranges == [None]
