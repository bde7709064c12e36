"""What the client orders, and how it reads the answers about an export; both variants."""

import gzip
import json
import logging
from codecs import BOM_UTF8
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.client.notes import Notes
from tests.client.one_export import CSV, FILE, PATH, OneExport, parquet
from tests.client.stand_in import Say
from tests.client.variants import Variant

from adanalytics_client import errors
from adanalytics_client.observers import PartialAnswer

NAMES = [
    *("download_url", "file_url", "export_url", "result_url", "report_url", "signed_url"),
    *("download_link", "location", "link", "href", "url"),
]


def addresses(job: Any) -> list[str]:
    return [each.url.rpartition("/")[2] for each in job.last_status.files]


@pytest.mark.parametrize(
    "body",
    [
        *({name: "/f.csv"} for name in NAMES),
        {"data": {"fileUrl": "/f.csv", "url": "/wrong"}},
        {"status": "success", "data": {"state": "FINISHED", "url": "/f.csv"}},
        {"status": "Ready", "location": "/f.csv"},
        {"files": [{"url": "/f.csv", "name": "x.csv"}]},
        {"urls": ["/f.csv"]},
        {"link": "/f.csv", "export_id": 7},
        ["/f.csv"],
        [{"href": "/f.csv"}],
        {"url": "mailto:a@b.example", "files": [{"link": "http://[", "url": "/f.csv"}]},
        {"download_url": "/f.csv", "files": [], "mirrors": ["/g.csv"]},
        {"download_url": "/f.csv", "files": [{"url": "/f.csv"}]},
    ],
)
def test_the_first_answer_may_name_the_file(export: OneExport, body: Any) -> None:
    export.says(bulk_export=[Say(body)], f_csv=[Say(FILE, headers=CSV)])
    assert export.fetch() == FILE
    assert [asked.path for asked in export.asked] == [PATH, "/f.csv"]
    assert json.loads(export.asked[0].body) == {
        "start_date": "2026-01-01",
        "end_date": "2026-01-31",
        "format": "csv",
    }
    assert [*export.files] == ["out.csv"]


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_an_answer_may_begin_with_a_byte_order_mark(
    export: OneExport, kind: str, status: int
) -> None:
    """As a page of events may."""

    def says(answer: Any, status: int = 200) -> Say:
        return Say(BOM_UTF8 + json.dumps(answer).encode(), status, {"Content-Type": kind})

    export.says(
        bulk_export=[says({"status": "queued", "status_url": "/st"}, status)],
        st=[says({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(BOM_UTF8 + FILE, headers=CSV)],
    )
    assert export.fetch() == BOM_UTF8 + FILE


def test_a_location_header_is_polled_and_may_be_the_file(export: OneExport) -> None:
    export.says(
        bulk_export=[Say(status=201, headers={"Location": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert [asked.path for asked in export.asked] == [PATH, "/f.csv", "/f.csv"]


def test_specific_names_come_before_generic_ones(export: OneExport) -> None:
    for name in NAMES[:7]:
        export.stand_in.says(Say({"url": "/job", "link": "/job", name: "/f.csv"}))
        assert addresses(export.order()) == ["f.csv"]


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "done", "files": [{"url": "/f.csv"}, {"url": "/g.csv"}]},
        {"status": "done", "files": ["/f.csv", "/g.csv"]},
        {"status": "done", "download_urls": ["/f.csv", "/g.csv"]},
        {"status": "done", "urls": ["/f.csv", "/g.csv"]},
        {"status": "done", "download_url": ["/f.csv", "/g.csv"], "url": "/job"},
    ],
)
def test_a_list_gives_all_of_its_files(export: OneExport, answer: Any) -> None:
    export.stand_in.says(Say(answer))
    assert addresses(export.order()) == ["f.csv", "g.csv"]


@pytest.mark.parametrize(
    "named",
    [
        {"download_url": "/f.csv?sig=abc", "file_url": "/g.csv"},
        {"download_url": "/f.csv?sig=abc", "files": ["/f.csv?sig=abc", "/g.csv"]},
        {"download_url": "/all.zip?sig=abc", "files": [{"url": "/f"}, {"url": "/g"}]},
        {"download_urls": ["/f?sig=abc", "/g"], "files": ["/f?sig=abc", "/g", "/h"]},
        {"url": "/job?sig=abc", "files": [{"url": "/f"}, {"url": "/g"}]},
    ],
)
def test_names_that_disagree_are_an_error(export: OneExport, named: dict[str, Any]) -> None:
    export.stand_in.says(Say({"status": "done", **named}, headers={"X-Request-Id": "r1"}))
    with pytest.raises(errors.ProtocolError, match="name different files") as caught:
        export.order()
    assert all(name.replace("_", "") in str(caught.value) for name in named)
    assert "sig=abc" not in str(caught.value)
    assert caught.value.request_id == "r1"


@pytest.mark.parametrize(
    "answer",
    [
        {"files": [{"url": "/f.csv"}, {"url": None, "error": "lost"}]},
        {"files": [{"url": "/f.csv"}, {"path": "/g.csv"}]},
        {"download_urls": ["/f.csv", None]},
        [{"url": "/f.csv"}, {"path": "/g.csv"}],
    ],
)
def test_a_file_without_an_address_is_an_error(export: OneExport, answer: Any) -> None:
    export.stand_in.says(Say(answer))
    export.fails(errors.ProtocolError, "1 of the 2 entries")
    assert export.files == {}


def test_done_without_a_file_names_the_keys(export: OneExport) -> None:
    export.stand_in.says(Say({"status": "done", "thing": 1}))
    job = export.order()
    with pytest.raises(errors.ProtocolError, match=r"status, thing.* last_status\.answer of"):
        export.on(job, "wait")
    assert job.last_status.answer["thing"] == 1


def test_the_keys_of_inner_objects_are_named(export: OneExport) -> None:
    result = {"download": {"target": "/f.csv"}}
    export.stand_in.says(Say({"job": {"id": 5, "status": "done", "result": result}}))
    error = export.fails(errors.ProtocolError)
    assert "Keys seen: job, job.id, job.status, job.result, job.result.download" in error.message


@pytest.mark.parametrize(
    "first",
    [
        {"status": 201, "headers": {"Location": "/st"}},
        {"body": {"status": "accepted", "url": "/st"}},
        {"body": {"status": "/st"}},
        {"body": {"polling_url": "/st", "progress": 40}},
        {"body": {"status": "success", "data": {"state": "processing", "url": "/st"}}},
        {"body": {"status": "success", "data": {"job_status": "queued", "status_url": "/st"}}},
        {"body": {"status": "OK", "state": "processing", "status_url": "/st"}},
    ],
)
def test_the_address_of_a_job_is_asked_until_it_is_done(
    export: OneExport, first: dict[str, Any]
) -> None:
    done = {"status": "success", "data": {"status": "success", "download_url": "/f.csv"}}
    export.says(
        bulk_export=[Say(**first)],
        st=[Say({"status": "processing"}), Say(done)],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert [asked.path for asked in export.asked[1:]] == ["/st", "/st", "/f.csv"]


@pytest.mark.parametrize(
    ("word", "phase"),
    [
        *((word, "done") for word in ("completed", "complete", "Done", "SUCCESS", "succeeded")),
        *((word, "done") for word in ("ready", "finished", "Available")),
        *((word, "failed") for word in ("failed", "FAILURE", "error", "fatal", "aborted")),
        *((word, "failed") for word in ("rejected", "cancelled", "Canceled")),
        ("expired", "expired"),
        *((word, "working") for word in ("pending", "In-Progress", "cancelling", "baking", "ok")),
    ],
)
def test_words_for_a_state(export: OneExport, word: str, phase: str) -> None:
    for name in ("status", "state", "exportStatus"):
        export.stand_in.says(Say({name: word, "status_url": "/st", "download_url": "/f"}))
        status = export.order().last_status
        assert (status.status_text, status.phase.value) == (word, phase)


@pytest.mark.parametrize(
    ("content", "code", "phase", "files", "poll"),
    [
        ({"status": "COMPLETED", "url": "/f"}, 200, "done", ["f"], None),
        ({"status": "in-progress", "url": "/s"}, 200, "working", [], "s"),
        ({"status": "pending", "download_url": "/f"}, 202, "working", ["f"], None),
        ({"status": "http://h.example/s"}, 202, "working", [], "s"),
        ({"url": "/f"}, 201, "done", ["f"], None),
        ({"url": "/s"}, 202, "working", [], "s"),
        ({"job": {"status": "queued", "status_url": "/s"}}, 200, "working", [], "s"),
        (None, 202, "working", [], None),
    ],
)
def test_word_and_status_code_say_whether_an_address_is_of_the_file(
    export: OneExport, content: Any, code: int, phase: str, files: list[str], poll: str | None
) -> None:
    export.stand_in.says(Say(content, code) if content else Say(status=code))
    job = export.order()
    status = job.last_status
    assert (status.phase.value, addresses(job)) == (phase, files)
    assert (status.poll_url or "").rpartition("/")[2] == (poll or "")
    assert "http" not in repr(job)


@pytest.mark.parametrize("error", ["disk full", {"code": 7, "message": "disk full"}])
@pytest.mark.parametrize("envelope", [False, True])
def test_a_success_that_carries_an_error_gives_the_reason(
    export: OneExport, error: Any, *, envelope: bool
) -> None:
    answer = {"data": {"error": error}} if envelope else {"error": error}
    export.stand_in.says(Say(answer, headers={"X-Request-Id": "r1"}))
    with pytest.raises(errors.ExportFailed, match="refused the export: disk full") as caught:
        export.order()
    assert caught.value.request_id == "r1"
    assert caught.value.url is not None
    assert len(export.asked) == 1


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({"error": "disk full"}, "disk full"),
        ({"error": {"message": "disk full"}}, "disk full"),
        ({"reason": "disk full"}, "disk full"),
        ({"error": None, "detail": "disk full"}, "disk full"),
        ({"message": "no secret-key"}, r"no \*\*\*\. Start it again"),
        ({}, "its status is 'FAILED'"),
    ],
)
def test_a_failure_carries_the_services_reason(
    export: OneExport, beside: dict[str, Any], expected: str
) -> None:
    answer = {"status": "FAILED", "id": "x1", "status_url": "/st", "secret-key": 1, **beside}
    export.stand_in.says(Say(answer, headers={"X-Request-Id": "r1"}))
    job = export.order()
    with pytest.raises(errors.ExportFailed, match=expected) as caught:
        export.on(job, "wait", timeout=60)
    assert (caught.value.export_id, caught.value.status) == ("x1", "FAILED")
    assert caught.value.request_id == "r1"
    assert "secret-key" not in repr(job.last_status) + repr(job.last_status.keys)
    assert len(export.asked) == 1


def test_an_expired_export_is_typed(export: OneExport) -> None:
    export.stand_in.says(Say({"status": "expired", "message": "kept for a day."}))
    job = export.order()
    with pytest.raises(errors.ExportExpired, match=r"expired: kept for a day\. Start it again"):
        export.on(job, "wait", timeout=600)


def test_an_error_beside_the_file_goes_to_the_observer_and_the_log(
    export: OneExport, caplog: pytest.LogCaptureFixture
) -> None:
    done = {"status": "completed", "download_url": "/f.csv", "message": "hello"}
    export.stand_in.says(
        Say({"status": "queued", "status_url": "/st"}, 202),
        Say({**done, "error": "shard 3 timed out for secret-key"}, headers={"X-Request-Id": "r1"}),
        Say({**done, "error": None}),
    )
    notes = Notes()
    export.variant = export.open_variant(observer=notes)
    with caplog.at_level(logging.WARNING, "adanalytics_client"):
        status = export.on(export.order(), "wait", timeout=60)
        assert export.order().last_status.reason is None
    assert (status.done, status.reason) == (True, "shard 3 timed out for ***")
    (partial,) = notes.of(PartialAnswer)
    assert (partial.reason, partial.request_id) == ("shard 3 timed out for ***", "r1")
    assert partial.url == f"{export.stand_in.url}/st"
    assert [each.getMessage() for each in caplog.records] == [str(partial)]


DIGEST = sha256(FILE).hexdigest().upper()


@pytest.mark.parametrize(
    ("measures", "problem"),
    [
        ({"size_bytes": 10006}, "10005 bytes, but 10006 were"),
        ({"sha256": "sha256:" + "0" * 64}, "sha256 differs"),
        ({"size_bytes": len(FILE), "sha256": DIGEST, "row_count": 2000}, ""),
        ({"sha256": f"sha256:{DIGEST}"}, ""),
    ],
)
def test_size_and_checksum_are_verified(
    export: OneExport, measures: dict[str, Any], problem: str
) -> None:
    alone = {"download_url": "/f.csv", **measures}
    for where in (alone, {"files": [{"url": "/f.csv", **measures}]}):
        export.says(
            bulk_export=[Say({"status": "done", **where})],
            f_csv=[Say(FILE, headers=CSV, chunked=True)],
        )
        if not problem:
            assert export.fetch() == FILE
            continue
        error = export.fails(errors.DownloadError, problem)
        assert isinstance(error, errors.ChecksumMismatch) == ("sha256" in measures)
        assert export.files == {}


@pytest.mark.parametrize("size", [-1, "many", "", True, []])
def test_a_size_that_is_not_a_number_is_ignored(export: OneExport, size: Any) -> None:
    measures = {"size_bytes": size, "row_count": size, "sha256": "none"}
    export.stand_in.says(Say({"status": "done", "download_url": "/f.csv", **measures}))
    status = export.order().last_status
    assert (status.row_count, status.files[0].size_bytes, status.files[0].sha256) == (None,) * 3


def test_an_order_that_may_have_arrived_is_not_repeated(export: OneExport) -> None:
    export.stand_in.says(Say(hang_up=True))
    with pytest.raises(errors.TransportError):
        export.order()
    assert len(export.asked) == 1


def test_an_order_that_was_refused_for_its_rate_is_repeated(export: OneExport) -> None:
    export.stand_in.says(Say(status=429, headers={"Retry-After": "2"}), Say({"url": "/f"}))
    assert export.order().last_status.done


@pytest.mark.parametrize("wrong", [{"timeout": -1}, {"to": 5}, {"format": ""}, {"format": 5}])
def test_a_wrong_argument_is_an_error_before_anything_is_sent(
    export: OneExport, wrong: dict[str, Any]
) -> None:
    (name,) = wrong
    with pytest.raises(errors.ConfigurationError, match=name):
        export.fetch(**wrong)
    assert export.asked == []


BODIES = {"csv": b"a,b\r\n1,2\r\n", "jsonl": b'{"event_id": "1"}\n', "parquet": parquet()}


@pytest.mark.parametrize(
    ("name", "given", "ordered"),
    [
        ("x.parquet", {}, {"format": "parquet"}),
        ("x.csv", {}, {"format": "csv"}),
        ("x.JSONL", {}, {"format": "jsonl"}),
        ("x.ndjson", {}, {"format": "jsonl"}),
        ("x.csv.gz", {}, {"format": "csv", "compression": "gzip"}),
        ("x.jsonl.GZ", {}, {"format": "jsonl", "compression": "gzip"}),
        ("x.gz", {"format": "jsonl"}, {"format": "jsonl", "compression": "gzip"}),
        ("x", {}, {"format": "csv"}),
        # As for any suffix of no export, whatever formats other outputs have.
        ("x.xlsx", {}, {"format": "csv"}),
        ("x.dat", {"format": "parquet"}, {"format": "parquet"}),
        ("x.csv", {"format": "csv", "compression": "none"}, {"compression": "none"}),
        ("x.parquet", {"compression": "gzip"}, {"format": "parquet", "compression": "gzip"}),
    ],
)
def test_the_order_follows_the_suffix(
    export: OneExport, name: str, given: dict[str, str], ordered: dict[str, str]
) -> None:
    form = ordered.get("format", "csv")
    body = BODIES[form]
    if ordered.get("compression") == "gzip" and form != "parquet":
        body = gzip.compress(body)
    export.says(bulk_export=[Say({"download_url": "/f"})], f=[Say(body)])
    options: dict[str, Any] = {**given}
    assert export.fetch(name, **options) == body
    said = json.loads(export.asked[0].body)
    days = {"start_date": "2026-01-01", "end_date": "2026-01-31"}
    assert said == {"format": "csv", **days, **ordered}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("x.csv", {"format": "jsonl"}, r"ends in \.csv, and format='jsonl' says otherwise"),
        ("x.parquet", {"format": "csv"}, "format='csv'"),
        ("x.csv.gz", {"format": "parquet"}, "format='parquet'"),
        ("x.csv.gz", {"compression": "none"}, r"ends in \.gz, and compression='none'"),
        ("x.csv", {"compression": "gzip"}, r"ends in \.csv, and compression='gzip'"),
        ("x.parquet.gz", {}, "compressed internally"),
    ],
)
def test_a_contradiction_is_an_error_before_anything_is_sent(
    export: OneExport, name: str, given: dict[str, str], expected: str
) -> None:
    export.fails(errors.ConfigurationError, expected, name=name, **given)
    assert (export.asked, export.files) == ([], {})


def test_the_reference_server_writes_what_the_suffix_says(
    reference_variant: Variant, tmp_path: Path
) -> None:
    reference_variant.call("export", "2026-01-15", to=tmp_path / "x.jsonl.gz")
    lines = gzip.decompress((tmp_path / "x.jsonl.gz").read_bytes()).splitlines()
    assert len([json.loads(line) for line in lines]) == 1500
