"""The imports of a package, read from its source: what the tests of the architecture compare."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCES = Path(__file__).parents[1] / "src"


class Import(NamedTuple):
    """One imported name, dotted: `late` when it is not imported together with the module."""

    module: str
    name: str
    late: bool


@cache
def imports_of(package: str) -> list[Import]:
    """All imports in a package, with relative names resolved."""
    found: list[Import] = []
    for path in (SOURCES / package).rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
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
            found += [Import(module, name, node not in tree.body) for name in names]
    return found


def home(name: str) -> str:
    """The folder or top-level module of the package that a dotted name is in."""
    return f"{name}.".split(".")[1]


def check_one_direction(found: list[Import]) -> None:
    """Fail for modules that import each other; a late import is no cycle at run time."""
    modules = {each.module for each in found}
    graph: dict[str, set[str]] = {}
    for module, name, late in found:
        target = name if name in modules else name.rpartition(".")[0]
        if not late and target != module:
            graph.setdefault(module, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"These modules import each other: {error.args[1]}")
