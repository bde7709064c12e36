"""An observer for tests."""

from typing import Any, TypeVar

from adanalytics_client import Observer

Info = TypeVar("Info")


class Notes(Observer):
    """Keeps all that an observer is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def due(self, info: Any) -> None:
        self.told.append(info)

    request = retry = wait = partial = page = drift = bytes = due

    def of(self, kind: type[Info]) -> list[Info]:
        return [info for info in self.told if isinstance(info, kind)]
