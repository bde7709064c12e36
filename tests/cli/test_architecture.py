"""The arrows between the folders of the command line, read from its import statements."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "adanalytics_cli"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE
# The folders each folder may import; main and failures join them, and no folder knows those.
ARROWS: dict[str, set[str]] = {
    "core": set(),
    "console": {"core"},
    "output": {"core", "console"},
    "account": {"core", "console"},
    "commands": {"core", "console", "output", "account"},
    "server": {"core", "console", "output"},
    "demo": {"core", "console", "output", "server"},
}


class Import(NamedTuple):
    """One import of a module of the package; `late` when it does not run with the importer."""

    importer: str
    module: str
    late: bool


def imports() -> Iterator[Import]:
    """All imports within the package; it has no relative ones."""
    for path in SOURCE.rglob("*.py"):
        importer = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            else:
                continue
            for name in names:
                if name.startswith(f"{PACKAGE}."):
                    yield Import(importer, name, node not in tree.body)


def home(name: str) -> str:
    """The folder or top-level module of the package that a dotted name is in."""
    return name.split(".")[1]


FOUND = list(imports())


def test_every_folder_has_its_arrows() -> None:
    folders = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    assert folders == ARROWS.keys()


def test_folders_import_only_what_is_below_them() -> None:
    arrows = {(home(each.importer), home(each.module)) for each in FOUND}
    allowed = {(folder, other) for folder, below in ARROWS.items() for other in below | {folder}}
    assert {arrow for arrow in arrows if arrow[0] in ARROWS} <= allowed


def test_the_lists_of_commands_name_modules_that_exist() -> None:
    """The groups import a command by its name, which no import statement shows."""
    for path in (SOURCE / "main.py", SOURCE / "server" / "group.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and str(node.value).startswith(f"{PACKAGE}."):
                parts = str(node.value).partition(":")[0].split(".")
                place = SOURCE.parent.joinpath(*parts)
                assert place.is_dir() or place.with_suffix(".py").exists(), node.value


def test_modules_import_each_other_in_one_direction() -> None:
    """A late import, in a function or for type checkers, is no cycle at run time."""
    graph: dict[str, set[str]] = {}
    for importer, module, late in FOUND:
        if not late:
            graph.setdefault(importer, set()).add(module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"These modules import each other: {error.args[1]}")
