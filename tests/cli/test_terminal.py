"""When colours and moving lines are used."""

import io

import pytest

from adanalytics_cli.console import terminal
from adanalytics_cli.core.invocation import ColorChoice
from adanalytics_cli.core.prose import fitted, wrapped


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def look_at(
    stream: io.StringIO, environment: dict[str, str], choice: ColorChoice = "auto"
) -> terminal.Terminal:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", environment)
        return terminal.look_at(stream, choice)


@pytest.mark.parametrize(
    ("choice", "environment", "on_screen", "in_pipe"),
    [
        ("auto", {}, True, False),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
    ],
)
def test_color(
    choice: ColorChoice, environment: dict[str, str], on_screen: bool, in_pipe: bool
) -> None:
    assert look_at(Screen(), environment, choice).color is on_screen
    assert look_at(io.StringIO(), environment, choice).color is in_pipe


def test_a_dumb_terminal_gets_no_moving_line() -> None:
    assert not look_at(Screen(), {"TERM": "dumb"}).interactive


def test_width_comes_from_columns_first() -> None:
    assert look_at(Screen(), {"COLUMNS": "132"}).width == 132
    assert look_at(Screen(), {"COLUMNS": "wide"}).width == 80


@pytest.mark.parametrize("width", [40, 60, 79])
def test_prose_is_wrapped_between_words_and_commands_still_run(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "rm 'my events/of a long name' && adanalytics sync 2026-01-15 --to 'my events'"
    text = f"The quota of this hour is used up, as the service says. To fix: {command}"
    lines = wrapped(text, width).split("\n")
    assert all(len(line) <= width for line in lines)
    assert " ".join(line.removesuffix("\\").strip() for line in lines) == text
    begin = next(index for index, line in enumerate(lines) if line.startswith("  rm"))
    assert all(line.endswith(" \\") for line in lines[begin:-1])
    monkeypatch.setenv("COLUMNS", str(width))
    assert (fitted(text, Screen()), fitted(text, io.StringIO())) == ("\n".join(lines), text)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["fail  login      The key was refused.", " " * 17 + "Sign in again."]),
        (36, ["fail  login      The key was", " " * 12 + "refused.", " " * 12 + "Sign in again."]),
    ],
)
def test_text_beside_a_label_is_indented(width: int, lines: list[str]) -> None:
    text = f"fail  login      The key was refused.\n{'':17}Sign in again."
    assert wrapped(text, width, 17).split("\n") == lines
