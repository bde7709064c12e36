"""How an export is asked for and waited for until it is done; both variants."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.moved_clock import MovedClock
from tests.client.one_export import CSV, FILE, PATH, OneExport, parquet
from tests.client.stand_in import Asked, Say
from tests.client.variants import OpenVariant
from tests.server_answers import operations

from adanalytics_client import QuotaPolicy, errors
from adanalytics_server.local import LocalServer, Sample


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


def test_a_status_address_is_asked_until_done(export: OneExport, clock: MovedClock) -> None:
    working = {"status": "Queued", "status_url": "/st", "url": "/st"}
    export.says(
        bulk_export=[Say(working, status=202, headers={"Retry-After": "9"})],
        st=[Say({"status": "in_progress"}), Say({"status": "COMPLETE", "url": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE
    assert clock.sleeps == [9.0, 1.5]
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


def test_an_order_whose_repeat_fails_counts_as_repeated(
    export: OneExport, clock: MovedClock
) -> None:
    export.stand_in.says(Say({"status": "queued"}, 202), Say(hang_up=True))
    job = export.order()
    with pytest.raises(errors.ProtocolError, match="no answer names an address to ask for it"):
        export.on(job, "wait", timeout=600)
    assert len(export.asked) == 2
    # The export got a minute to be done before the only repeat.
    assert clock.sleeps[0] == 60.0


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


def test_a_wait_of_nothing_is_not_a_busy_loop(export: OneExport, clock: MovedClock) -> None:
    pending = {"status": "pending", "status_url": "/st"}
    export.stand_in.says(Say(pending, status=202, headers={"Retry-After": "0"}))
    job = export.order()
    with pytest.raises(errors.ExportTimeout):
        export.on(job, "wait", timeout=6)
    assert clock.sleeps == [1.0, 1.5, 2.25, 1.25]


def test_a_used_up_quota_does_not_outlast_the_deadline(
    export: OneExport, clock: MovedClock
) -> None:
    export.stand_in.says(Say({"status": "pending"}, status=202))
    export.variant = export.open_variant(quota=QuotaPolicy(limit=1))
    job = export.order()
    with pytest.raises(errors.QuotaExceeded):
        export.on(job, "wait", timeout=60)
    assert sum(clock.sleeps) <= 60


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


def test_a_pause_that_an_outage_asks_for_is_kept_between_polls(
    export: OneExport, clock: MovedClock
) -> None:
    """Also one that is longer than the budget of a request, which the poll itself cannot wait."""
    export.says(
        bulk_export=[Say({"status": "running", "status_url": "/st"}, status=202)],
        st=[
            Say({"error": "deploying"}, status=503, headers={"Retry-After": "400"}),
            Say({"status": "done", "url": "/f"}),
        ],
    )
    job = export.order()
    started = clock.now
    assert export.on(job, "wait", timeout=600).done
    assert clock.now - started > 400
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
    export: OneExport,
    clock: MovedClock,
    outage: dict[str, Any],
    kind: type[errors.AdAnalyticsError],
    words: str,
) -> None:
    export.says(
        bulk_export=[Say({"status": "running", "status_url": "/st"}, status=202)],
        st=[Say(**outage)],
    )
    job = export.order()
    started = clock.now
    with pytest.raises(kind, match=words):
        export.on(job, "wait", timeout=60)
    assert 59 < clock.now - started < 62
    assert job.last_status.status_text == "running"


def test_a_pause_that_was_asked_for_is_over_when_its_time_has_passed(
    export: OneExport, clock: MovedClock
) -> None:
    export.says(
        bulk_export=[
            Say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"})
        ],
        st=[Say({"status": "done", "url": "/f"})],
    )
    job = export.order()
    with pytest.raises(errors.ExportTimeout, match="ask again in 120 s"):
        export.on(job, "wait", timeout=60)
    clock.now += 50
    with pytest.raises(errors.ExportTimeout, match="ask again in 70 s"):
        export.on(job, "wait", timeout=60)
    clock.now += 40
    assert export.on(job, "wait", timeout=60).done
    assert clock.sleeps == [30.0]
    assert len(export.asked) == 2


@pytest.mark.parametrize("way", ["wait", "download"])
def test_the_last_status_of_a_wait_is_kept(export: OneExport, clock: MovedClock, way: str) -> None:
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


def test_a_status_address_is_asked_for_the_file_of_what_is_done(
    export: OneExport, clock: MovedClock
) -> None:
    """Some services say "done" a moment before they name the file."""
    early = {"status": "done", "status_url": "/st"}
    export.says(bulk_export=[Say(early)], st=[Say(early), Say({**early, "download_url": "/f.csv"})])
    job = export.order()
    with pytest.raises(errors.ProtocolError, match="names no file"):
        export.on(job, "wait", timeout=60)
    assert len(export.on(job, "wait", timeout=60).files) == 1
    assert clock.sleeps == [1.0, 1.0]
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
    export: OneExport, clock: MovedClock, first: dict[str, Any], status: int
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
    assert clock.sleeps == [1.0, 1.5, 2.25, 3.375, 5.0625]
    assert export.download(job) == FILE


@pytest.mark.parametrize("name", ["status_url", "download_url"])
def test_an_address_where_nothing_ever_appears_has_expired_at_the_end_of_the_wait(
    export: OneExport, clock: MovedClock, name: str
) -> None:
    export.says(
        bulk_export=[Say({"id": "e7", "status": "queued", name: "/st"}, 202)], st=[Say(status=404)]
    )
    job = export.order()
    for _ in range(2):
        with pytest.raises(errors.ExportExpired, match="within 60 s: its address answers 404"):
            export.on(job, "wait", timeout=60)
    assert sum(clock.sleeps) == 120


@pytest.mark.parametrize("name", ["status_url", "download_url"])
@pytest.mark.parametrize("status", [404, 410])
def test_an_address_that_has_answered_is_gone_at_once(
    export: OneExport, clock: MovedClock, name: str, status: int
) -> None:
    """Also in another process."""
    export.says(
        bulk_export=[Say({"id": "e7", "status": "queued", name: "/st"}, 202)],
        st=[Say({"status": "running"}, 202), Say(status=status)],
    )
    job = export.order()
    assert export.on(job, "status").status_text == "running"
    later = type(job).from_json(export.variant.client, job.to_json())
    for each in (job, later):
        with pytest.raises(errors.ExportExpired, match=r"no export e7 .*Start it again") as caught:
            export.on(each, "wait", timeout=600)
        assert (caught.value.export_id, caught.value.url) == ("e7", f"{export.stand_in.url}/st")
    assert clock.sleeps == [1.0, 1.0]


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
    export.says(bulk_export=[Say({"status": "queued", name: "/st"}, 202)], st=[Say(status=status)])
    job = export.order()
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
    export.says(
        bulk_export=[Say({"status": "pending", name: "/st"}, status=202)],
        st=[Say(each, headers=typed(kind), chunked=True) for each in (WORKING, WORKING, done)],
        f_csv=[Say(FILE, headers=CSV)],
    )
    job = export.order()
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
    export.says(
        bulk_export=[Say({"id": "e1", "status": "queued", "status_url": "/st"}, status=202)],
        st=[*[Say(**early)] * 9, Say({"status": "done", "download_url": "/f.csv"})],
        f_csv=[Say(FILE, headers=CSV)],
    )
    job = export.order()
    with pytest.raises((errors.ExportTimeout, errors.ProtocolError)):
        export.on(job, "wait", timeout=2)
    assert (job.last_status.status_text, job.export_id) == ("queued", "e1")
    assert export.download(job) == FILE


def test_a_packed_status_is_read(export: OneExport) -> None:
    packed = gzip.compress(b"\xef\xbb\xbf \n" + json.dumps(WORKING).encode())
    export.says(
        bulk_export=[Say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[Say(packed, headers={"Content-Encoding": "gzip"}, chunked=True)],
    )
    job = export.order()
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
    export.says(
        bulk_export=[Say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[Say(b'{"status": "proc', headers=typed("text/plain"))],
    )
    job = export.order()
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
