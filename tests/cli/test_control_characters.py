"""Text of the service on the terminal: control characters are shown, files and pipes keep them."""

import json
import logging
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.cli.run import Run
from tests.client.dataset.service_of_rows import ServiceOfRows

from adanalytics_cli.console.progress import show_progress
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client import Client, ConfigurationError, ServerError, Summary
from adanalytics_client._base.escaping import visible
from adanalytics_client.dataset import Dataset
from adanalytics_client.observers import RetryPlanned
from adanalytics_server.local import LocalServer

NAME = "\x1b[31mRED\tx\ny"
SHOWN = r"\x1b[31mRED\tx\ny"


@pytest.fixture
def named(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service with one campaign and a currency that would colour a terminal."""
    row = {"campaign_id": 1, "campaign_name": NAME, "impressions": 7, "clicks": 1}
    summary = Summary.model_validate({"rows": [row], "currency": "\x9bUSD"})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: summary)


@pytest.mark.parametrize("form", [["-f", "table"], ["--chart"]])
def test_tables_and_charts(run: Run, named: None, form: list[str]) -> None:
    text = run("summary", "2026-01", "-g", "campaign", *form).stdout
    assert f"\n{SHOWN} " in text
    assert r"money in \x9bUSD" in text
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_data_keep_the_bytes(run: Run, named: None) -> None:
    (row,) = json.loads(run("summary", "2026-01", "-g", "campaign", "-f", "json").stdout)
    assert row["campaign_name"] == NAME
    assert NAME in run("summary", "2026-01", "-g", "campaign", "-f", "csv").stdout


@pytest.mark.parametrize("words", [["dates"], ["--debug", "dates"], ["doctor"]])
def test_errors(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    def refuse(_client: Client) -> None:
        raise ServerError("the service says \x1b]0;title\x07 again", status=500)

    monkeypatch.setattr(Client, "dates", refuse)
    text = run(*words).output
    assert r"the service says \x1b]0;title\x07 again" in text
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_an_error_as_json_keeps_the_bytes(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_client: Client) -> None:
        raise ConfigurationError("bad \x1b")

    monkeypatch.setattr(Client, "dates", refuse)
    assert json.loads(run("dates", "-f", "json").stderr)["error"] == "bad \x1b"


def test_steps_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(Invocation(verbose=True), live=False) as progress:
        progress.retry(RetryPlanned("http://h/", 1, 0.5, NAME))
        logging.getLogger("adanalytics_client").warning("%s", NAME)
    assert capsys.readouterr().err == f"trying again in 0.5 s: {SHOWN}\n{SHOWN}\n"


@pytest.mark.parametrize("words", [["query", "SELECT 1"], ["report", "day"]])
def test_warnings_about_a_dataset(
    run: Run, httpserver: HTTPServer, folder: Path, words: list[str]
) -> None:
    service = ServiceOfRows(httpserver)
    row = {"event_time": "2026-01-15T03:00:00Z", NAME: 1, NAME.upper(): 2}
    service.rows["2026-01-15", 3] = [json.dumps(row)]
    with service.client() as client:
        Dataset(folder).sync(client)
    text = run(*words, "--in", str(folder)).stderr
    assert r"events has \x1b[31MRED\tX\nY_1 for \x1b[31MRED\tX\nY." in text.replace("\n", " ")
    assert "\x1b" not in text


def test_what_is_escaped() -> None:
    assert visible("\x7f\x85\u2028\u202e") == r"\x7f\x85\u2028\u202e"
    text = "Café 100\xa0% 広告 👩‍💻"
    assert visible(text) == text
