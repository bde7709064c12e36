"""The circle: probe a service, serve what was seen, probe that, and see the same."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.vocabularies import VOCABULARIES, as_csv

from adanalytics_client import Client, ServiceProfile
from adanalytics_client._shapes.drift import differences
from adanalytics_server.faults import DIALECTS
from adanalytics_server.faults.service_file import service_names, service_path
from adanalytics_server.local import LocalServer, Sample

# Their rows contradict their counts or their summaries, so the probe leaves open what it sees of a
# server that is consistent; `served-at` has another value in each response.
LESS_SEEN = {
    *("fields-counters", "times-local", "served-at", "total-low", "total-high", "page-empty"),
    *("days-other", "end-date-ignored", "accepted"),
}
# `make test-dialects` tries all of them.
IS_WHOLE_TABLE = os.environ.get("ADANALYTICS_DIALECTS") == "all"
SOME = ("reference", "classic,fields-ids", "bare,times-epoch", "fields-counters", "page-from-zero")
SAMPLE = Sample(days=3, events_per_day=100)


def probe(**options: Any) -> ServiceProfile:
    with (
        LocalServer(sample=SAMPLE, **options) as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
    ):
        return client.probe(with_export=True)


@pytest.mark.parametrize("dialect", DIALECTS if IS_WHOLE_TABLE else SOME)
def test_a_dialect_is_probed_served_and_probed_again(dialect: str, tmp_path: Path) -> None:
    profile, again = circle(
        probe(dialect=dialect, export_inline_max=10), tmp_path, export_inline_max=10
    )
    if {*dialect.split(",")} & LESS_SEEN:
        assert dialect == "served-at" or not differences(profile, again)
    else:
        assert timeless(again) == timeless(profile)


def timeless(profile: ServiceProfile) -> ServiceProfile:
    """Return a profile without the state that an export may have left before it is asked for."""
    assert profile.export is not None
    words = {**profile.export.words}
    words.pop("processing", None)
    return replace(profile, export=replace(profile.export, words=words))


@pytest.mark.parametrize("name", service_names() if IS_WHOLE_TABLE else ["counters", "local"])
def test_a_file_of_the_package_says_what_its_probe_sees(name: str) -> None:
    seen = probe(service=name, export_inline_max=10)
    file = ServiceProfile.read(service_path(name))
    assert not differences(file, seen)
    assert seen.columns == file.columns


def circle(
    profile: ServiceProfile, folder: Path, **options: Any
) -> tuple[ServiceProfile, ServiceProfile]:
    """Return a profile, and that of the server which responds by it."""
    path = folder / "service.toml"
    path.write_text(profile.to_toml(), encoding="utf-8")
    return profile, probe(service=path, **options)


def texts_of(rows: Iterable[Mapping[str, object]]) -> list[str]:
    return [json.dumps(row) for row in rows]


HOURS = range(24)
MIDNIGHT = 1_768_435_200
OWN: Mapping[str, Mapping[tuple[str, int], Sequence[str]]] = {
    "elastic": {
        ("2026-01-15", hour): texts_of(
            {
                "@timestamp": f"2026-01-15T{hour:02}:{number:02}:09.250Z",
                "hit_id": 10**17 + hour * 100 + number,
                "cost_micros": 1_000_000 + number,
                "geo": {"country": "DE", "zip": f"0{number:04}"},
                "tags": ["a", "b"],
                "bot": number % 2 == 0,
            }
            for number in range(12)
        )
        for hour in HOURS
    },
    "postgresql": {
        ("2026-01-15", hour): texts_of(
            {"seen": f"2026-01-15 {hour:02}:{number:02}:09.25+00", "n": number}
            for number in range(12)
        )
        for hour in HOURS
    },
    "all texts": {
        ("2026-01-15", hour): texts_of(
            {
                "Day": "2026-01-15",
                "Stamp": f"{MIDNIGHT + hour * 3600 + number * 60}",
                "Imps": str(number % 3),
                "Gross Amount": f"{number}.{number:04}",
                "Placement ID": f"PL-{number:05}",
                "Note": None if number % 3 else "late",
            }
            for number in range(12)
        )
        for hour in HOURS
    },
}


@pytest.mark.parametrize("name", [*OWN, *VOCABULARIES])
def test_a_vocabulary_is_probed_served_and_probed_again(
    httpserver: HTTPServer, tmp_path: Path, name: str
) -> None:
    service = ServiceOfRows(httpserver)
    service.rows = dict(OWN[name] if name in OWN else VOCABULARIES[name].rows)
    service.export = as_csv
    with service.client() as client:
        profile, again = circle(client.probe(with_export=True), tmp_path)
    assert [str(change) for change in differences(profile, again)] == []
    assert [*again.columns] == [*profile.columns]
    if name == "postgresql":
        assert again.columns["seen"].form == "YYYY-MM-DD hh:mm:ss.ff+hh"
