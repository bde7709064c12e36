"""Downloads that go on where they broke off: in the same run, and in one that starts later."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store, break_off, ranges
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import errors

# Shorter than the bytes that `break_off` leaves.
SHORT = b"a,b\r\n1,2\r\n"
# In the header, in a value, around each line end, and before the last byte.
CUTS = (0, 1, 16, 17, 18, 20, len(FILE) - 2, len(FILE) - 1)


@pytest.fixture
def store(stand_in: StandIn) -> Store:
    made = Store()
    stand_in.script = made
    return made


def test_a_download_that_was_cut_goes_on_in_the_same_run(
    variant: Variant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    for cut in CUTS:
        stand_in.asked.clear()
        store.cuts = [cut]
        target = tmp_path / f"{cut}.csv"
        variant.call("export", *DAYS, to=target, check="none")
        assert target.read_bytes() == FILE
        assert ranges(stand_in) == [None, f"bytes={cut}-" if cut else None]
    assert len(list(tmp_path.iterdir())) == len(CUTS)


def test_a_download_that_was_cut_goes_on_in_a_new_run(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    for cut in CUTS:
        target.write_bytes(b"old")
        error = break_off(open_variant(retry=ONCE), store, target, cut)
        assert error.part == (f"{target}.part" if cut else None)
        assert target.read_bytes() == b"old"
        assert "s3cret" not in "".join(
            each.read_text() for each in tmp_path.iterdir() if each.suffix == ".json"
        )
        stand_in.asked.clear()
        open_variant().call("export", *DAYS, to=target, check="none")
        assert ranges(stand_in) == [f"bytes={cut}-" if cut else None]
        assert target.read_bytes() == FILE
        assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_saved_job_goes_on_with_its_download(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.cuts = [9, 9]
    first = open_variant(retry=ONCE)
    job = first.call("start_export", *DAYS)
    with pytest.raises(errors.DownloadError):
        first.on(job, "download", tmp_path / "out.csv", check="none")
    again = open_variant()
    stand_in.asked.clear()
    later = type(job).from_json(again.client, job.to_json())
    again.on(later, "download", tmp_path / "out.csv", check="none")
    assert ranges(stand_in) == ["bytes=9-"]
    assert len(stand_in.asked) == 1


@pytest.mark.parametrize("honours_if_range", [True, False])
@pytest.mark.parametrize("new", [FILE.upper(), FILE.upper() + FILE[18:].upper(), SHORT])
def test_two_versions_are_never_glued(
    open_variant: OpenVariant, store: Store, tmp_path: Path, new: bytes, *, honours_if_range: bool
) -> None:
    """Also when the service overlooks If-Range, and the new version is as long as the old one."""
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    store.content, store.etag, store.honours_if_range = new, '"v2"', honours_if_range
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == new


def test_a_part_of_another_export_is_not_gone_on_with(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    """An ETag says something about one file only: another may have the same."""
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    store.answer, store.content = {"export_id": "e2"}, FILE.upper()
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE.upper()
    assert ranges(stand_in) == [None]


def test_the_same_bytes_under_another_name_are_gone_on_with(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    store.answer = {"sha256": hashlib.sha256(FILE).hexdigest()}
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    store.answer["export_id"] = "e2"
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert ranges(stand_in) == ["bytes=12-"]


def test_a_service_may_send_less_of_the_rest_than_was_asked_for(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
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

    stand_in.script = script
    variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE


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
    open_variant: OpenVariant,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    dates: dict[str, str],
    *,
    resumes: bool,
) -> None:
    store.etag, store.headers, store.honours_if_range = None, dates, False
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert ranges(stand_in) == ["bytes=12-" if resumes else None]


def test_a_416_starts_afresh(
    open_variant: OpenVariant, store: Store, stand_in: StandIn, tmp_path: Path
) -> None:
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    store.content, store.honours_if_range = SHORT, False
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == SHORT
    assert ranges(stand_in) == ["bytes=12-", None]


def test_a_gzip_file_goes_on_and_must_end(
    open_variant: OpenVariant, store: Store, tmp_path: Path
) -> None:
    """Of two members, cut between them: the rest is still missing, though gzip has ended."""
    first, second = gzip.compress(SHORT[:5]), gzip.compress(SHORT[5:])
    store.content = first + second
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv.gz", len(first))
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv.gz", check="none")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == SHORT
    store.content, store.etag = first + second[:-1], '"v2"'
    other = tmp_path / "other.csv.gz"
    with pytest.raises(errors.DownloadError, match="the end is missing"):
        open_variant(retry=ONCE).call("export", *DAYS, to=other, check="none")
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv.gz"]


ETAG = {"ETag": '"v1"'}


def sent_three_bytes_of(stand_in: StandIn, *then: Say) -> None:
    """A file of unknown length breaks off, and this is what asking for the rest brings."""
    cut = Say(FILE, headers=ETAG, cut=3, chunked=True)
    stand_in.says(Say({"url": "/f.csv"}), cut, *then)


def test_a_refused_range_of_another_length_is_no_end(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    rest = Say(FILE[3:9], status=206, headers={**ETAG, "Content-Range": "bytes 3-8/*"})
    refused = Say(status=416, headers={"Content-Range": "bytes */7"})
    sent_three_bytes_of(stand_in, rest, refused, Say(b"a,b\r\n1,", headers={"ETag": '"v2"'}))
    variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == b"a,b\r\n1,"


def test_a_part_that_is_longer_than_its_range_is_not_kept(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    longer = Say(FILE[3:12], status=206, headers={**ETAG, "Content-Range": "bytes 3-8/*"})
    sent_three_bytes_of(stand_in, longer, Say(FILE, headers=ETAG))
    variant.call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert ranges(stand_in) == [None, "bytes=3-", None]


@pytest.mark.parametrize(
    ("before", "after", "etag", "goes_on"),
    [
        ("/f.csv?id=1", "/f.csv?id=1", None, True),
        ("/f.csv?id=1", "/f.csv?id=2", None, False),
        ("/f.csv?id=1", "/f.csv?id=2", '"v1"', False),
    ],
)
def test_without_an_id_a_file_is_known_by_its_whole_address(
    open_variant: OpenVariant,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    before: str,
    after: str,
    etag: str | None,
    *,
    goes_on: bool,
) -> None:
    store.etag, store.headers, store.honours_if_range = etag, DATED, False
    store.answer = {"export_id": None, "download_url": before}
    break_off(open_variant(retry=ONCE), store, tmp_path / "out.csv")
    store.answer["download_url"] = after
    store.content = FILE if goes_on else FILE.upper()
    stand_in.asked.clear()
    open_variant().call("export", *DAYS, to=tmp_path / "out.csv", check="none")
    assert (tmp_path / "out.csv").read_bytes() == store.content
    assert ranges(stand_in) == ["bytes=12-" if goes_on else None]


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
    open_variant: OpenVariant,
    store: Store,
    stand_in: StandIn,
    tmp_path: Path,
    days: tuple[str, str],
    options: dict[str, str],
    partner: str,
) -> None:
    """Though the service gives every file the same address and ETag."""
    target = tmp_path / "out"
    store.answer = {"export_id": None}
    break_off(open_variant(retry=ONCE), store, target)
    store.content = b'{"a": 1}\n' if options.get("format") == "jsonl" else FILE.upper()
    if "compression" in options:
        store.content = gzip.compress(store.content)
    stand_in.asked.clear()
    open_variant(partner=partner).call("export", *days, to=target, check="none", **options)
    assert target.read_bytes() == store.content
    assert ranges(stand_in) == [None]
