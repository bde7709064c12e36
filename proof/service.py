"""A reference server in a process of its own, with one day of generated events."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from proof.measuring import ProofError

PROGRAM = [sys.executable, "-m", "adanalytics_cli"]
DAY = "2026-01-15"
PARTNER = "acme"
# More than a run sends, so that each answer still states what is left, as usual.
REQUESTS_AN_HOUR = 1_000_000


@dataclass(frozen=True)
class Service:
    """A running server, and a folder that is removed when it ends."""

    url: str
    key: str
    folder: Path

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


def prepare(data: Path, events: int, *, days: int = 1) -> str:
    """Generate events, so many a day, and return a key to read them."""
    folder = ["--data", str(data)]
    _server("partner", "add", PARTNER, *folder)
    user = ["user", "add", "ada@example.org", "--role", "admin", "--password-stdin"]
    _server(*user, *folder, stdin="a long password\n")
    amount = ["--start", DAY, "--days", str(days), "--events-per-day", str(events)]
    _server("generate", "--partner", PARTNER, *amount, "--seed", "1", *folder)
    return _server("key", "create", "--user", "ada@example.org", "--name", "proof", *folder)


def _server(*words: str, stdin: str = "") -> str:
    command = [*PROGRAM, "server", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProofError(f"{command}: {done.stderr}")
    return done.stdout.strip()


@contextmanager
def serving(events: int, *, days: int = 1, options: Sequence[str] = ()) -> Iterator[Service]:
    """Serve that many events a day, with more requests an hour than anyone needs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data, ready = folder / "data", folder / "ready"
        key = prepare(data, events, days=days)
        limit = ["--rate-limit", str(REQUESTS_AN_HOUR), "--ready-file", str(ready)]
        command = [*PROGRAM, "serve", "--port", "0", "--data", str(data), *limit, *options]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            while not ready.exists():
                if server.poll() is not None:
                    raise ProofError((folder / "log").read_text())
                time.sleep(0.02)
            yield Service(ready.read_text().strip(), key, folder)
        finally:
            server.terminate()
            server.wait(timeout=30)
