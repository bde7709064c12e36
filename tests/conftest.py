"""What every test shares: defaults, a state folder, no deadline for properties, and Ctrl-C."""

import atexit
import gc
import os
import re
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from random import Random
from shutil import disk_usage
from tempfile import mkdtemp
from zlib import crc32

import pytest
from hypothesis import settings

# Before the plugin for pytest sets others.
os.environ.setdefault("ADANALYTICS_QUOTA_LOG", "shared")
os.environ.setdefault("ADANALYTICS_ON_LIMIT", "wait")

# No test asks a service with a public certificate, and reading those of all authorities takes each
# process and each call of httpx 20 ms: a folder is looked through only when a certificate is there.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# Tests make 100,000 small files and folders. To rename or remove one may take a disk 5 ms.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and disk_usage(MEMORY).free > 4e9:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

CASES = int(os.environ.get("ADANALYTICS_CASES", "0"))

# The machine may be busy, and how long something takes is no test's matter. Of the examples of a
# property a part is tried, too, where cases are drawn.
settings.register_profile("patient", deadline=None, max_examples=25 if CASES else 100)
settings.load_profile("patient")

# A shell starts what runs in the background with Ctrl-C ignored, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same for nohup: a handler, unlike an ignored signal, does not pass to the programs under test.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# `timeout` ends a run as Ctrl-C does, so that servers stop and remove their folders.
if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
    signal.signal(signal.SIGTERM, signal.default_int_handler)

# What is collected, 400,000 objects, lives to the end: a search for garbage would find none there.
gc.disable()

_CLIENTS = re.compile(r"\ba?sync\b")

# Which process of pytest-xdist this is, such as gw0.
PROCESS = os.environ.get("PYTEST_XDIST_WORKER")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each process take the files in another order: what one compiles, the others only read.

    In a fresh clone each of them would compile all files, which takes seven seconds.
    """
    report = yield
    if PROCESS and isinstance(collector, pytest.Directory):
        Random(PROCESS).shuffle(report.result)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Leave out all but `ADANALYTICS_CASES` cases of each test, always the same ones.

    Of a case with both clients one is left out, too: they share all but how they send. It is done
    before pytest makes items of them, which takes seconds in each process.
    """
    yield
    if CASES < 1:
        return
    name = metafunc.definition.nodeid
    cases: dict[str, str] = {}
    for case in sorted(
        (call.id for call in metafunc._calls), key=lambda case: crc32(f"{name}[{case}]".encode())
    ):
        cases.setdefault(_CLIENTS.sub("", case), case)
    kept = [*cases.values()][:CASES]
    metafunc._calls = [call for call in metafunc._calls if call.id in kept]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROCESS:
        items.sort(key=lambda item: item.path)  # all processes must have the same order


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# Without it DuckDB's binding lists what it calls leaked. After pytest's own search for garbage.
atexit.register(gc.unfreeze)


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the state folders are: for each of its own, pytest lists all that it made before."""
    return tmp_path_factory.mktemp("states")


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, states: Path) -> None:
    """A state folder that no other test sees: a port and its key may come again within the hour."""
    monkeypatch.setenv("XDG_STATE_HOME", mkdtemp(dir=states))
