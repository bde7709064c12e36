"""The arrows between the client's folders, read from the import statements of its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "adanalytics_client"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE
HTTP = {"httpx", "httpcore", "h11"}
# Plain data: any folder may import these, as long as they need nothing of that folder.
PLAIN = {"errors", "models", "columns", "encoding", "_version"}
# The folders each folder may import; the top-level modules join them.
ARROWS: dict[str, set[str]] = {
    "_base": set(),
    "_json": {"_base"},
    "_quota": {"_base"},
    "_io": {"_base"},
    "_call": {"_base", "_quota", "_json"},
    "_events": {"_base", "_call", "_json"},
    "_exports": {"_base", "_call", "_json"},
    "_outputs": {"_base", "_json"},
}
# A program on top of the client: it may import all of it, and nothing of the client imports it.
ON_TOP = {"dataset"}


class Import(NamedTuple):
    """One import statement: `late` when it does not run with the module."""

    module: str
    name: str
    late: bool


def imports() -> Iterator[Import]:
    """All imports of the package, with relative names resolved."""
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        folder = ".".join(parts[:-1])
        module = folder if parts[-1] == "__init__" else ".".join(parts)
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = resolve_name("." * node.level + (node.module or ""), folder)
                names = [f"{origin}.{each.name}" for each in node.names]
            else:
                continue
            for name in names:
                yield Import(module, name, node not in tree.body)


def home(name: str) -> str:
    """The folder or top-level module of the package that a dotted name is in."""
    return f"{name}.".split(".")[1]


FOUND = list(imports())


def test_every_folder_has_its_arrows() -> None:
    folders = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    assert folders == ARROWS.keys() | ON_TOP


def test_nothing_of_the_client_imports_what_stands_on_top() -> None:
    users = {home(each.module) for each in FOUND if home(each.name) in ON_TOP}
    assert users == ON_TOP


def test_folders_import_only_what_is_below_them() -> None:
    arrows = {
        (home(each.module), home(each.name))
        for each in FOUND
        if home(each.module) in ARROWS and each.name.startswith(PACKAGE)
    }
    allowed = {
        (folder, other) for folder, below in ARROWS.items() for other in below | PLAIN | {folder}
    }
    assert not arrows - allowed


def test_the_lowest_folder_knows_errors_only() -> None:
    names = {home(each.name) for each in FOUND if home(each.module) == "_base"}
    assert names & PLAIN <= {"errors"}


def test_only_one_folder_imports_the_http_library() -> None:
    users = {each.module for each in FOUND if each.name.partition(".")[0] in HTTP}
    assert {home(each) for each in users} <= {"_io"}


def test_modules_import_each_other_in_one_direction() -> None:
    """What is imported late, in a function or for type checkers, is no cycle at run time."""
    modules = {each.module for each in FOUND}
    graph: dict[str, set[str]] = {}
    for module, name, late in FOUND:
        target = name if name in modules else name.rpartition(".")[0]
        if not late and target != module:
            graph.setdefault(module, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"These modules import each other: {error.args[1]}")
