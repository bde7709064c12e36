"""A server in the process of a test keeps out of its log and its traces."""

import logging
import sqlite3
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from adanalytics_server.local import LocalServer, event


@pytest.fixture
def unset_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a foreign project; the tests of this one show the log of the server."""
    monkeypatch.setattr(logging.getLogger("adanalytics_server"), "level", logging.NOTSET)


def test_it_logs_nothing_but_errors(unset_log: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with LocalServer() as server:
        server.add_events([event()])
        httpx.get(f"{server.url}/livez")
    assert {each.name for each in caplog.records} <= {
        "httpcore.connection",
        "httpcore.http11",
        "httpx",
    }


def test_it_makes_no_spans_and_uses_no_wrapped_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    def traced(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("an instrumentation wraps this function")

    monkeypatch.setattr(sqlite3, "connect", traced)
    with LocalServer() as server:
        server.add_events([event()])
        httpx.get(f"{server.url}/readyz")
    assert spans.get_finished_spans() == ()
