"""What the tests of sync share: a small service that is put back before each, and its data."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner, Result
from tests.cli.sync.faulty_s3 import FaultyS3, serve
from tests.client.dataset.shop import Service
from tests.server_answers import answer

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client.dataset.pull import fetch as dataset_fetch
from adanalytics_server.local import LocalServer, Sample


class Shop(Service):
    """A service, and the command line in its environment."""

    def sync(self, *words: str | Path) -> Result:
        """Run `adanalytics sync` in this process, at the moment `now`; by pages unless told."""
        way = () if "--via" in words else ("--via", "pages")
        return self.run("sync", *words, *way)

    def run(self, *words: str | Path) -> Result:
        """Run the command line in this process, at the moment `now`."""
        line = [str(word) for word in words]
        return CliRunner().invoke(cli, line, obj=Invocation(clock=lambda: self.now))

    def answer(
        self, operation: str, body: object, *, after: int = 0, times: int | None = None
    ) -> None:
        """Let the service answer an operation with this JSON."""
        self.server.faults.add(answer(operation, body, after=after, times=times))


@pytest.fixture(scope="session")
def running() -> Iterator[LocalServer]:
    sample = Sample(days=2, events_per_day=600, seed=7)
    with LocalServer(sample=sample, rate_limit=0) as server:
        yield server


@pytest.fixture
def shop(running: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Shop:
    running.reset()
    monkeypatch.setenv("ADANALYTICS_BASE_URL", running.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", running.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", running.partner)
    return Shop(running)


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[FaultyS3, str]]:
    """A server that speaks S3, and its address."""
    for name in ("moto", "flask", "obstore"):
        pytest.importorskip(name)
    faulty, url, stop = serve()
    yield faulty, url
    stop()


@pytest.fixture
def faulty(served: tuple[FaultyS3, str], monkeypatch: pytest.MonkeyPatch) -> FaultyS3:
    """The server without a fault, with one empty bucket, and an environment that uses it."""
    faulty, url = served
    # obstore refuses to start without certificates, also where it needs none.
    monkeypatch.delenv("SSL_CERT_DIR")
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    faulty.rest()
    urlopen(Request(f"{url}/moto-api/reset", method="POST"))
    urlopen(Request(f"{url}/bucket", method="PUT"))
    return faulty


@pytest.fixture
def hourly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages so small that a day is asked for by the hour, as a large one is."""
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 25)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the dataset of a test will be; it is not there yet."""
    return tmp_path / "events"


@pytest.fixture(scope="session")
def copy_of_sync(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Put a dataset of all days into a folder: the same words of options are pulled once."""
    pulled: dict[tuple[str, ...], Path] = {}

    def copy(shop: Shop, folder: Path, *words: str) -> Path:
        if words not in pulled:
            place = tmp_path_factory.mktemp("pulled") / "events"
            assert shop.sync("--to", place, *words).exit_code == 0
            shop.asked()
            pulled[words] = place
        return shutil.copytree(pulled[words], folder)

    return copy
