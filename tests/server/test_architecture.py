"""The arrows between the server's folders, read from the import statements of its source."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "adanalytics_server"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE
# What each folder and each module of the top level may import, itself aside. Faults, the controls
# and serving sit around the API: nothing below them knows that they are there.
ARROWS: dict[str, set[str]] = {
    "clock": set(),
    "errors": set(),
    "logs": set(),
    "storage": {"clock"},
    "accounts": {"clock", "errors", "storage"},
    "answers": {"accounts", "errors"},
    "settings": {"answers"},
    "loading": {"clock", "storage"},
    "seed": {"clock", "loading", "storage"},
    "exports": {"answers", "clock", "errors", "settings", "storage"},
    "context": {"accounts", "clock", "exports", "settings", "storage"},
    "api": {"accounts", "answers", "clock", "context", "errors", "exports", "storage"},
    "serving": {"accounts", "answers", "context", "errors", "storage"},
    "web": {
        "accounts",
        "answers",
        "api",
        "clock",
        "context",
        "errors",
        "exports",
        "serving",
        "storage",
    },
    "faults": {"accounts", "answers", "api", "clock", "errors", "serving"},
    "control": {"api", "clock", "context", "errors", "faults", "serving", "storage"},
}
# They put the folders together, so they may import all of them.
JOINING = {"admin", "app", "local", "pytest_plugin"}
OWNERS = {"uvicorn": "serving", "jinja2": "web"}


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


def test_every_folder_and_module_has_its_arrows() -> None:
    names = {home(each.module) for each in FOUND} - {""}
    assert names == ARROWS.keys() | JOINING


def test_folders_import_only_what_is_below_them() -> None:
    wrong = {
        (each.module, each.name)
        for each in FOUND
        if each.name.startswith(f"{PACKAGE}.")
        and home(each.module) in ARROWS
        and home(each.name) not in ARROWS[home(each.module)] | {home(each.module)}
    }
    assert not wrong


def test_it_knows_neither_the_client_nor_the_command_line() -> None:
    others = ("adanalytics_client", "adanalytics_cli")
    assert not [each for each in FOUND if each.name.startswith(others)]


def test_the_arrows_have_one_direction() -> None:
    TopologicalSorter(ARROWS).prepare()


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


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_has_one_owner(library: str) -> None:
    users = {home(each.module) for each in FOUND if each.name.partition(".")[0] == library}
    assert users == {OWNERS[library]}
