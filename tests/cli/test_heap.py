"""The heap's settings reach the C library, and none of them is needed."""

import ctypes

import pytest

from adanalytics_cli.core import heap


class Library:
    """A C library that notes the settings it gets."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def mallopt(self, what: int, value: int) -> int:
        self.told.append((what, value))
        return 1


def test_what_the_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    heap.share_heap()
    heap.keep_freed(40_000_000)
    assert library.told == [(-8, 1), (-3, 32 * 1024 * 1024), (-1, 40_000_000)]


def test_a_library_without_such_settings_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    heap.share_heap()
    heap.keep_freed(1)
