"""The demo agrees with itself, and notices when it does not."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from click.testing import Result

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.demo.check import (
    Check,
    Fact,
    add_up,
    compare_files,
    compare_summary,
    read_csv,
    read_jsonl,
)
from adanalytics_cli.demo.run import Demo, Story
from adanalytics_cli.server.demo_data import EMAIL, prepare_demo_data
from adanalytics_client import Summary
from adanalytics_server.admin import list_users
from adanalytics_server.local import LocalServer

Run = Callable[..., Result]


def fact(
    event_id: str = "a", *, event_type: str = "click", revenue: str = "0.5", filtered: bool = False
) -> Fact:
    return Fact(event_id, event_type, filtered, "2026-01-15", 7, None, Decimal(revenue), None)


def summary(*, clicks: int = 1, revenue: str = "0.5", total_clicks: int = 1) -> Summary:
    zeros = {
        "ad_requests": 0,
        "impressions": 0,
        "starts": 0,
        "first_quartiles": 0,
        "midpoints": 0,
        "third_quartiles": 0,
        "completions": 0,
        "skips": 0,
        "errors": 0,
        "cost": "0.000000000",
    }
    row = {**zeros, "campaign_id": 7, "clicks": clicks, "revenue": revenue}
    totals = {**zeros, "clicks": total_clicks, "revenue": "0.5"}
    return Summary.model_validate({"rows": [row], "totals": totals})


def test_the_demo_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invocation = Invocation()
    demo = Demo(tmp_path, invocation, Story(invocation), events_per_day=600)
    checks = demo.run()
    told = capsys.readouterr().out
    assert [check.differences for check in checks] == [()] * 5
    assert told.count("ok  ") == 5
    assert "600 events in 24 hourly requests" in told
    assert "pages and export hold the same 600 events" in told
    assert all(len(line) <= 80 for line in told.splitlines())
    # The test server's own admin has a known password and must not stay behind.
    assert [user.email for user in list_users(demo.data)] == [EMAIL]


def test_the_demo_tells_once_how_to_sign_in(tmp_path: Path) -> None:
    first = prepare_demo_data(tmp_path, Invocation(), events_per_day=10)
    second = prepare_demo_data(tmp_path, Invocation(), events_per_day=10)
    assert first.password is not None
    assert [*first.sign_in("http://here")] == [
        "Web area: http://here/",
        f"  e-mail    {EMAIL}",
        f"  password  {first.password}",
    ]
    assert [*second.sign_in("http://here")][-1] == "  password  the one shown on the first run"
    assert first.password not in repr(first)
    body = {"email": EMAIL, "password": first.password}
    with LocalServer(data=tmp_path) as server:
        assert httpx.post(f"{server.url}/api/auth/login", json=body).status_code == httpx.codes.OK


def test_both_files_count_the_same_whatever_their_format(tmp_path: Path) -> None:
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.csv"
    lines.write_text(
        '{"event_id":"a","event_type":"click","is_filtered":true,"event_date":"2026-01-15",'
        '"campaign_id":null,"demand_tag_id":3,"revenue":"0.000000001","cost":null,"new":[1]}\n'
    )
    table.write_text(
        "cost,revenue,demand_tag_id,campaign_id,event_date,is_filtered,event_type,event_id\n"
        ",0.000000001,3,,2026-01-15,true,click,a\n"
    )
    assert list(read_jsonl(lines)) == list(read_csv(table))


def test_filtered_events_count_as_events_only() -> None:
    counted = add_up([fact(filtered=True), fact("b")])
    assert (counted.events, counted.filtered) == (2, 1)
    assert counted.by(None)["total"]["revenue"] == Decimal("0.5")


def test_equal_sides_hold() -> None:
    assert compare_files(add_up([fact()]), add_up([fact()])).holds
    assert compare_summary(add_up([fact()]), summary(), "campaign").holds


@pytest.mark.parametrize(
    ("export", "said"),
    [
        ([], "1 event missing in the export, such as a"),
        ([fact(), fact("b")], "1 event only in the export, such as b"),
        ([fact(revenue="0.500000001")], "revenue: 0.500000000 by events, 0.500000001 by export"),
        ([fact(filtered=True)], "filtered: 0 in pages, 1 in the export"),
        ([fact(event_type="skip")], "clicks: 1 by events, 0 by export"),
    ],
)
def test_a_different_export_is_noticed(export: list[Fact], said: str) -> None:
    check = compare_files(add_up([fact()]), add_up(export))
    assert not check.holds
    assert any(said in line for line in check.differences)


def test_an_event_twice_is_noticed() -> None:
    twice = add_up([fact(), fact()])
    assert compare_files(twice, twice).differences[0] == "1 event twice in the events file"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (summary(clicks=2), "7, clicks: 1 by events, 2 by summary"),
        (summary(revenue="0.500000001"), "7, revenue: 0.500000000 by events, 0.500000001"),
        (summary(total_clicks=3), "totals, clicks: 1 by events, 3 by summary"),
        (Summary(), "7, clicks: 1 by events, 0 by summary"),
    ],
)
def test_a_different_summary_is_noticed(told: Summary, said: str) -> None:
    check = compare_summary(add_up([fact()]), told, "campaign")
    assert any(said in line for line in check.differences)


def test_a_mismatch_is_exit_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda _demo: [Check("it", ("a: 1 by x, 2 by y",))])
    result = run("demo")
    assert result.exit_code == 1
    assert "The numbers of the demo differ: it" in result.stderr


def test_keep_needs_a_new_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = run("demo", "--keep", str(tmp_path))
    assert result.exit_code == 2
    assert "is not empty" in result.stderr


def test_keep_says_how_to_go_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda _demo: [Check("it")])
    kept = tmp_path / "kept"
    assert f"adanalytics serve --demo --data {kept}" in run("demo", "--keep", str(kept)).stdout
