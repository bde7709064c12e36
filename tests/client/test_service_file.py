"""The profile of a service as a file."""

import datetime as dt
from pathlib import Path

import pytest

from adanalytics_client import ConfigurationError, ServiceProfile
from adanalytics_client._shapes.service import (
    ColumnProfile,
    ExportProfile,
    HeaderProfile,
    PageProfile,
    SummaryProfile,
)

FULL = ServiceProfile(
    rows_key="report.hits",
    zone="+05:30",
    fields={"revenue": 'the "rev"\x7f'},
    time_field="ymdh",
    pages=PageProfile(
        total="header X-Total-Count",
        first=0,
        most=1000,
        days="exclusive",
        heeds={"hour": True, "page": False},
        empty="200 []",
        past_end="404",
        order="",
        stable=True,
    ),
    summary=SummaryProfile("$", {"none": ("n",), "day": ("date", "n")}, {"n": "event_type"}),
    export=ExportProfile({"file": "data.url"}, {"completed": "DONE"}, "state", ("a", "b"), False),
    headers=HeaderProfile("x-request-id", ("ratelimit",)),
    columns={
        "ymdh": ColumnProfile("text", "time", "never", 100, "YYYY-MM-DD hh:mm:ss"),
        "ein Feld.mit=allem": ColumnProfile("mixed", nulls="some"),
        "": ColumnProfile("null", nulls="always"),
    },
    probe_date=dt.date(2026, 11, 26),
)


@pytest.mark.parametrize("profile", [ServiceProfile(), FULL], ids=["empty", "full"])
def test_a_file_holds_the_whole_profile(tmp_path: Path, profile: ServiceProfile) -> None:
    path = tmp_path / "service.toml"
    path.write_text(profile.to_toml(), encoding="utf-8")
    assert ServiceProfile.read(path) == profile


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 2", "version 2; this adanalytics knows version 1"),
        ('version = "1"', "version '1'"),
        ("rows_keys = 1", "unknown key 'rows_keys'"),
        ("[pages]\ntotals = 1", "unknown key 'pages.totals'"),
        ("[columns.a]\ntype = 'text'\nkind = 1", "unknown key 'columns.a.kind'"),
        ("[columns.a]\ntype = 'texts'", "'texts'"),
        ("[pages]\nfirst = 'a'", "$.pages.first"),
        ("pages = 1", "$.pages"),
        ("[pages]\nfirst = 7", "$.pages.first"),
        ("[pages.heeds]\nhours = true", "$.pages.heeds"),
        ("[export.names]\nurl = 'x'", "$.export.names"),
        ("[export.words]\ndone = 'x'", "$.export.words"),
        ("[summary.columns]\ncountry = ['x']", "$.summary.columns"),
        ("zone = 'Mars'", "zone"),
        ("= 1", "Cannot read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        ServiceProfile.read(path)
    assert str(path) in caught.value.message
    assert words in caught.value.message
    assert caught.value.remedy not in caught.value.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--probe"):
        ServiceProfile.read(tmp_path / "none.toml")
