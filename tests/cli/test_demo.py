"""The demo agrees with itself, and says so when it does not."""

import csv
from pathlib import Path

import httpx
import pytest
from tests.cli.run import Run

from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.demo.run import Demo, Story
from adanalytics_cli.server.demo_data import EMAIL, prepare_demo_data
from adanalytics_client import ExportJob
from adanalytics_server.admin import list_users
from adanalytics_server.local import LocalServer


def test_the_demo_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    invocation = Invocation()
    demo = Demo(tmp_path, invocation, Story(invocation), events_per_day=600)
    demo.run()
    told = capsys.readouterr().out
    assert "600 events in 25 requests" in told
    assert "the export has the same 600 events" in told
    assert all(len(line) <= 80 for line in told.splitlines())
    # The test server's own admin has a known password and must not stay behind.
    assert [user.email for user in list_users(demo.data)] == [EMAIL]


@pytest.mark.parametrize(("lost", "said"), [(1, "the export has 599 "), (None, r" with 0\.000")])
def test_a_difference_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int | None, said: str
) -> None:
    """An export without one of its events, or with all of them without revenue."""
    download = ExportJob.download

    def change(job: ExportJob, to: Path) -> Path:
        path = download(job, to)
        with path.open(newline="") as text:
            header, *rows = csv.reader(text)
        if lost is None:
            at = header.index("revenue")
            rows = [[*row[:at], "0.000000000", *row[at + 1 :]] for row in rows]
        with path.open("w", newline="") as text:
            csv.writer(text).writerows([header, *rows[lost or 0 :]])
        return path

    monkeypatch.setattr(ExportJob, "download", change)
    invocation = Invocation()
    with pytest.raises(CommandError, match=said):
        Demo(tmp_path, invocation, Story(invocation), events_per_day=600).run()


def test_the_demo_tells_once_how_to_sign_in(tmp_path: Path) -> None:
    first = prepare_demo_data(tmp_path, Invocation(), events=10)
    second = prepare_demo_data(tmp_path, Invocation(), events=10)
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


def test_keep_says_how_to_go_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Demo, "run", lambda _demo: None)
    kept = tmp_path / "kept"
    assert f"adanalytics serve --demo --data {kept}" in run("demo", "--keep", str(kept)).stdout
