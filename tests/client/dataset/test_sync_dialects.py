"""Every dialect of rows and ends: a sync holds every event once, or says that it does not."""

from pathlib import Path

import pytest
from tests.client.test_dialects import IS_WHOLE_TABLE, right_rows, rows_of, sample_of

from adanalytics_client import Client, ExportJob, QuotaPolicy, RetryPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_client.errors import AdAnalyticsError
from adanalytics_server.faults import ENDS, ROWS
from adanalytics_server.local import LocalServer, Sample

DIALECTS = {**ROWS, **ENDS}
# A client can get all of their rows; a dataset cannot hold them yet, or cannot tell that it does.
REFUSED = {"times-local", "total-capped"}


# Every third, but for `make test-dialects`.
@pytest.mark.parametrize("name", [*DIALECTS][:: 1 if IS_WHOLE_TABLE else 3])
def test_a_sync_loses_no_row_in_silence(name: str, tmp_path: Path) -> None:
    retry = RetryPolicy(attempts=1)
    with (
        LocalServer(sample=sample_of(name), dialect=name, rate_limit=0) as server,
        Client(
            server.url,
            api_key=server.api_key,
            partner="acme",
            quota=QuotaPolicy(limit=None),
            retry=retry,
        ) as client,
    ):
        try:
            report = Dataset(tmp_path / "events", format="jsonl").sync(client)
            problem = "; ".join(failed.message for failed in report.failed)
        except AdAnalyticsError as error:
            problem = str(error)
    if problem:
        assert not DIALECTS[name].is_whole or name in REFUSED, problem
        return
    parts = sorted((tmp_path / "events/data").rglob("*.jsonl"))
    rows, right = rows_of(b"".join(part.read_bytes() for part in parts)), right_rows(name)
    assert rows == right, f"{rows.total():,} of {right.total():,} rows"


@pytest.mark.parametrize("dialect", ["fields-counters", "fields-camel", "fields-ids"])
def test_a_deep_look_compares_events_of_any_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    download, day = ExportJob.download, "2026-01-15"

    def altered(job: ExportJob, path: Path) -> Path:
        download(job, path)
        path.write_bytes(path.read_bytes().replace(b",DE,", b",FR,", 1))
        return path

    with (
        LocalServer(dialect=dialect, sample=Sample(events_per_day=200)) as server,
        Client(server.url, api_key=server.api_key, partner="acme") as client,
    ):
        dataset = Dataset(tmp_path)
        dataset.sync(client, day, via="pages")
        assert dataset.verify(client, deep=True, until=day).is_whole
        monkeypatch.setattr(ExportJob, "download", altered)
        (problem,) = dataset.verify(client, deep=True, until=day).problems
    assert "differ from the export: country" in problem.what
