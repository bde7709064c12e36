"""Whose dataset it is: recorded after the first good answer, and changed only on request."""

from pathlib import Path

import pytest
from tests.server_answers import answer

from adanalytics_client import Client, ConfigurationError, NotFound, RetryPolicy, TransportError
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_server.local import LocalServer


def test_a_mistyped_partner_does_not_keep_the_folder(client: Client, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    with pytest.raises(NotFound):
        dataset.sync(client.for_partner("zzz"))
    assert dataset.holdings() is None
    assert dataset.sync(client).events == 600


def test_a_mistyped_address_does_not_keep_the_folder(client: Client, tmp_path: Path) -> None:
    dataset = Dataset(tmp_path)
    with Client("http://127.0.0.1:9", api_key="k", partner="acme") as mistyped:
        hasty = mistyped.with_options(retry=RetryPolicy(attempts=1))
        with pytest.raises(TransportError):
            dataset.sync(hasty)
    assert dataset.sync(client).events == 600


def test_a_dataset_without_hours_may_be_taken_over(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    server.faults.add(answer("dates", {"dates": []}))
    assert Dataset(tmp_path).sync(client).wanted is None
    server.faults.clear()
    held = Dataset(tmp_path).holdings()
    assert held is not None
    assert held.format == "parquet"
    assert Dataset(tmp_path, format="jsonl").sync(client).events == 600
    with pytest.raises(DatasetError, match="format jsonl, not parquet"):
        Dataset(tmp_path, format="parquet").sync(client)


def test_a_service_that_moved_keeps_its_dataset(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    dataset, former = Dataset(tmp_path), server.url
    dataset.sync(client, "2026-01-15")
    moved = former.replace("127.0.0.1", "localhost")
    with Client(moved, api_key=server.api_key, partner="acme") as now:
        with pytest.raises(DatasetError, match="is a dataset of service") as refused:
            dataset.sync(now)
        assert "moved_from" in refused.value.remedy
        with pytest.raises(DatasetError, match="is a dataset of service"):
            dataset.sync(now, moved_from="https://elsewhere.example")
        with pytest.raises(ConfigurationError):
            dataset.sync(now, moved_from="elsewhere")
        assert dataset.plan(now, moved_from=former).events > 0
        assert dataset.sync(now, moved_from=former).events == 300
        # The same command again, as in a crontab, and without the option.
        assert dataset.sync(now, moved_from=former).wanted == 0
        assert dataset.verify(now).is_whole
    with pytest.raises(DatasetError, match="is a dataset of service"):
        dataset.sync(client)
