"""Each error on the page about troubleshooting is one that users see."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner
from tests.client.wire import served_with, sized

from adanalytics_cli.main import cli
from adanalytics_client import (
    AdAnalyticsError,
    AsyncClient,
    Client,
    Observer,
    RateLimited,
    RequestDue,
)
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer

if TYPE_CHECKING:
    from tests.client.wire import Wire

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/troubleshoot.md").read_text()
TITLES = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
COMMAND_LINE = (ROOT / "tests/cli/error_texts.txt").read_text().splitlines()


def fits(title: str, text: str) -> bool:
    """An ellipsis in a title stands for any text."""
    return re.search(re.escape(title).replace("…", ".+"), text) is not None


def plain_http(client: Client) -> None:
    Client(client.base_url.replace("http", "https"), api_key="k", partner="acme").dates()


def no_quota(client: Client) -> None:
    client = client.with_options(reserve=999, on_limit="raise")
    for _ in range(2):
        client.dates()


def no_time_stated(client: Client) -> None:
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(429))) as http:
        refused = Client(client.base_url, api_key="k", partner="acme", on_limit="raise", http=http)
        with suppress(RateLimited):
            refused.dates()
        refused.dates()


def wrong_token(client: Client) -> None:
    list(client.events("2026-01-15", resume="abc"))


def missing_extra(client: Client) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "polars", None)
        client.events("2026-01-15").to_polars()


def missing_extra_of_a_command(client: Client) -> None:
    settings = {"BASE_URL": client.base_url, "API_KEY": "k", "PARTNER": "acme"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "xlsxwriter", None)
        done = CliRunner().invoke(
            cli,
            ["dates", "-o", "days.xlsx"],
            env={f"ADANALYTICS_{name}": value for name, value in settings.items()},
        )
    raise AdAnalyticsError(done.stderr)


def two_loops(client: Client) -> None:
    other = AsyncClient(client.base_url, token=client.log_in(), partner="acme")
    with asyncio.Runner() as runner:
        runner.run(other.dates())
        try:
            asyncio.run(other.dates())
        finally:
            runner.run(other.aclose())


def two_syncs(client: Client) -> None:
    Dataset("events").sync(client, "2026-01-15")

    class Second(Observer):
        def due(self, _info: RequestDue) -> None:
            Dataset("events").sync(client)

    Dataset("events").sync(client.with_options(observer=Second()))


# What shows the errors that no command line of `error_texts.txt` meets.
OTHERS: dict[str, Callable[[Client], None]] = {
    "… does not speak https.": plain_http,
    "Quota used up; resuming at …": no_quota,
    "The service refused a request; asking again at …": no_time_stated,
    "resume: this is not a resume token of this version.": wrong_token,
    "This needs …": missing_extra,
    "… needs the '…' extra, which is not installed.": missing_extra_of_a_command,
    "The client was used in another event loop or process, which holds its connections.": two_loops,
    "Another process works on …": two_syncs,
}
CERTIFICATE = "The certificate of … is not trusted: …"


def test_the_page_has_errors_of_the_command_line_and_a_few_others() -> None:
    others = [title for title in TITLES if not any(fits(title, line) for line in COMMAND_LINE)]
    assert sorted(others) == sorted([*OTHERS, CERTIFICATE])


@pytest.mark.parametrize("title", OTHERS)
def test_an_error_of_the_page(
    title: str, reference: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        Client(
            reference.url, email=reference.email, password=reference.password, partner="acme"
        ) as client,
        pytest.raises(AdAnalyticsError) as caught,
    ):
        OTHERS[title](client)
    assert fits(title, str(caught.value))


def test_the_certificate_of_the_page(wire: Callable[..., Wire], certificate: Path) -> None:
    server = wire([sized(b"")], context=served_with(certificate))
    with (
        Client(server.url, api_key="k", partner="acme") as client,
        pytest.raises(AdAnalyticsError) as caught,
    ):
        client.dates()
    assert fits(CERTIFICATE, str(caught.value))
