"""Exports by the names and words in the profile of the service."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_client import ProtocolError, ServiceProfile
from adanalytics_client._shapes.service import ExportProfile
from adanalytics_server.local import LocalServer, Sample

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


def test_an_export_is_read_by_its_names_and_words(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say(job(key="k 1", phase="kneading"), status=202)
        assert asked.path.endswith("/bulk-export/k%201")
        return Say(job(key="k 1", phase="Baked", place="/right.csv", size=2))

    stand_in.script = script
    variant = open_variant(service=probed(JOB))
    export = variant.call("start_export", DAY)
    assert (export.last_status.status_text, export.last_status.export_id) == ("kneading", "k 1")
    status = variant.on(export, "wait")
    assert (status.files[0].url, status.row_count) == (f"{stand_in.url}/right.csv", 2)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"phase": "burnt"}, "the state of an export is 'burnt'"),
        ({"phase": "baked", "url": "/x"}, "a finished export has no job.place. Keys seen: job, id"),
    ],
)
def test_a_changed_export_is_told(
    fields: dict[str, Any], words: str, open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(job(key="k", **fields)))
    variant = open_variant(service=probed(JOB))
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
