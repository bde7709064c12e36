"""Exports that outlive their process, addresses that expire, and words of a profile."""

import copy
import datetime as dt
import gzip
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.one_export import CSV, FILE, OneExport
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, SyncVariant, Variant

from adanalytics_client import AsyncExportJob, ExportJob, ProtocolError, ServiceProfile, errors
from adanalytics_client._shapes.service import ExportProfile
from adanalytics_server.local import LocalServer, Sample

KEEPING = {**CSV, "ETag": '"v1"'}
PACKED = gzip.compress(FILE)


def again(variant: Variant, job: Any, text: str | None = None) -> Any:
    """The same job, made anew from its text."""
    kind = ExportJob if isinstance(job, ExportJob) else AsyncExportJob
    return kind.from_json(variant.client, job.to_json() if text is None else text)


def test_a_job_goes_on_from_its_text(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"status": "queued", "status_url": "/st", "id": "e1", "n": 1.50}, 202)],
        st=[Say({"status": "done", "url": "/f.csv", "row_count": "2000"})],
        f_csv=[Say(PACKED, headers=CSV)],
    )
    job = export.variant.call("start_export", "2026-01-01", "2026-01-31", compression="gzip")
    assert "secret-key" not in job.to_json()
    other = export.open()
    later = again(other, job)
    assert later.last_status == job.last_status
    assert later.last_status.answer["n"] == Decimal("1.50")
    assert later.to_json() == job.to_json()
    assert other.on(later, "wait").row_count == 2000
    path = other.on(again(other, later), "download", export.folder / "out.csv", check="none")
    assert path.read_bytes() == PACKED


@pytest.mark.parametrize("way", ["text", "pickle"])
def test_a_saved_job_keeps_the_pause_that_the_service_asked_for(
    export: OneExport, way: str
) -> None:
    export.stand_in.says(
        Say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"}),
        Say({"status": "done", "url": "/f"}),
    )
    job = export.order()
    later = again(export.variant, pickle.loads(pickle.dumps(job)) if way == "pickle" else job)
    assert later.last_status.answered_at == job.last_status.answered_at
    export.clock.now += 50
    assert export.on(later, "wait", timeout=600).done
    assert export.clock.sleeps == [70.0]


def test_a_text_of_an_earlier_version_knows_no_pause(export: OneExport) -> None:
    queued = {"status": "queued", "status_url": "/st"}
    export.stand_in.says(Say(queued, 202, headers={"Retry-After": "120"}))
    job = export.order()
    said = json.loads(job.to_json())
    for name in ("retry_after", "answered_at"):
        del said["status"][name]
    status = again(export.variant, job, json.dumps(said)).last_status
    assert (status.retry_after, status.answered_at, status.status_text) == (None, None, "queued")


@pytest.mark.parametrize(
    "change",
    [
        {"partner": "other"},
        {"base_url": "https://elsewhere.example"},
        {"form": 2},
        {"order": {"start_date": "yesterday"}},
        {"status": {"phase": "dreaming"}},
        {"status": None},
    ],
)
def test_a_text_that_does_not_fit_is_refused(export: OneExport, change: dict[str, Any]) -> None:
    export.stand_in.says(Say({"url": "/f"}))
    job = export.order()
    said = json.loads(job.to_json())
    for text in (json.dumps(said | change), "", "{", "[]"):
        with pytest.raises(errors.ConfigurationError, match="saved export"):
            again(export.variant, job, text)
    assert (
        again(export.variant, job, json.dumps(said | {"since_then": 1})).last_status
        == job.last_status
    )


@pytest.mark.parametrize(
    ("spelled", "same"),
    [
        ("http://STATS.example/v2", True),
        ("http://stats.example:80/v2", True),
        ("https://stats.example/v2", False),
        ("http://stats.example:8080/v2", False),
        ("http://stats.example/V2", False),
        ("http://[", False),
    ],
)
def test_a_service_is_known_however_its_address_is_spelled(
    export: OneExport, spelled: str, *, same: bool
) -> None:
    export.stand_in.says(Say({"url": "/f"}))
    kept = json.loads(export.open().call("start_export", "2026-01-01").to_json())
    export.variant = export.open("http://stats.example/v2")
    kind = ExportJob if isinstance(export.variant, SyncVariant) else AsyncExportJob
    text = json.dumps(kept | {"base_url": spelled})
    if same:
        assert kind.from_json(export.variant.client, text).last_status.files
    else:
        with pytest.raises(
            errors.ConfigurationError, match="saved export belongs to partner 'acme'"
        ):
            kind.from_json(export.variant.client, text)


def test_a_pickled_job_leaves_its_client_behind(export: OneExport) -> None:
    ordered = {"url": "/f.csv", "expires_at": "2026-02-01", "echo": ["secret-key"]}
    export.says(bulk_export=[Say(ordered)], f_csv=[Say(FILE, headers=CSV)])
    job = export.order()
    note = pickle.dumps(job)
    assert b"secret-key" not in note
    kept = pickle.loads(note)
    assert type(kept) is type(job)
    assert (kept.order, kept.export_id, kept.last_status) == (job.order, None, job.last_status)
    assert (repr(kept), kept.to_json()) == (repr(job), job.to_json())
    for name, *arguments in (("status",), ("wait",), ("download", export.folder / "x.csv")):
        with pytest.raises(errors.ConfigurationError, match="from_json"):
            export.on(kept, name, *arguments)
    one = again(export.variant, job, kept.to_json())
    assert export.on(one, "download", export.folder / "x.csv", check="none").read_bytes() == FILE
    status = job.last_status
    assert pickle.loads(pickle.dumps(status)) == copy.deepcopy(status) == status
    assert status.answer == {"url": "/f.csv", "expires_at": "2026-02-01", "echo": ["***"]}


def test_half_a_surrogate_pair_in_an_answer_can_be_saved(export: OneExport) -> None:
    ordered = {"url": "/f.csv", "n\ud83d": "\ud83d\\ud83d", "rate": 0.5, "note": "\U0001f600\u00e9"}
    export.says(bulk_export=[Say(ordered)], f_csv=[Say(FILE, headers=CSV)])
    job = export.order()
    place = export.folder / "export.job"
    place.write_text(job.to_json(), encoding="utf-8")
    later = again(export.variant, job, place.read_text(encoding="utf-8"))
    assert later.last_status == pickle.loads(pickle.dumps(job)).last_status == job.last_status
    assert later.last_status.answer["n\ud83d"] == "\ud83d\\ud83d"
    assert later.to_json() == job.to_json()
    assert export.on(later, "download", export.folder / "x.csv", check="none").read_bytes() == FILE


@pytest.mark.parametrize("status", [403, 410])
def test_an_expired_address_is_asked_for_anew(export: OneExport, status: int) -> None:
    """In the middle of the file: what has arrived stays, and the new address gives the rest."""
    rest = {**KEEPING, "Content-Range": f"bytes 4-{len(FILE) - 1}/{len(FILE)}"}
    export.says(
        bulk_export=[Say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[Say({"status": "done", "url": "/new.csv"})],
        old_csv=[Say(FILE, headers=KEEPING, cut=4), Say(status=status)],
        new_csv=[Say(FILE[4:], status=206, headers=rest)],
    )
    job = export.order()
    assert export.download(job) == FILE
    assert [asked.path for asked in export.asked[1:]] == [
        "/old.csv",
        # After a 403 once more, with the credential.
        *["/old.csv"] * (2 if status == 403 else 1),
        "/st",
        "/new.csv",
    ]
    assert export.asked[-1].headers["range"] == "bytes=4-"
    assert job.last_status.files[0].url.endswith("/new.csv")


@pytest.mark.parametrize(
    "refusal", [{"status": 401, "body": {"error": "link expired"}}, {"status": 404}]
)
def test_an_address_that_expired_under_another_status_is_asked_for_anew(
    export: OneExport, refusal: dict[str, Any]
) -> None:
    export.says(
        bulk_export=[Say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[Say({"status": "done", "url": "/new.csv"})],
        old_csv=[Say(**refusal)],
        new_csv=[Say(FILE, headers=CSV)],
    )
    job = export.order()
    assert export.download(job) == FILE


def test_a_refusal_that_a_fresh_address_does_not_change_is_raised(export: OneExport) -> None:
    same = Say({"status": "done", "status_url": "/st", "url": "/f.csv"})
    export.says(bulk_export=[same], st=[same], f_csv=[Say(status=401)])
    export.fails(errors.AuthenticationError)
    export.says(bulk_export=[same], st=[same], f_csv=[Say(status=400)])
    export.fails(errors.InvalidRequest)


def test_an_id_gives_a_fresh_address_too(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"status": "pending", "id": "e1"}, status=202)],
        e1=[Say({"url": "/old.csv", "id": "e1"}), Say({"url": "/new.csv", "id": "e1"})],
        old_csv=[Say(status=403)],
        new_csv=[Say(FILE, headers=CSV)],
    )
    assert export.fetch() == FILE


@pytest.mark.parametrize(
    "fresh",
    [
        {"body": {"status": "done", "url": "/old.csv"}},
        {"body": {"status": "expired"}},
        {"body": {"files": ["/a", "/b"]}},
        {"status": 404},
    ],
)
def test_an_address_that_stays_expired_is_typed_and_ends(
    export: OneExport, fresh: dict[str, Any]
) -> None:
    export.says(
        bulk_export=[Say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[Say(**fresh)],
        old_csv=[Say(status=403)],
    )
    export.fails(errors.ExportExpired)
    assert len(export.asked) == 4
    assert export.files == {}


def test_addresses_that_all_expire_at_once_end(export: OneExport) -> None:
    def script(asked: Asked) -> Say:
        if "csv" in asked.path:
            return Say(status=403)
        number = len(export.asked)
        return Say({"status": "done", "status_url": "/st", "url": f"/{number}.csv"})

    export.stand_in.script = script
    export.fails(errors.ExportExpired)
    assert len(export.asked) == 6


def test_the_real_server_gives_a_fresh_address(
    reference: LocalServer, reference_variant: Variant, tmp_path: Path
) -> None:
    path, order = tmp_path / "out.jsonl", {"format": "jsonl"}
    reference_variant.on(reference_variant.call("start_export", "2026-01-15", **order), "wait")
    reference.faults.add("expired url once on start_export")
    try:
        reference_variant.call("export", "2026-01-15", to=path, **order)
        assert [each.struck for each in reference.faults.counts()] == [1]
    finally:
        reference.faults.clear()
    assert len(path.read_bytes().splitlines()) == 1500


CHILD = """
import sys
from adanalytics_client import Client, Observer, QuotaPolicy

class Watch(Observer):
    def bytes(self, info):
        print(info.received, flush=True)

url, key, path = sys.argv[1:]
quota = QuotaPolicy(log="memory")
with Client(url, api_key=key, partner="acme", observer=Watch(), quota=quota) as client:
    client.export("2026-01-16", to=path, format="jsonl")
"""


def test_a_killed_download_goes_on_in_the_next_run(
    reference: LocalServer, reference_variant: Variant, tmp_path: Path
) -> None:
    """kill -9 in the middle of the body: what had reached the file is not asked for again."""
    path = tmp_path / "out.jsonl"
    reference.faults.add("slow body 60s once on download")
    command = [sys.executable, "-c", CHILD, reference.url, reference.api_key, str(path)]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert int(child.stdout.readline()) > 0
            child.kill()
    finally:
        reference.faults.clear()
    assert not path.exists()
    kept = (tmp_path / "out.jsonl.part").stat().st_size
    assert kept > 0
    reference.journal.clear()
    reference_variant.call("export", "2026-01-16", to=path, format="jsonl")
    assert len(path.read_bytes().splitlines()) == 1500
    (download,) = [each for each in reference.journal.entries() if each.operation == "download"]
    assert (download.status, [each.name for each in tmp_path.iterdir()]) == (206, ["out.jsonl"])


ANOTHER = FILE.replace(b"1,2", b"3,4", 1) + b"\n"


def _expiring(stand_in: StandIn, listed: list[Any], later: dict[str, Any]) -> None:
    """`a` can be had at once, every other address only once it is signed with `new`."""

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"id": "e1", "status": "done", "status_url": "/st", "files": listed})
        if asked.path == "/st":
            return Say({"status": "done", **later})
        content = FILE if asked.path.endswith("a.csv") else ANOTHER
        fresh = content is FILE or "new" in asked.target
        return Say(content, headers=CSV) if fresh else Say(status=403)

    stand_in.script = script


def test_files_that_are_listed_alike_get_fresh_addresses(export: OneExport) -> None:
    """In the same order, with the same names where any are stated."""
    old = [{"url": "/old1/a.csv", "name": "a.csv"}, "/old2/b.csv?sig=old"]
    new = [{"url": "/new1/a.csv", "name": "a.csv"}, "/new2/b.csv?sig=new"]
    _expiring(export.stand_in, old, {"files": new})
    export.variant.call("export", "2026-01-01", to=export.folder, check="none")
    found = export.files
    assert found == {"a.csv": FILE, "b.csv": ANOTHER}


def _described(**what: Any) -> list[Any]:
    return [{"url": "/a.csv?sig=new", **what}, "/b.csv?sig=new"]


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (["/b.csv?sig=new", "/a.csv?sig=new"], r"lists b\.csv, a\.csv, not a\.csv, b\.csv"),
        (["/b.csv?sig=new", "/c.csv?sig=new"], r"lists b\.csv, c\.csv, not a\.csv, b\.csv"),
        (["/all.csv?sig=new"], r"lists all\.csv, not a\.csv, b\.csv"),
        (["/?sig=new"], "lists a file without a name, not a"),
        ([f"/{n}.csv?sig=new" for n in range(7)], r"4\.csv and 2 more, not a\.csv"),
        (_described(sha256="0" * 64), "now lists a"),
        (_described(size_bytes=7), "now lists a"),
    ],
)
def test_files_that_may_be_others_are_an_error(
    export: OneExport, later: list[Any], expected: str
) -> None:
    digest = sha256(FILE).hexdigest()
    listed = [{"url": "/a.csv?sig=old", "sha256": digest, "size_bytes": len(FILE)}]
    _expiring(export.stand_in, [*listed, "/b.csv?sig=old"], {"files": later})
    with pytest.raises(errors.ExportExpired, match=expected) as caught:
        export.variant.call("export", "2026-01-01", to=export.folder, check="none")
    assert caught.value.export_id == "e1"
    assert "sig" not in str(caught.value)
    assert [each.name for each in export.folder.iterdir() if each.suffix == ".csv"] == []


def test_files_of_two_exports_are_never_delivered_as_one(export: OneExport) -> None:
    """The id was asked for fresh addresses, and the service answers with another export."""

    def listed(export_id: str, sign: str) -> Say:
        files = [f"/a.csv?sig={sign}", f"/b.csv?sig={sign}"]
        return Say({"status": "done", "id": export_id, "files": files})

    export.says(
        bulk_export=[Say({"status": "pending", "id": "e1"}, status=202)],
        e1=[listed("e1", "old"), listed("e2", "new")],
        a_csv=[Say(FILE, headers=CSV)],
        b_csv=[Say(status=403), Say(status=403), Say(ANOTHER, headers=CSV)],
    )
    with pytest.raises(errors.ExportExpired, match=r"another export \(e2\)\. Order") as caught:
        export.variant.call("export", "2026-01-01", to=export.folder, check="none")
    assert caught.value.export_id == "e1"
    assert [each.name for each in export.folder.iterdir() if each.suffix == ".csv"] == []


@pytest.mark.parametrize("expired", [True, False], ids=["expired", "refused once"])
def test_an_address_that_is_refused_with_the_credential_and_without_is_asked_for_anew(
    export: OneExport, *, expired: bool
) -> None:
    refusals = [Say({"error": "Unauthorized"}, status=401)]

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"status": "done", "status_url": "/st", "url": "/f.csv?sig=old"})
        if asked.path == "/st":
            return Say({"status": "done", "url": "/f.csv?sig=new"})
        if "authorization" in asked.headers:
            return Say({"error": "A signed address takes no credential."}, status=400)
        if expired and "old" in asked.target:
            return refusals[0]
        return refusals.pop() if refusals and not expired else Say(FILE, headers=CSV)

    export.stand_in.script = script
    assert export.fetch() == FILE
    asked = [each.path for each in export.asked]
    assert asked[1:] == ["/f.csv"] * 3 + (["/st", "/f.csv"] if expired else [])


def test_an_address_that_stays_refused_says_to_start_again(export: OneExport) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"status": "done", "url": "/f.csv?sig=old"})
        return Say(status=400 if "authorization" in asked.headers else 401)

    export.stand_in.script = script
    export.fails(errors.ExportExpired, r"no longer offered \(401\)")
    assert len(export.asked) == 4


DAY = "2026-01-15"
EVENTS = 130


def probed(export: ExportProfile) -> ServiceProfile:
    return ServiceProfile(export=export, probe_date=dt.date(2026, 11, 26))


JOB = ExportProfile(
    {"id": "job.key", "status": "job.phase", "file": "job.place", "rows": "job.size"},
    {"processing": "kneading", "completed": "baked"},
)


def job(**fields: Any) -> dict[str, Any]:
    return {"job": fields, "id": "other", "status": "done", "url": "/wrong.csv"}


def test_an_export_is_read_by_its_names_and_words(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say(job(key="k 1", phase="kneading"), status=202)
        assert asked.path.endswith("/bulk-export/k%201")
        return Say(job(key="k 1", phase="Baked", place="/right.csv", size=2))

    bench.script = script
    variant = bench.open(service=probed(JOB))
    export = variant.call("start_export", DAY)
    assert (export.last_status.status_text, export.last_status.export_id) == ("kneading", "k 1")
    status = variant.on(export, "wait")
    assert (status.files[0].url, status.row_count) == (f"{bench.url}/right.csv", 2)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"phase": "burnt"}, "the state of an export is 'burnt'"),
        ({"phase": "baked", "url": "/x"}, "a finished export has no job.place. Keys seen: job, id"),
    ],
)
def test_a_changed_export_is_told(fields: dict[str, Any], words: str, bench: Bench) -> None:
    bench.says(Say(job(key="k", **fields)))
    variant = bench.open(service=probed(JOB))
    with pytest.raises(ProtocolError) as caught:
        variant.on(variant.call("start_export", DAY), "wait")
    assert f"The service changed since 2026-11-26: {words}" in caught.value.message


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("reference", {"id": "export_id", "status": "status", "file": "download_url"}),
        ("export-job", {"id": "job_id", "status": "status", "file": "url"}),
        ("link-header", {"id": "export_id", "status": "status", "file": "header Location"}),
    ],
)
def test_an_export_of_the_server_arrives_by_its_names(
    dialect: str, names: dict[Any, str], open_variant: OpenVariant, tmp_path: Path
) -> None:
    profile = ExportProfile(names, {"completed": "completed"})
    with LocalServer(sample=Sample(events_per_day=EVENTS), dialect=dialect) as server:
        variant = open_variant(server.url, api_key=server.api_key, service=probed(profile))
        path = variant.call("export", DAY, to=tmp_path / "day.csv")
        assert path.read_text().count("\n") == EVENTS + 1
