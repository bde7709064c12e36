"""`progress=True`: seen in a terminal and in a notebook, nowhere else; the observer hears all."""

import builtins
import io
import sys
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import Observer

DAY = "2026-01-15"
PAGE = {"events": [{"event_id": "a"}, {"event_id": "b"}], "pagination": {"has_more": False}}


class Terminal(io.StringIO):
    """A terminal in the place of stderr while it is entered."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
def test_a_table_shows_how_many_events_came(
    reference_variant: Variant, terminal: Terminal, method: str
) -> None:
    query = reference_variant.client.events(DAY, split="none")
    with redirect_stderr(terminal):
        assert len(reference_variant.on(query, method, progress=True)) == 1500
    assert "100%" in terminal.getvalue()
    assert "1,500 events" in terminal.getvalue()


def test_a_file_shows_events_and_an_export_bytes(
    reference_variant: Variant, terminal: Terminal, tmp_path: Path
) -> None:
    query = reference_variant.client.events(DAY)
    with redirect_stderr(terminal):
        assert reference_variant.on(query, "write", tmp_path / "x.jsonl", progress=True) == 1500
        assert "1,500 events" in terminal.getvalue()
        path = reference_variant.call("export", DAY, to=tmp_path / "x.csv", progress=True)
    assert "kB of" in terminal.getvalue()
    assert path.exists()


def test_the_rate_of_an_export_leaves_out_what_the_service_took(
    open_variant: OpenVariant, stand_in: StandIn, terminal: Terminal, tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[Say({"status": "pending", "status_url": "/state"})],
        state=[Say({"status": "pending"}), Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a,b\r\n")],
    )
    with redirect_stderr(terminal):
        open_variant().call("export", DAY, to=tmp_path / "x.csv", progress=True, check="none")
    assert "5 B of 5 B" in terminal.getvalue()
    assert "/s" not in terminal.getvalue()


def test_nothing_is_shown_where_stderr_is_no_terminal(
    reference_variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    query = reference_variant.client.events(DAY, split="none")
    reference_variant.on(query, "to_arrow", progress=True)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_it_in_the_output_of_the_cell(
    reference_variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ipywidgets; what was shown last is saved with the notebook."""

    class ZMQInteractiveShell:
        """Named as the shell of a notebook, by which rich recognises one."""

    drawn: list[str] = []

    def draw(live: Any) -> None:
        drawn.append(live._repr_mimebundle_(include=(), exclude=())["text/plain"])

    def display(live: Any, *, display_id: bool) -> SimpleNamespace:
        draw(live)
        return SimpleNamespace(update=draw)

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    query = reference_variant.client.events(DAY, split="none")
    reference_variant.on(query, "to_arrow", progress=True)
    assert "1,500 events" in drawn[-1]


def test_the_observer_of_the_client_hears_everything(
    open_variant: OpenVariant, stand_in: StandIn, terminal: Terminal, tmp_path: Path
) -> None:
    heard: list[str] = []

    class Everything(Observer):
        """Notes which of its methods was called."""

    def hear(name: str) -> Any:
        return lambda _self, _info: heard.append(name)

    for name in vars(Observer):
        if not name.startswith("_"):
            setattr(Everything, name, hear(name))

    def page(total: int) -> Say:
        return Say({**PAGE, "pagination": {"total": total, "has_more": False}})

    stand_in.says_by_name(
        events=[Say(status=503), Say(status=429), page(5), Say({"events": []}), page(2)],
        bulk_export=[Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a,b\r\n")],
    )
    variant = open_variant(observer=Everything())
    query = variant.client.events(DAY, split="none", on_drift="warn")
    with redirect_stderr(terminal):
        variant.call("export", DAY, to=tmp_path / "x.csv", progress=True, check="none")
        variant.on(query, "write", tmp_path / "x.jsonl", progress=True)
    assert {"due", "request", "retry", "wait", "page", "drift", "bytes"} <= set(heard)
