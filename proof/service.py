"""A reference server in a process of its own."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from adanalytics_server.admin import add_partner, add_user, create_key
from proof.measuring import ProofError, Running, started, wait_until

PROGRAM = [sys.executable, "-m", "adanalytics_cli"]
DAY = "2026-01-15"
PARTNER = "acme"
EMAIL = "ada@example.org"
# More than a run sends, so that each answer still states what is left, as usual.
REQUESTS_AN_HOUR = 1_000_000


@dataclass(frozen=True)
class Service:
    """A running server, and a folder that is removed when it ends."""

    url: str
    key: str
    folder: Path
    process: Running

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the programs read; no configuration of the user's is used."""
        return {
            "ADANALYTICS_BASE_URL": self.url,
            "ADANALYTICS_API_KEY": self.key,
            "ADANALYTICS_PARTNER": PARTNER,
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }

    @property
    def events_url(self) -> str:
        return f"{self.url}/api/partners/{PARTNER}/ad-analytics/events"

    @property
    def summary_url(self) -> str:
        return f"{self.url}/api/partners/{PARTNER}/ad-analytics/summary"


Fill = Callable[[Path], None]
"""Puts events into a data folder, before the server starts."""


def generated(events: int, *, days: int = 1) -> Fill:
    """Fill a folder with realistic events, so many a day."""
    amount = ["--start", DAY, "--days", str(days), "--events-per-day", str(events)]
    words = ["generate", "--partner", PARTNER, *amount, "--seed", "1"]

    def fill(data: Path) -> None:
        server_command(*words, data=data)

    return fill


def server_command(*words: str, data: Path, stdin: str = "") -> str:
    """Run `adanalytics server` on a data folder and return what it prints."""
    command = [*PROGRAM, "server", *words, "--data", str(data)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProofError(f"{command}: {done.stderr}")
    return done.stdout.strip()


@contextmanager
def serving(
    fill: Fill, *, limit: int = REQUESTS_AN_HOUR, options: Sequence[str] = ()
) -> Iterator[Service]:
    """Serve a partner with these events.

    Args:
        fill: puts the events into the data folder.
        limit: requests of a key in an hour.
        options: further options of `adanalytics serve`.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data"
        add_partner(data, PARTNER, name=PARTNER, currency="USD")
        add_user(data, EMAIL, password="a long password", role="admin", partners=())
        fill(data)
        key = create_key(data, EMAIL, name="k")
        words = ["--rate-limit", str(limit), *options]
        with serving_folder(data, options=words) as (url, process):
            yield Service(url, key, folder, process)


@contextmanager
def serving_folder(data: Path, *, options: Sequence[str]) -> Iterator[tuple[str, Running]]:
    """Serve an existing data folder in a process of its own, and give its address."""
    with TemporaryDirectory() as name:
        log, ready = Path(name, "log"), Path(name, "ready")
        command = [*PROGRAM, "serve", "--port", "0", "--data", str(data)]
        command += ["--ready-file", str(ready), *options]
        with started(command, log=log) as process:
            wait_until(ready.exists, process, log)
            yield ready.read_text().strip(), Running(process.pid)
