"""How exports are ordered and waited for, and how the answers are read; both variants."""

import gzip
import json
import logging
from codecs import BOM_UTF8
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.client.notes import Notes
from tests.client.one_export import CSV, FILE, PATH, OneExport, parquet
from tests.client.stand_in import Asked, Say
from tests.client.variants import OpenVariant, Variant
from tests.server_answers import operations

from adanalytics_client import QuotaPolicy, errors
from adanalytics_client.observers import PartialAnswer
from adanalytics_server.local import LocalServer, Sample

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
    export.variant = export.open(observer=notes)
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


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """The reference server; its worker makes every export of more than 50 events."""
    with LocalServer(sample=Sample(days=1, events_per_day=60), export_inline_max=50) as server:
        yield server


@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ({}, "export_status"),
        ({"files": [], "poll_url": None}, "export_status"),
        ({"files": [], "poll_url": None, "export_id": None}, "start_export"),
        ({"poll_url": None}, "download"),
    ],
    ids=["the status address", "the id", "the order again", "the file address"],
)
def test_the_reference_server_can_be_asked_in_each_way(
    open_variant: OpenVariant,
    server: LocalServer,
    tmp_path: Path,
    changes: dict[str, Any],
    operation: str,
) -> None:
    server.reset()
    variant = open_variant(server.url, api_key=server.api_key, partner=server.partner)

    def known_only_by(job: Any) -> Any:
        saved = json.loads(job.to_json())
        saved["status"] |= changes
        server.journal.clear()
        return type(job).from_json(variant.client, json.dumps(saved))

    server.faults.add("stuck export once")
    stuck = known_only_by(variant.call("start_export", "2026-01-15"))
    with pytest.raises(errors.ExportTimeout):
        variant.on(stuck, "wait", timeout=5)
    assert operations(server)[0] == operation
    server.faults.clear()
    job = known_only_by(variant.call("start_export", "2026-01-15", format="jsonl"))
    assert variant.on(job, "wait", timeout=50_000).done
    assert operations(server)[0] == operation
    path = variant.on(job, "download", tmp_path / "out.jsonl", check="none")
    assert len(path.read_bytes().splitlines()) == 60


def test_the_reference_server_may_name_the_file_in_its_first_answer(
    open_variant: OpenVariant, server: LocalServer, tmp_path: Path
) -> None:
    server.reset()
    variant = open_variant(server.url, api_key=server.api_key, partner=server.partner)
    variant.call("export", "2025-01-01", to=tmp_path / "out.csv", check="none")
    assert operations(server) == ["start_export", "download"]


def test_a_status_address_is_asked_until_done(export: OneExport) -> None:
    working = {"status": "Queued", "status_url": "/st", "url": "/st"}
    export.says(
        bulk_export=[Say(working, status=202, headers={"Retry-After": "9"})],
        st=[Say({"status": "in_progress"}), Say({"status": "COMPLETE", "url": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert export.clock.sleeps == [9.0, 1.5]
    assert export.asked[1].headers["authorization"] == "Bearer secret-key"


def test_a_file_address_is_asked_until_ready_without_fetching_twice(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"status": "weird", "download_url": "/f.csv"}, status=202)],
        f_csv=[Say(status=202, headers={"Retry-After": "3"}), Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert [asked.path for asked in export.asked] == [PATH] + ["/f.csv"] * 3
    assert not any("authorization" in asked.headers for asked in export.asked[1:])


@pytest.mark.parametrize("name", ["files", "urls", "download_urls"])
def test_several_files_are_never_taken_for_one_by_the_first_that_is_there(
    export: OneExport, name: str
) -> None:
    """One address may be asked whether its file is there; of several, more may be to come."""
    early = {"status": "chunking", name: ["/f.csv", "/g.csv"]}
    whole = {"status": "done", name: ["/f.csv", "/g.csv", "/h.csv"]}
    export.says(
        bulk_export=[Say(early), Say(whole)],
        **{f"{each}_csv": [Say(FILE, headers=CSV)] for each in "fgh"},
    )
    job = export.order()
    with pytest.raises(errors.ExportTimeout, match="chunking"):
        export.on(job, "wait", timeout=0)
    export.download(job, "")
    assert sorted(export.files) == ["f.csv", "g.csv", "h.csv"]
    assert [asked.path for asked in export.asked[:3]] == [PATH] * 2 + ["/f.csv"]


def test_files_may_get_their_addresses_one_after_the_other(export: OneExport) -> None:
    early = {"status": "running", "status_url": "/st", "files": [{"url": "/f.csv"}, {"url": None}]}
    whole = {"status": "done", "files": [{"url": "/f.csv"}, {"url": "/g.csv"}]}
    export.says(
        bulk_export=[Say(early)],
        st=[Say(whole)],
        f_csv=[Say(FILE, headers=CSV)],
        g_csv=[Say(FILE, headers=CSV)],
    )
    job = export.order()
    export.download(job, "")
    assert sorted(export.files) == ["f.csv", "g.csv"]


@pytest.mark.parametrize("name", ["id", "job_id", "export_id"])
@pytest.mark.parametrize("file", [True, False])
def test_an_export_without_an_address_is_asked_for_by_its_id(
    export: OneExport, name: str, *, file: bool
) -> None:
    done = Say(FILE, headers=CSV) if file else Say({"status": "done", "url": "/f.csv"})
    queued = Say({name: "a/1", "status": "queued"}, status=202)
    export.says(
        bulk_export=[queued], f_csv=[Say(FILE, headers=CSV)], **{"a%2F1": [queued, queued, done]}
    )
    assert export.fetch() == FILE
    paths = [asked.path for asked in export.asked]
    assert paths[:4] == [PATH, *[f"{PATH}/a%2F1"] * 3]
    assert [asked.method for asked in export.asked].count("POST") == 1


@pytest.mark.parametrize(
    ("order", "status", "kind", "posts"),
    [
        ({"id": "e1", "status": "queued"}, {"status": 404}, errors.ExportExpired, 2),
        ({"id": "e1", "status": "queued"}, {"status": 405}, errors.ProtocolError, 2),
        ({"id": "e1", "status": "queued"}, {"status": 400}, errors.ProtocolError, 2),
        ({"id": "e1", "status": "queued"}, {"status": 500}, errors.ServerError, 1),
        ({"id": "e1", "status": "queued"}, {"body": {"status": "x"}}, errors.ExportTimeout, 1),
        ({"status": "queued"}, {"status": 404}, errors.ProtocolError, 2),
        ({"status": "done"}, {"status": 404}, errors.ProtocolError, 1),
    ],
)
def test_no_order_is_sent_a_third_time(
    export: OneExport,
    order: dict[str, Any],
    status: dict[str, Any],
    kind: type[errors.AdAnalyticsError],
    posts: int,
) -> None:
    """Each might start another export; also in another process."""
    export.stand_in.script = lambda asked: (
        Say(order, 202) if asked.method == "POST" else Say(**status)
    )
    job = export.order()
    for _ in range(2):
        with pytest.raises(kind):
            export.on(job, "wait", timeout=600)
        job = type(job).from_json(export.variant.client, job.to_json())
    assert [asked.method for asked in export.asked].count("POST") == posts


def test_an_order_whose_repeat_fails_counts_as_repeated(export: OneExport) -> None:
    export.stand_in.says(Say({"status": "queued"}, 202), Say(hang_up=True))
    job = export.order()
    with pytest.raises(errors.ProtocolError, match="no answer names an address to ask for it"):
        export.on(job, "wait", timeout=600)
    assert len(export.asked) == 2
    # The export got a minute to be done before the only repeat.
    assert export.clock.sleeps[0] == 60.0


@pytest.mark.parametrize("name", ["start_date", "endDate"])
def test_an_export_of_other_days_is_refused(export: OneExport, name: str) -> None:
    export.stand_in.says(Say({"id": 1, "status": "queued", name: "2026-02-01"}, 202))
    with pytest.raises(errors.ProtocolError, match="2026-01-01 to 2026-01-31, but the service"):
        export.variant.call("start_export", "2026-01-01", "2026-01-31")


def test_a_repeated_order_that_starts_another_export_ends_the_wait(export: OneExport) -> None:
    def script(asked: Asked) -> Say:
        number = len(export.asked)
        queued = Say({"export_id": f"e{number}", "status": "queued"}, status=202)
        return queued if asked.method == "POST" else Say(status=404)

    export.stand_in.script = script
    job = export.order()
    with pytest.raises(errors.ProtocolError, match=r"another export \(e3 beside e1\)"):
        export.on(job, "wait", timeout=600)
    assert len(export.asked) == 3


def test_a_repeated_order_that_is_done_at_once_is_good_whatever_its_id(export: OneExport) -> None:
    export.says(
        bulk_export=[
            Say({"id": 1, "status": "queued"}, status=202),
            Say({"id": 2, "status": "done", "url": "/f.csv"}),
        ],
        **{"1": [Say(status=404)]},
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE


def test_a_wait_of_nothing_is_not_a_busy_loop(export: OneExport) -> None:
    pending = {"status": "pending", "status_url": "/st"}
    export.stand_in.says(Say(pending, status=202, headers={"Retry-After": "0"}))
    job = export.order()
    with pytest.raises(errors.ExportTimeout):
        export.on(job, "wait", timeout=6)
    assert export.clock.sleeps == [1.0, 1.5, 2.25, 1.25]


def test_a_used_up_quota_does_not_outlast_the_deadline(export: OneExport) -> None:
    export.stand_in.says(Say({"status": "pending"}, status=202))
    export.variant = export.open(quota=QuotaPolicy(limit=1))
    job = export.order()
    with pytest.raises(errors.QuotaExceeded):
        export.on(job, "wait", timeout=60)
    assert sum(export.clock.sleeps) <= 60


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", None])
def test_a_wrong_deadline_is_an_error(export: OneExport, timeout: Any) -> None:
    export.stand_in.says(Say({"url": "/f"}))
    job = export.order()
    with pytest.raises(errors.ConfigurationError, match="timeout="):
        export.on(job, "wait", timeout=timeout)


HTML: dict[str, Any] = {
    "body": b"<html>maintenance</html>",
    "headers": {"Content-Type": "text/html"},
}


@pytest.mark.parametrize("outage", [{"status": 503}, {"hang_up": True}, HTML])
@pytest.mark.parametrize("name", ["status_url", "download_url", "export_id"])
def test_an_outage_does_not_end_a_wait_that_has_time_left(
    export: OneExport, name: str, outage: dict[str, Any]
) -> None:
    answers = [Say({"status": "running", name: "/st"}, status=202)]
    answers += [Say(**outage)] * 10
    answers += [Say({"status": "done", "export_id": "/st", "url": "/f"})]
    export.stand_in.says(*answers)
    job = export.order()
    assert export.on(job, "wait", timeout=600).done


def test_a_pause_that_an_outage_asks_for_is_kept_between_polls(export: OneExport) -> None:
    """Also one that is longer than the budget of a request, which the poll itself cannot wait."""
    job = export.queues(
        Say({"error": "deploying"}, status=503, headers={"Retry-After": "400"}),
        Say({"status": "done", "url": "/f"}),
    )
    started = export.clock.now
    assert export.on(job, "wait", timeout=600).done
    assert export.clock.now - started > 400
    export.stand_in.says(Say({"error": "deploying"}, status=503, headers={"Retry-After": "400"}))
    with pytest.raises(errors.ServerError) as raised:
        export.variant.call("dates")
    assert raised.value.retry_after == 400


@pytest.mark.parametrize(
    ("outage", "kind", "words"),
    [
        ({"status": 503, "body": {"error": "busy"}}, errors.ServerError, r"\(503: busy\)"),
        (HTML, errors.ProtocolError, "is an HTML page"),
    ],
)
def test_an_outage_that_lasts_is_raised_at_the_end_of_the_wait(
    export: OneExport, outage: dict[str, Any], kind: type[errors.AdAnalyticsError], words: str
) -> None:
    job = export.queues(Say(**outage), status="running")
    started = export.clock.now
    with pytest.raises(kind, match=words):
        export.on(job, "wait", timeout=60)
    assert 59 < export.clock.now - started < 62
    assert job.last_status.status_text == "running"


def test_a_pause_that_was_asked_for_is_over_when_its_time_has_passed(export: OneExport) -> None:
    export.says(
        bulk_export=[
            Say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"})
        ],
        st=[Say({"status": "done", "url": "/f"})],
    )
    job = export.order()
    with pytest.raises(errors.ExportTimeout, match="ask again in 120 s"):
        export.on(job, "wait", timeout=60)
    export.clock.now += 50
    with pytest.raises(errors.ExportTimeout, match="ask again in 70 s"):
        export.on(job, "wait", timeout=60)
    export.clock.now += 40
    assert export.on(job, "wait", timeout=60).done
    assert export.clock.sleeps == [30.0]
    assert len(export.asked) == 2


@pytest.mark.parametrize("way", ["wait", "download"])
def test_the_last_status_of_a_wait_is_kept(export: OneExport, way: str) -> None:
    """The order is not repeated once an answer gave the status address, and the text keeps it."""
    export.says(
        bulk_export=[
            Say({"status": "queued"}, 202),
            Say({"id": "e1", "status": "queued", "status_url": "/st"}, 202),
        ],
        st=[Say({"status": "rendering"})],
    )
    job = export.order()
    arguments = [export.folder / "out.csv"] if way == "download" else []
    with pytest.raises(errors.ExportTimeout):
        export.on(job, way, *arguments)
    assert (job.last_status.status_text, job.export_id) == ("rendering", "e1")
    assert f"{export.stand_in.url}/st" in job.to_json()
    with pytest.raises(errors.ExportTimeout):
        export.on(job, "wait", timeout=10)
    assert [asked.method for asked in export.asked].count("POST") == 2


def test_a_failure_during_a_wait_is_kept(export: OneExport) -> None:
    export.stand_in.says(
        Say({"status": "queued", "status_url": "/st"}, 202),
        Say({"status": "failed", "error": "disk full"}),
    )
    job = export.order()
    for _ in range(2):
        with pytest.raises(errors.ExportFailed, match="disk full"):
            export.on(job, "wait", timeout=10)
    assert len(export.asked) == 2
    assert job.last_status.reason == "disk full"


def test_a_status_address_is_asked_for_the_file_of_what_is_done(export: OneExport) -> None:
    """Some services say "done" a moment before they name the file."""
    early = {"status": "done", "status_url": "/st"}
    export.says(bulk_export=[Say(early)], st=[Say(early), Say({**early, "download_url": "/f.csv"})])
    job = export.order()
    with pytest.raises(errors.ProtocolError, match="names no file"):
        export.on(job, "wait", timeout=60)
    assert len(export.on(job, "wait", timeout=60).files) == 1
    assert export.clock.sleeps == [1.0, 1.0]
    assert [asked.method for asked in export.asked] == ["POST", "GET", "GET"]


def test_a_job_that_is_done_at_once_is_asked_for_its_file(export: OneExport) -> None:
    done = {"job_id": "j-7", "status": "completed"}
    file = Say({**done, "url": "/f.csv"})
    export.says(bulk_export=[Say(done)], j_7=[file])
    job = export.order()
    assert len(export.on(job, "wait", timeout=60).files) == 1
    assert [asked.method for asked in export.asked] == ["POST", "GET"]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ({"status": "processing", "download_url": "/st"}, 404),
        ({"status": "processing", "download_url": "/st?sig=1"}, 403),
        ({"download_url": "/st"}, 404),
        ({"status": "processing", "status_url": "/st"}, 404),
        ({"status_url": "/st"}, 404),
        ({"status": "queued", "url": "/st?sig=1"}, 403),
    ],
)
def test_an_address_may_be_absent_until_the_object_exists(
    export: OneExport, first: dict[str, Any], status: int
) -> None:
    """As presigned addresses are; asked again with growing pauses."""
    # Each time a file is asked for without the credential, and then once with it.
    refusals = 10 if "download_url" in first else 5
    export.says(
        bulk_export=[Say({"id": "e7", **first}, 202)],
        st=[*[Say({"error": "not yet"}, status)] * refusals, Say(FILE, headers=CSV)],
    )
    job = export.order()
    known = export.on(job, "status")
    assert (known.done, known.export_id) == (False, "e7")
    assert known.reason == f"its address answers {status} (not yet)"
    assert export.on(job, "wait", timeout=600).reason is None
    assert export.clock.sleeps == [1.0, 1.5, 2.25, 3.375, 5.0625]
    assert export.download(job) == FILE


@pytest.mark.parametrize("name", ["status_url", "download_url"])
def test_an_address_where_nothing_ever_appears_has_expired_at_the_end_of_the_wait(
    export: OneExport, name: str
) -> None:
    job = export.queues(Say(status=404), at=name, id="e7")
    for _ in range(2):
        with pytest.raises(errors.ExportExpired, match="within 60 s: its address answers 404"):
            export.on(job, "wait", timeout=60)
    assert sum(export.clock.sleeps) == 120


@pytest.mark.parametrize("name", ["status_url", "download_url"])
@pytest.mark.parametrize("status", [404, 410])
def test_an_address_that_has_answered_is_gone_at_once(
    export: OneExport, name: str, status: int
) -> None:
    """Also in another process."""
    job = export.queues(Say({"status": "running"}, 202), Say(status=status), at=name, id="e7")
    assert export.on(job, "status").status_text == "running"
    later = type(job).from_json(export.variant.client, job.to_json())
    for each in (job, later):
        with pytest.raises(errors.ExportExpired, match=r"no export e7 .*Start it again") as caught:
            export.on(each, "wait", timeout=600)
        assert (caught.value.export_id, caught.value.url) == ("e7", f"{export.stand_in.url}/st")
    assert export.clock.sleeps == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("download_url", 410, errors.ExportExpired),
        ("download_url", 403, errors.ExportExpired),
        ("status_url", 410, errors.ExportExpired),
        ("status_url", 403, errors.PermissionDenied),
    ],
)
def test_a_refusal_that_does_not_mean_not_yet_ends_the_wait(
    export: OneExport, name: str, status: int, kind: type[errors.AdAnalyticsError]
) -> None:
    job = export.queues(Say(status=status), at=name)
    with pytest.raises(kind):
        export.on(job, "wait", timeout=600)
    both_ways = name == "download_url" and status == 403
    assert len(export.asked) == 2 + both_ways


WORKING = {"status": "processing"}


def typed(kind: str | None) -> dict[str, str]:
    return {} if kind is None else {"Content-Type": kind}


@pytest.mark.parametrize("kind", [None, "text/plain; charset=utf-8", "application/problem+json"])
@pytest.mark.parametrize("name", ["status_url", "download_url"])
def test_a_status_is_read_however_it_is_sent(
    export: OneExport, name: str, kind: str | None
) -> None:
    done = {"status": "completed", "download_url": "/f.csv"}
    job = export.queues(
        *[Say(each, headers=typed(kind), chunked=True) for each in (WORKING, WORKING, done)],
        at=name,
    )
    assert export.on(job, "status").status_text == "processing"
    assert export.on(job, "wait", timeout=600).status_text == "completed"
    assert export.download(job) == FILE
    assert [asked.path for asked in export.asked] == [PATH, "/st", "/st", "/st", "/f.csv"]


@pytest.mark.parametrize(
    ("name", "form", "headers", "body"),
    [
        ("download_url", "csv", {}, FILE + b"1,2\r\n" * 40_000),
        ("download_url", "csv", {"Content-Type": "text/plain"}, FILE),
        ("download_url", "jsonl", {}, b'{"status": "processing"}\n' * 50_000),
        ("download_url", "jsonl", {"Content-Type": "application/x-ndjson"}, b'{"a": 1}\n'),
        ("download_url", "parquet", {}, parquet()),
        ("status_url", "csv", CSV, FILE),
        ("status_url", "jsonl", {"Content-Type": "application/x-ndjson"}, b'{"a": 1}\n'),
        ("status_url", "jsonl", {"Content-Disposition": "attachment; filename=f"}, b'{"a": 1}\n'),
        ("status_url", "parquet", {"Content-Type": "application/octet-stream"}, parquet()),
    ],
)
def test_the_file_may_come_in_place_of_a_status(
    export: OneExport, name: str, form: str, headers: dict[str, str], body: bytes
) -> None:
    export.says(
        bulk_export=[Say({"status": "pending", name: "/f"}, status=202)],
        f=[Say(status=202), Say(body, headers=headers, chunked=True)],
    )
    assert export.fetch("out", format=form) == body
    assert len(export.asked) == 4


@pytest.mark.parametrize(
    "early",
    [
        {"status": 204},
        {"body": b"null"},
        {"body": b"false"},
        {"body": b"[]"},
        {"body": {}},
        {"body": b'"not ready"', "headers": {"Content-Type": "application/json"}},
        {"body": b"processing", "headers": {"Content-Type": "text/plain"}},
        {"body": {"progress": 40}},
    ],
)
def test_an_answer_that_says_nothing_leaves_the_status_as_it_is(
    export: OneExport, early: dict[str, Any]
) -> None:
    job = export.queues(
        *[Say(**early)] * 9,
        Say({"status": "done", "download_url": "/f.csv"}),
        status="queued",
        id="e1",
    )
    with pytest.raises((errors.ExportTimeout, errors.ProtocolError)):
        export.on(job, "wait", timeout=2)
    assert (job.last_status.status_text, job.export_id) == ("queued", "e1")
    assert export.download(job) == FILE


def test_a_packed_status_is_read(export: OneExport) -> None:
    packed = gzip.compress(b"\xef\xbb\xbf \n" + json.dumps(WORKING).encode())
    job = export.queues(Say(packed, headers={"Content-Encoding": "gzip"}, chunked=True))
    assert export.on(job, "status").status_text == "processing"


def test_a_file_is_not_read_while_it_is_waited_for(export: OneExport) -> None:
    """The body of the first answer never ends: whoever reads it whole would fail."""
    export.says(
        bulk_export=[Say({"status": "pending", "download_url": "/f"}, status=202)],
        f=[Say(FILE, headers=CSV, chunked=True, cut=100), Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert len(export.asked) == 3


@pytest.mark.parametrize("kind", ["text/plain", "application/json", None])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_status_that_is_cut_short_is_asked_for_again(
    export: OneExport, form: str, kind: str | None
) -> None:
    """Not every way of sending a body tells that its end is missing."""
    cut = Say(b'{"status": "processing", "no', headers=typed(kind))
    export.says(
        bulk_export=[Say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[*[cut] * 9, Say({"status": "done", "download_url": "/f"})],
        f=[Say(b'{"a": 1}\n' if form == "jsonl" else FILE)],
    )
    export.fetch("out", format=form)
    assert [asked.path for asked in export.asked[1:]] == [*["/st"] * 10, "/f"]


def test_a_value_that_is_no_json_ends_neither_a_wait_nor_a_download(export: OneExport) -> None:
    """A share of nothing may be NaN at first; that of an event leaves the file uncounted."""
    export.says(
        bulk_export=[Say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[Say(b'{"status":"pending","share":NaN}'), Say({"status": "done", "url": "/f"})],
        f=[Say(FILE)],
        events=[Say(b'{"data":[{"a":NaN}],"meta":{"total":2000}}')],
        dates=[Say({"dates": []})],
    )
    assert export.fetch(check="auto") == FILE


def test_an_answer_that_stays_cut_short_is_raised_with_its_length(export: OneExport) -> None:
    job = export.queues(Say(b'{"status": "proc', headers=typed("text/plain")))
    with pytest.raises(errors.ProtocolError, match="16 bytes of text/plain are not JSON"):
        export.on(job, "status")


@pytest.mark.parametrize(
    ("name", "refusal", "kept"),
    [("download_url", 401, [True, False, True]), ("url", 400, [True, True, False])],
)
def test_an_address_at_home_is_asked_both_ways(
    export: OneExport, name: str, refusal: int, kept: list[bool]
) -> None:
    """Which address wants the credential and which refuses it cannot be known beforehand."""

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"status": "pending", name: "/f.csv"}, status=202)
        wanted = "authorization" in asked.headers
        return Say({"status": "running"}) if wanted == (refusal == 401) else Say(status=refusal)

    export.stand_in.script = script
    job = export.order()
    assert export.on(job, "status").status_text == "running"
    assert ["authorization" in asked.headers for asked in export.asked] == kept


@pytest.mark.parametrize("status", [302, 303, 307])
@pytest.mark.parametrize("name", ["status_url", "url", "download_url"])
def test_an_address_that_wants_the_credential_may_lead_to_one_that_refuses_it(
    export: OneExport, name: str, status: int
) -> None:
    """Once it is done, a job may redirect to its file, which is signed and on the same origin."""
    states = [Say({"status": "running"}), Say(status=status, headers={"Location": "/f.csv?sig=1"})]

    def script(asked: Asked) -> Say:
        with_it = "authorization" in asked.headers
        if asked.method == "POST":
            return Say({"status": "pending", name: "/jobs/1"}, status=202)
        if asked.path == "/f.csv":
            return Say(status=400) if with_it else Say(FILE, headers=CSV)
        if not with_it:
            return Say(status=401)
        return states.pop(0) if len(states) > 1 else states[0]

    export.stand_in.script = script
    assert export.fetch() == FILE
