"""Fixtures for pytest: a real server on the loopback interface, fresh for every test.

pytest loads this module by its entry point in every project that has adanalytics installed, so it
imports only pytest until a test asks for a fixture.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .local import Sample
    from .remote import ControlledServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a server that runs elsewhere."""
    parser.getgroup("adanalytics").addoption(
        "--adanalytics-url",
        metavar="URL",
        help="Use the server at this address, which has its test controls on, instead of our own.",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401  # pytest-xdist has no types
    """Refuse several processes of pytest-xdist on one server, which they would reset in turn."""
    processes = node.workerinput["workercount"]
    if processes > 1 and node.config.getoption("adanalytics_url"):
        raise pytest.UsageError(
            f"--adanalytics-url names one server, which {processes} processes of pytest-xdist "
            "cannot share. Add -n 0, or leave out the URL: then each process has its own server."
        )


@pytest.fixture(scope="session")
def adanalytics_sample(pytestconfig: pytest.Config) -> "Sample | None":
    """The events on the server: 2,000 on 2026-01-15, or those that a remote server has.

    Override it in a ``conftest.py`` for other events, or return ``None`` for none.
    """
    from .local import Sample

    return None if pytestconfig.getoption("adanalytics_url") else Sample()


@pytest.fixture(scope="session")
def adanalytics_own_data() -> "Callable[[ControlledServer], object] | None":
    """A function that puts your own data on the server, called once before the first test.

    Override it in a ``conftest.py``. What it adds survives each reset.
    """
    return None


@pytest.fixture(scope="session")
def adanalytics_shared(
    pytestconfig: pytest.Config,
    adanalytics_sample: "Sample | None",
    adanalytics_own_data: "Callable[[ControlledServer], object] | None",
) -> "Iterator[ControlledServer]":
    """An ``adanalytics_server.local.LocalServer`` for the whole run.

    Each process of pytest-xdist has its own server, port and folder. Use ``adanalytics`` if tests
    must not affect each other. With ``--adanalytics-url`` it is a ``RemoteServer``.
    """
    from .local import LocalServer, RemoteServer

    url = pytestconfig.getoption("adanalytics_url")
    kind = partial(RemoteServer, url) if url else LocalServer
    with kind(sample=adanalytics_sample) as server:
        if adanalytics_own_data is not None:
            adanalytics_own_data(server)
            server.keep()
        yield server


@pytest.fixture
def adanalytics(adanalytics_shared: "ControlledServer") -> "Iterator[ControlledServer]":
    """The server of the run, reset before and after the test."""
    adanalytics_shared.reset()
    yield adanalytics_shared
    adanalytics_shared.reset()
