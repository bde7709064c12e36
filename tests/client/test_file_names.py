"""The names that the files of an export get in a folder, where the service's own do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.client.conftest import Asked, Say, StandIn, World


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["a", "a.part"], ["a", "2-a.part"]),
        (["a.part", "a"], ["a.part", "2-a"]),
        (["a.part.json", "a"], ["a.part.json", "2-a"]),
        (["a", "3-a", "a"], ["a", "3-a", "3-3-a"]),
        (["a.csv", "A.csv"], ["a.csv", "2-A.csv"]),
        (["../../x", "..", "/", "a\0b", "a\nb", "\ud800"], ["x", *(f"part-{n}" for n in "23456")]),
        (["é" * 150 + ".csv.gz"] * 2, ["é" * 124 + ".csv.gz", "2-" + "é" * 123 + ".csv.gz"]),
        (
            ["x" * 200 + "." + "y" * 200] * 2,
            ["x" * 200 + "." + "y" * 54, "2-" + "x" * 200 + "." + "y" * 52],
        ),
    ],
)
def test_each_file_arrives_under_a_name_of_its_own(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    given: list[str],
    made: list[str],
) -> None:
    files = [{"url": f"/{number}", "name": name} for number, name in enumerate(given)]

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "done", "files": files})
        return say(asked.path.encode(), headers={"Content-Type": "text/csv"})

    stand_in.script = script
    job = world.call("start_export", "2026-01-01")
    world.on(job, "download", tmp_path)
    content = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert content == {name: f"/{number}" for number, name in enumerate(made)}
