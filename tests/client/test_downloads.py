"""Downloads of exported files: resumed, verified, unpacked, named; both variants."""

import gzip
import hashlib
import os
import threading
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.client.notes import Notes
from tests.client.one_export import CSV, FILE, OneExport, parquet
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import BOTH_LIBRARIES

from adanalytics_client import QuotaPolicy, RetryPolicy, errors
from adanalytics_client.observers import RetryPlanned, WaitStarted


def test_a_file_that_was_replaced_meanwhile_is_fetched_afresh(export: OneExport) -> None:
    """By one of the same length, whose rest would fit."""
    new = {**CSV, "ETag": '"v2"'}
    rest = {**new, "Content-Range": f"bytes 100-{len(FILE) - 1}/{len(FILE)}"}
    export.offer(
        Say(b"x" * len(FILE), headers={**CSV, "ETag": '"v1"'}, cut=100),
        Say(FILE[100:], status=206, headers=rest),
        Say(FILE, headers=new),
    )
    assert export.fetch() == FILE


@pytest.mark.parametrize(
    "name", ["x" * 251 + ".csv", "x" * 239, "€" * 85], ids=["longest", "long", "euros"]
)
def test_a_file_with_the_longest_name_arrives(export: OneExport, name: str) -> None:
    """Also in two runs, the second of which finds what the first one left."""
    whole = {**CSV, "ETag": '"v1"'}
    rest = {**whole, "Content-Range": f"bytes 500-{len(FILE) - 1}/{len(FILE)}"}
    export.offer(
        Say(FILE, headers=whole, cut=500),
        Say(FILE[500:], status=206, headers=rest, cut=0),
        Say(FILE[500:], status=206, headers=rest),
    )
    first = export.open(retry=RetryPolicy(attempts=1))
    error = export.fails(errors.DownloadError, name=name, by=first)
    assert error.part is not None
    assert Path(error.part).read_bytes() == FILE[:500]
    assert export.fetch(name, by=export.open()) == FILE
    assert export.asked[-1].headers["range"] == "bytes=500-"
    assert [*export.files] == [name]


def test_a_download_that_never_gets_further_ends_and_leaves_the_old_file(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"download_url": "/f.csv?sig=secret"})],
        f_csv=[Say(FILE, headers=CSV, cut=100)],
    )
    (export.folder / "out.csv").write_text("old")
    error = export.fails(errors.DownloadError, "after 100 of 10005 bytes")
    assert "secret" not in str(error)
    assert export.files == {"out.csv": b"old"}
    assert len(export.asked) == 5


def test_the_attempts_of_a_download_are_counted_as_they_were_sent(export: OneExport) -> None:
    """A new byte resets the waits; the number of the attempt counts on."""
    whole = {**CSV, "ETag": '"v1"'}
    gone = Say({"error": "busy"}, status=503)
    export.offer(gone, gone, Say(FILE, headers=whole, cut=100), gone)
    notes = Notes()
    error = export.fails(errors.DownloadError, by=export.open(observer=notes))
    assert isinstance(error.__cause__, errors.ServerError)
    assert error.attempts == len(export.asked) - 1 == 6
    assert [info.attempt for info in notes.of(RetryPlanned)] == [1, 2, 3, 4, 5]
    assert export.clock.sleeps == [0.5, 1.0, 0.5, 0.5, 1.0]


def test_a_gzip_file_without_its_end_is_found(export: OneExport) -> None:
    packed = gzip.compress(FILE[:999]) + gzip.compress(FILE[999:])
    export.says(bulk_export=[Say({"download_url": "/f.gz"})], f_gz=[Say(packed[:-3]), Say(packed)])
    assert export.fetch("out.csv.gz") == packed


def test_a_content_encoding_is_undone(export: OneExport) -> None:
    packed, headers = gzip.compress(FILE), {"Content-Encoding": "gzip", **CSV}
    export.offer(Say(packed[:-3], headers=headers), Say(packed, headers=headers))
    assert export.fetch() == FILE
    assert export.asked[1].headers["accept-encoding"] == "identity"


@BOTH_LIBRARIES
def test_a_file_on_another_origin_never_gets_the_credential(
    export: OneExport, other_origin: StandIn
) -> None:
    export.stand_in.says(Say({"download_url": f"{other_origin.url}/d/../f{{1}}.csv?a=%2f&b='|<'"}))
    other_origin.says(Say(FILE, headers=CSV))
    assert export.fetch() == FILE
    (asked,) = other_origin.asked
    assert asked.target == "/d/../f{1}.csv?a=%2f&b='|<'"
    assert not {"authorization", "cookie"} & asked.headers.keys()


def test_a_401_elsewhere_is_not_answered_with_the_credential(
    export: OneExport, other_origin: StandIn
) -> None:
    export.stand_in.says(Say({"download_url": f"{other_origin.url}/f.csv"}))
    other_origin.says(Say(status=401))
    export.fails(errors.AuthenticationError)
    assert "authorization" not in other_origin.asked[0].headers
    assert len(other_origin.asked) == 1


def test_a_file_at_home_gets_the_credential_after_a_401(export: OneExport) -> None:
    export.offer(Say(status=401), Say(FILE, headers=CSV))
    assert export.fetch() == FILE
    assert ["authorization" in asked.headers for asked in export.asked] == [True, False, True]


@BOTH_LIBRARIES
def test_a_redirect_at_home_is_followed_without_the_credential(export: OneExport) -> None:
    def script(asked: Asked) -> Say:
        with_it = "authorization" in asked.headers
        if asked.method == "POST":
            return Say({"download_url": "/f.csv"})
        if asked.path == "/f.csv":
            return Say(status=302, headers={"Location": "/g.csv"}) if with_it else Say(status=401)
        return Say(status=400) if with_it else Say(FILE, headers=CSV)

    export.stand_in.script = script
    assert export.fetch() == FILE


def test_an_empty_file_is_one_of_no_events_only_where_a_number_says_so(export: OneExport) -> None:
    (export.folder / "out.csv").write_text("old")
    for rows in (20, None, 0):
        export.says(
            bulk_export=[Say({"download_url": "/f.csv", "row_count": rows})],
            f_csv=[Say(b"", headers=CSV)],
        )
        if rows == 0:
            assert export.fetch() == b""
            continue
        problem = "it is empty, and" if rows is None else "has 0 events, but 20 were announced"
        # Nor does check="none", which is passed here.
        assert "none" not in export.fails(errors.DownloadError, problem).remedy
        assert [each.read_text() for each in export.folder.iterdir()] == ["old"]


@pytest.mark.parametrize("status", [204, 302])
def test_an_answer_without_a_file_is_asked_for_again(export: OneExport, status: int) -> None:
    """A redirect without an address is none, too."""
    export.offer(Say(status=status), Say(FILE, headers=CSV))
    assert export.fetch() == FILE
    export.offer(Say(status=status))
    export.fails(errors.DownloadError, rf"\(status {status}\), not the csv file")


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/octet-stream"])
@pytest.mark.parametrize("pages", [1, 2])
def test_an_error_in_place_of_a_file_is_asked_for_again_once(
    export: OneExport, kind: str, pages: int
) -> None:
    """Not every error has the status or the media type of one; a file of another form stays one."""
    error = Say(b"<Error><Code>SlowDown</Code></Error>", headers={"Content-Type": kind})
    export.offer(*[error] * pages, Say(FILE, headers=CSV))
    if pages == 1:
        assert export.fetch() == FILE
    else:
        export.fails(errors.DownloadError, "its first line is not a header row")
    assert [asked.path for asked in export.asked[1:]] == ["/f.csv"] * 2


def test_a_file_with_the_same_fault_twice_is_not_fetched_again(export: OneExport) -> None:
    """Such as one whose quotes have a backslash, as in MySQL, and not a second quote."""
    export.offer(Say(b'a,b\n"x\\", y\\"",2\n', headers=CSV))
    error = export.fails(
        errors.DownloadError, r"RFC 4180 \(record 1 has 3 fields, but the header has 2\)"
    )
    assert error.remedy == "It came so twice: report it to the service, or pull pages."
    assert [asked.path for asked in export.asked[1:]] == ["/f.csv"] * 2


@pytest.mark.parametrize(
    ("file", "name", "problem"),
    [
        (FILE, "out.parquet", "is csv, not parquet"),
        (FILE, "out.jsonl", "is csv, not jsonl"),
        (b'{"event_date":"2026-01-15"}\n', "out.csv", "is jsonl, not csv"),
        (parquet(), "out.csv", "is parquet, not csv"),
    ],
)
def test_a_file_of_another_format_is_named_and_fetched_once(
    export: OneExport, file: bytes, name: str, problem: str
) -> None:
    """The service ignores the format, and would send the same again."""
    export.offer(Say(file, headers={"Content-Type": "application/octet-stream"}))
    error = export.fails(errors.DownloadError, f"The file {problem}.", to=export.folder / name)
    assert error.remedy == f"Order {problem.split()[1][:-1]}, or pull pages."
    assert [asked.path for asked in export.asked[1:]] == ["/f.csv"]


def test_a_message_in_place_of_a_file_is_no_format(export: OneExport) -> None:
    export.offer(Say(b'{"message":"try later"}\n'))
    error = export.fails(errors.DownloadError, r"\w", to=export.folder / "out.csv")
    assert "Order jsonl" not in error.remedy


def test_an_encoding_that_cannot_be_undone_says_what_to_do(export: OneExport) -> None:
    export.offer(Say(FILE, headers={"Content-Encoding": "br", **CSV}))
    export.fails(errors.DownloadError, r"'br', which was not requested\. Configure the")


def test_several_files_all_arrive_or_none(export: OneExport) -> None:
    files = [{"url": "/a.csv", "name": "../a.csv"}, {"url": "/b.csv"}]
    export.says(
        bulk_export=[Say({"files": files})],
        a_csv=[Say(FILE, headers=CSV)],
        b_csv=[Say(status=410), Say(FILE, headers=CSV)],
    )
    job = export.order()
    with pytest.raises(errors.ConfigurationError, match=r"2 files\. Name a folder"):
        export.download(job)
    with pytest.raises(errors.ExportExpired):
        export.download(job, "")
    assert export.files == {}
    export.download(job, "")
    assert sorted(export.files) == ["a.csv", "b.csv"]


def test_a_status_that_is_a_bad_request_is_no_refusal_of_the_credential(export: OneExport) -> None:
    """A signed address refuses a credential with 400, so it is polled once without."""
    export.says(
        bulk_export=[Say({"status": "queued", "status_url": "/x1"})],
        x1=[Say({"error": "The export is damaged"}, 400), Say({"error": "Unauthorized"}, 401)],
    )
    job = export.order()
    with pytest.raises(errors.InvalidRequest, match="The export is damaged"):
        export.download(job)


def test_an_impossible_path_is_an_error_before_anything_is_sent(export: OneExport) -> None:
    export.fails(errors.ConfigurationError, "does not exist", name="nowhere/out.csv")
    os.mkfifo(export.folder / "pipe")
    export.fails(errors.ConfigurationError, "is a device or a pipe", name="pipe")
    assert export.asked == []


def test_two_downloads_to_one_path_do_not_mix(export: OneExport) -> None:
    import fcntl

    export.offer(Say(FILE, headers=CSV))
    with (export.folder / "out.csv.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        export.fails(errors.DownloadError, "Another process")


def test_a_file_that_outgrows_what_was_announced_is_not_read_on(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"download_url": "/f.csv", "size_bytes": 1000})],
        f_csv=[Say(bytes(8_000_000), headers=CSV, chunked=True)],
    )
    export.fails(errors.DownloadError, "more than the 1000 bytes")
    assert export.files == {}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"download_url": "/f.csv"}, 404),
        ({"download_url": "/f.csv?sig=1"}, 403),
        ({"status": "done", "download_url": "/f.csv"}, 404),
        ({"download_url": "/f.csv"}, 202),
    ],
)
def test_a_file_that_is_not_there_yet_is_waited_for(
    export: OneExport, answer: dict[str, Any], status: int
) -> None:
    """As long as for an export, and not only as often as a failure is repeated."""
    notes = Notes()
    # A refusal may be meant for strangers, so the first is followed by one with the credential.
    refusals = 5 if status == 202 else 6
    export.says(
        bulk_export=[Say(answer)], f_csv=[Say(status=status)] * refusals + [Say(FILE, headers=CSV)]
    )
    export.variant = export.open(observer=notes, retry=RetryPolicy(attempts=2))
    assert export.fetch() == FILE
    assert export.clock.sleeps == [1.0, 1.5, 2.25, 3.375, 5.0625]
    assert [info.reason for info in notes.of(WaitStarted)] == ["the file is not ready yet"] * 5


@pytest.mark.parametrize(
    ("status", "kind"), [(404, errors.ExportExpired), (202, errors.DownloadError)]
)
def test_a_file_that_never_appears_is_waited_for_until_the_timeout(
    export: OneExport, status: int, kind: type[errors.AdAnalyticsError]
) -> None:
    export.offer(Say(status=status))
    export.variant = export.open(retry=RetryPolicy(attempts=2))
    export.fails(kind, timeout=60)
    assert sum(export.clock.sleeps) == 60


@pytest.mark.parametrize(
    ("answer", "status", "first"),
    [
        ({"status": "done", "download_url": "/f.csv?sig=1"}, 403, {"status": 403}),
        ({"download_url": "/f.csv"}, 403, {"status": 403}),
        ({"download_url": "/f.csv"}, 410, {"status": 410}),
        ({"download_url": "/f.csv"}, 404, {"body": FILE, "headers": {"ETag": '"1"'}, "cut": 9}),
    ],
)
def test_a_file_that_was_there_or_is_refused_has_expired_at_once(
    export: OneExport, answer: dict[str, Any], status: int, first: dict[str, Any]
) -> None:
    export.says(bulk_export=[Say(answer)], f_csv=[Say(**first), Say(status=status)])
    export.fails(errors.ExportExpired, f"no longer offered \\({status}\\)")
    assert len(export.asked) <= 4


def test_a_file_that_an_old_job_does_not_find_has_expired_at_once(export: OneExport) -> None:
    export.offer(Say(status=404))
    job = export.order()
    export.clock.now += 86_400
    with pytest.raises(errors.ExportExpired):
        export.download(job)
    assert export.clock.sleeps == []


ERROR = b'{"error": "gone"}'


@pytest.mark.parametrize(
    ("form", "body", "kind", "expected"),
    [
        ("csv", ERROR, "application/json", r"application/json \(gone\)"),
        ("jsonl", ERROR, "application/problem+json", r"problem\+json \(gone\)"),
        ("parquet", ERROR, "application/json", r"application/json \(gone\)"),
        ("csv", b"<html><title>Bad gateway</title></html>", "text/html", "text/html"),
        ("csv", ERROR, "text/csv", "not begin"),
        ("csv", b"<?xml version='1.0'?><Error/>", "application/xml", "not begin"),
        ("jsonl", b"Service Unavailable", "text/plain", "not begin"),
        ("parquet", b"event_id,revenue", "", "not begin"),
        ("csv", gzip.compress(ERROR, mtime=0), "application/gzip", "not begin"),
        ("json", b'[{"a": 1}', "text/plain", "not one JSON document"),
    ],
)
def test_an_answer_in_place_of_a_file_is_an_error_that_names_it(
    export: OneExport, form: str, body: bytes, kind: str, expected: str
) -> None:
    export.says(
        bulk_export=[Say({"status": "done", "download_url": "/f"})],
        f=[Say(body, headers={"Content-Type": kind, "ETag": '"1"'})],
    )
    (export.folder / "out").write_text("old")
    error = export.fails(errors.DownloadError, expected, name="out", format=form)
    assert form in str(error)
    assert error.part is None
    assert export.files == {"out": b"old"}


@pytest.mark.parametrize(
    ("form", "body", "kind"),
    [
        ("csv", b"event_id,event_type\n", "text/plain"),
        ("csv", b",event_id,event_type\n0,a,click\n", "text/csv"),
        ("csv", '\ufeff"status";"error"\n'.encode(), ""),
        ("csv", FILE, "application/octet-stream"),
        ("jsonl", b'{"status": "filled", "error": "x"}', "application/x-ndjson"),
        ("jsonl", b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}', ""),
        ("parquet", parquet(), ""),
        ("xml", b"<Error/>", "application/xml"),
    ],
)
def test_a_file_is_not_refused_for_its_looks(
    export: OneExport, form: str, body: bytes, kind: str
) -> None:
    export.says(bulk_export=[Say({"url": "/f"})], f=[Say(body, headers={"Content-Type": kind})])
    assert export.fetch("out", format=form) == body


@pytest.mark.parametrize("status", [202, 503])
def test_a_wait_beyond_the_timeout_does_not_start(export: OneExport, status: int) -> None:
    export.offer(Say(status=status, headers={"Retry-After": "1000"}))
    export.fails((errors.DownloadError, errors.ServerError), timeout=60)
    assert export.clock.sleeps == []


@pytest.mark.parametrize("quota", [QuotaPolicy(on_limit="raise"), QuotaPolicy(max_wait=60)])
def test_a_limit_of_downloads_is_raised_where_waiting_is_not_wanted(
    export: OneExport, quota: QuotaPolicy
) -> None:
    export.offer(Say(status=429, headers={"Retry-After": "1000"}))
    export.fails(errors.RateLimited, by=export.open(quota=quota))
    assert export.clock.sleeps == []


def test_a_limit_of_downloads_is_waited_for_and_announced(export: OneExport) -> None:
    notes = Notes()
    export.offer(Say(status=429, headers={"Retry-After": "1000"}), Say(FILE, headers=CSV))
    export.fetch(by=export.open(observer=notes))
    assert export.clock.sleeps == [1000.0]
    assert [info.reason for info in notes.of(WaitStarted)] == ["the service asked to slow down"]


KEEPING = {**CSV, "ETag": '"v1"'}


def _breaks_off(stand_in: StandIn, then: dict[str, Any], headers: dict[str, str]) -> None:
    stand_in.says(
        bulk_export=[Say({"id": "e1", "url": "/f.csv?sig=s3cret"})],
        f_csv=[Say(FILE, headers=headers, cut=100), Say(**then)],
    )


ENDS: list[tuple[dict[str, Any], type[errors.AdAnalyticsError], str]] = [
    ({"status": 503, "body": {"error": "busy"}}, errors.ServerError, "failed (503: busy)"),
    ({"status": 429, "headers": {"Retry-After": "9999"}}, errors.RateLimited, "limits the rate"),
]


@pytest.mark.parametrize(("then", "kind", "expected"), ENDS)
def test_the_error_names_the_kept_part_whatever_ended_the_download(
    export: OneExport, then: dict[str, Any], kind: type[errors.AdAnalyticsError], expected: str
) -> None:
    _breaks_off(export.stand_in, then, KEEPING)
    part = export.folder / "out.csv.part"
    error = export.fails(errors.DownloadError, by=export.open())
    assert (error.part, part.stat().st_size) == (str(part), 100)
    assert isinstance(error.__cause__, kind)
    assert "broke off after 100 bytes" in str(error)
    assert expected in str(error)
    assert f"kept in {part}, and the same call resumes from there" in str(error)
    assert "s3cret" not in str(error)
    # Nothing arrives this time, and what is there stays.
    error = export.fails(errors.DownloadError, by=export.open())
    assert (error.part, part.stat().st_size) == (str(part), 100)


@pytest.mark.parametrize("ending", ["hangs", "is gone"])
def test_a_service_that_does_not_answer_any_more(
    export: OneExport, other_origin: StandIn, ending: str
) -> None:
    export.stand_in.says(Say({"id": "e1", "url": f"{other_origin.url}/f.csv"}))
    gate = threading.Event()
    waits = [Say(FILE, headers=KEEPING, cut=100)]

    def script(_: Asked) -> Say:
        if waits:
            return waits.pop()
        return Say(FILE, gate=gate) if ending == "hangs" else Say(hang_up=True)

    other_origin.script = script
    try:
        error = export.fails(errors.DownloadError, by=export.open(timeout=0.2))
    finally:
        gate.set()
    assert error.part == str(export.folder / "out.csv.part")


def test_an_error_that_the_caller_asked_for_stays_itself(export: OneExport) -> None:
    _breaks_off(export.stand_in, ENDS[1][0], KEEPING)
    error = export.fails(errors.RateLimited, by=export.open(quota=QuotaPolicy(on_limit="raise")))
    assert error.retry_after == 9999
    assert (export.folder / "out.csv.part").stat().st_size == 100


@pytest.mark.parametrize(("then", "kind", "expected"), ENDS)
def test_where_nothing_is_kept_the_error_is_the_services(
    export: OneExport, then: dict[str, Any], kind: type[errors.AdAnalyticsError], expected: str
) -> None:
    _breaks_off(export.stand_in, then, {"Content-Type": "text/csv"})
    error = export.fails(kind)
    assert expected in str(error)
    assert export.files == {}


def test_a_file_that_is_whole_is_kept_when_the_next_one_fails(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"id": "e1", "files": ["/a.csv", "/b.csv"]})],
        a_csv=[Say(FILE, headers=KEEPING)],
        b_csv=[Say(status=503)],
    )
    with pytest.raises(errors.DownloadError, match="after 10005 bytes") as caught:
        export.variant.call("export", "2026-01-01", to=export.folder, check="none")
    assert caught.value.part == str(export.folder / "a.csv.part")


PACKED = gzip.compress(FILE, mtime=0)
TWICE = gzip.compress(PACKED, mtime=0)
MIB = 1024 * 1024
ENCODED = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}


def _announced(content: bytes) -> dict[str, Any]:
    return {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("announced", [None, FILE, PACKED])
@pytest.mark.parametrize(
    ("name", "compression", "arrived"),
    [
        ("out.csv", None, FILE),
        ("out.csv.gz", None, PACKED),
        ("out.csv.GZ", None, PACKED),
        ("out", "gzip", PACKED),
    ],
)
def test_a_file_that_is_stored_packed_arrives_as_it_was_ordered(
    export: OneExport, announced: bytes | None, name: str, compression: str | None, arrived: bytes
) -> None:
    """What is announced may be about the stored bytes or about those in them."""
    said = _announced(announced) if announced is not None else {}
    export.offer(Say(PACKED, headers=ENCODED, chunked=True), **said)
    assert export.fetch(name, compression=compression) == arrived


@pytest.mark.parametrize("announced", [{}, _announced(PACKED), _announced(TWICE)])
def test_a_packed_file_that_was_packed_again_on_its_way(
    export: OneExport, announced: dict[str, Any]
) -> None:
    export.offer(Say(TWICE, headers=ENCODED), **announced)
    assert export.fetch("out.csv.gz") == PACKED


@pytest.mark.parametrize("content", [b"a,b", b"a,b\n"])
def test_a_packed_file_of_next_to_nothing_stays_packed(export: OneExport, content: bytes) -> None:
    packed = gzip.compress(content, mtime=0)
    export.offer(Say(packed, headers=ENCODED))
    assert export.fetch("out.csv.gz") == packed


@pytest.mark.parametrize(
    ("sent", "announced", "kind"),
    [
        (PACKED, {"sha256": "0" * 64}, errors.ChecksumMismatch),
        (PACKED, {"size_bytes": 5}, errors.DownloadError),
        (PACKED, {"size_bytes": len(FILE) + 5}, errors.DownloadError),
        (PACKED[:-1], {}, errors.DownloadError),
        (PACKED[:-1], {"size_bytes": len(FILE)}, errors.DownloadError),
        (b"not packed", {}, errors.DownloadError),
    ],
)
def test_a_body_that_is_not_the_announced_file_is_refused(
    export: OneExport, sent: bytes, announced: dict[str, Any], kind: type[errors.DownloadError]
) -> None:
    export.offer(Say(sent, headers=ENCODED), **announced)
    export.fails(kind, name="out.csv.gz")
    assert export.files == {}


@pytest.mark.parametrize("headers", [{}, ENCODED])
def test_zeros_behind_the_last_member_are_no_damage(
    export: OneExport, headers: dict[str, str]
) -> None:
    members = gzip.compress(FILE[:999]), gzip.compress(FILE[999:])
    padded = members[0] + bytes(512) + members[1] + bytes(100_000)
    export.says(bulk_export=[Say({"download_url": "/f.gz"})], f_gz=[Say(padded, headers=headers)])
    assert export.fetch("out.csv.gz") == padded
    assert export.fetch() == FILE


def test_a_rest_in_another_encoding_is_no_rest(export: OneExport) -> None:
    """Though a service may forget that each encoding needs an ETag of its own."""
    headers = {"ETag": '"v1"'}
    rest = {**headers, "Content-Encoding": "gzip", "Content-Range": "bytes 12-20/*"}
    export.stand_in.says(
        Say({"download_url": "/f.csv"}),
        Say(FILE, headers=headers, chunked=True, cut=12),
        Say(PACKED[12:21], status=206, headers=rest),
        Say(FILE, headers=headers),
    )
    assert export.fetch() == FILE
    assert export.asked[-1].headers.get("range") is None


def _repetitive(size: int) -> bytes:
    packer, text = zlib.compressobj(9, wbits=31), (b"1," + b"2" * 1021 + b"\n") * 1024
    header = packer.compress(b"a,b\n")
    return header + b"".join(packer.compress(text) for _ in range(size // MIB)) + packer.flush()


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_a_file_that_is_packed_a_thousandfold_is_never_in_memory(
    export: OneExport, name: str
) -> None:
    """Neither what comes so, nor what is a packed file inside."""
    size = 48 * MIB
    packed = _repetitive(size)
    sent = packed if name == "out.csv" else gzip.compress(packed, mtime=0)
    export.offer(Say(sent, headers=ENCODED))
    tracemalloc.start()
    try:
        export.variant.call("export", "2026-01-01", to=export.folder / name, check="none")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (export.folder / name).stat().st_size == (4 + size if name == "out.csv" else len(packed))
    assert peak < 16 * MIB


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["a", "a.part"], ["a", "2-a.part"]),
        (["a.part", "a"], ["a.part", "2-a"]),
        (["a.part.json", "a"], ["a.part.json", "2-a"]),
        (["a", "3-a", "a"], ["a", "3-a", "3-3-a"]),
        (["a.csv", "A.csv"], ["a.csv", "2-A.csv"]),
        (["../../x", "..", "/", "a\0b", "a\nb", "\ud800"], ["x", *(f"part-{n}" for n in "23456")]),
        (["é" * 150 + ".csv", "a"], ["é" * 125 + ".csv", "a"]),
        (["é" * 150 + ".csv.xz"] * 2, ["é" * 124 + ".csv.xz", "2-" + "é" * 123 + ".csv.xz"]),
        (
            ["x" * 200 + "." + "y" * 200] * 2,
            ["x" * 200 + "." + "y" * 54, "2-" + "x" * 200 + "." + "y" * 52],
        ),
    ],
)
def test_each_file_arrives_under_a_name_of_its_own(
    export: OneExport, given: list[str], made: list[str]
) -> None:
    files = [{"url": f"/{number}", "name": name} for number, name in enumerate(given)]

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"status": "done", "files": files})
        return Say(f"path,name\n{asked.path},\n".encode(), headers={"Content-Type": "text/csv"})

    export.stand_in.script = script
    job = export.order()
    export.download(job, "")
    content = {each.name: each.read_text() for each in export.folder.iterdir()}
    assert content == {name: f"path,name\n/{number},\n" for number, name in enumerate(made)}
