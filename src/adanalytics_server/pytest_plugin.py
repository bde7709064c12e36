"""Fixtures for pytest: a real server on the loopback interface, fresh for every test.

pytest loads this module by its entry point in every project that has adanalytics installed, so it
imports only pytest until a test asks for a fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="session")
def adanalytics_sample() -> "Sample | None":
    """The events on the server: 2,000 on 2026-01-15.

    Override it in a ``conftest.py`` for other events, or return ``None`` for none.
    """
    from adanalytics_server.local import Sample

    return Sample()


@pytest.fixture(scope="session")
def adanalytics_server(adanalytics_sample: "Sample | None") -> "Iterator[LocalServer]":
    """An ``adanalytics_server.local.LocalServer`` for the whole run.

    Each process of pytest-xdist has its own server, port and folder. Use ``adanalytics`` if tests
    must not affect each other.
    """
    from adanalytics_server.local import LocalServer

    with LocalServer(sample=adanalytics_sample) as server:
        yield server


@pytest.fixture
def adanalytics(adanalytics_server: "LocalServer") -> "Iterator[LocalServer]":
    """The server of the run, reset before and after the test."""
    adanalytics_server.reset()
    yield adanalytics_server
    adanalytics_server.reset()
