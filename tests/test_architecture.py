"""The arrows between the folders of each package, read from the import statements of its source."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import pytest

from adanalytics_cli.main import COMMANDS
from adanalytics_cli.server.group import server

SOURCES = Path(__file__).parents[1] / "src"
CLIENT, SERVER, CLI = "adanalytics_client", "adanalytics_server", "adanalytics_cli"
# What each folder may import, itself aside. Of the server the modules of the top level are named,
# too: faults, the controls and serving sit around the API, and nothing below knows that they are.
ARROWS: dict[str, dict[str, set[str]]] = {
    CLIENT: {
        "_base": set(),
        "_json": {"_base"},
        "_shapes": {"_base", "_json"},
        "_probe": {"_base", "_call", "_exports", "_json", "_shapes"},
        "_quota": {"_base"},
        "_io": {"_base"},
        "_profiles": {"_base", "_shapes"},
        "_call": {"_base", "_quota", "_json", "_shapes"},
        "_lists": {"_base", "_call", "_json", "_shapes"},
        "_events": {"_base", "_call", "_json", "_lists", "_progress", "_shapes"},
        "_exports": {"_base", "_quota", "_call", "_events", "_json", "_shapes"},
        "_outputs": {"_base", "_json"},
        "_progress": {"_base", "_call"},
    },
    SERVER: {
        "clock": set(),
        "errors": set(),
        "logs": set(),
        "storage": {"clock"},
        "accounts": {"clock", "errors", "storage"},
        "dialect": {"accounts", "errors", "storage"},
        "settings": {"dialect"},
        "loading": {"clock", "storage"},
        "seed": {"clock", "loading", "storage"},
        "exports": {"dialect", "clock", "errors", "settings", "storage"},
        "context": {"accounts", "clock", "exports", "settings", "storage"},
        "api": {"accounts", "dialect", "clock", "context", "errors", "exports", "storage"},
        "serving": {"accounts", "dialect", "clock", "context", "errors", "storage"},
        "web": {
            "accounts",
            "dialect",
            "api",
            "clock",
            "context",
            "errors",
            "exports",
            "serving",
            "storage",
        },
        "faults": {"accounts", "dialect", "api", "clock", "errors", "serving", "storage"},
        "control": {
            "accounts",
            "api",
            "clock",
            "context",
            "errors",
            "faults",
            "loading",
            "seed",
            "serving",
            "storage",
        },
    },
    CLI: {
        "core": set(),
        "console": {"core"},
        "output": {"core", "console"},
        "account": {"core", "console"},
        "reconcile": {"core", "console", "output"},
        "commands": {"core", "console", "output", "account", "reconcile"},
        "assistants": {"core", "console", "account"},
        "server": {"core", "console", "output"},
        "demo": {"core", "console", "output", "server"},
    },
}
LOW = {*ARROWS[CLIENT]}
# Programs on top of the client: nothing else of the client imports them.
ON_TOP: dict[str, set[str]] = {
    "dataset": LOW,
    "spark": {"dataset", *LOW},
    "dlt": {"_base", "_outputs"},
}
ARROWS[CLIENT] |= ON_TOP
# Plain data: any folder of the client may import these, as long as they need nothing of it.
PLAIN = {"errors", "models", "_version"}
# They put the folders of the server together, so they may import all of them.
JOINING = {"admin", "app", "local", "pytest_plugin", "remote"}
HTTP = {"httpx", "httpcore", "httpx2", "httpcore2", "h11"}
# The only folder that imports a library. The fixture is a user, who passes a client of their own.
OWNERS = [
    (CLIENT, HTTP, {"_io", "pytest_plugin"}),
    (SERVER, {"uvicorn"}, {"serving"}),
    (SERVER, {"jinja2"}, {"web"}),
]
# What others share with the client and users of the library do not need.
INTERNALS: dict[str, tuple[str, ...]] = {
    # A dataset and Spark.
    CLIENT: (
        "_base.choices",
        "_base.compression",
        "_base.dates",
        "_base.files",
        "_base.locks",
        "_base.logs",
        "_base.observer",
        "_base.quantities",
        "_base.remedies",
        "_base.spelling",
        "_base.urls",
        "_base.validation",
        "_events.auto",
        "_events.page",
        "_export_files",
        "_json.columns",
        "_json.exact",
        "_json.fields",
        "_json.rates",
        "_json.types",
        "_lists.rows",
        "_lists.summary",
        "_outputs.arrow",
        "_view",
    ),
    CLI: (
        "_base.choices",
        "_base.dates",
        "_base.escaping",
        "_base.files",
        "_base.formats",
        "_base.logs",
        "_base.quantities",
        "_base.spelling",
        "_base.urls",
        "_json.columns",
        "_json.exact",
        "_json.fields",
        "_json.rates",
        "_probe",
        "_profiles",
        "_progress",
        "_shapes",
    ),
}
# The floors of a dataset, from the lowest: a module imports no module of a higher floor.
FLOORS = (
    ("errors",),
    ("storage", "records.layout"),
    ("hours", "records", "schema", "planning", "narrowing", "tables"),
    ("pull", "report", "runs", "service", "needs", "changes", "coverage"),
    ("staging", "update", "sync", "verify", "query"),
    ("tasks",),
    ("commit",),
    ("dataset",),
)


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


def arrows_of(package: str) -> set[tuple[str, str]]:
    """Which folder or top-level module imports which, within a package."""
    inside = [each for each in imports_of(package) if each.name.startswith(f"{package}.")]
    return {(home(each.module), home(each.name)) for each in inside}


@pytest.mark.parametrize("package", ARROWS)
def test_every_folder_has_its_arrows(package: str) -> None:
    source = SOURCES / package
    folders = {each.name for each in source.iterdir() if (each / "__init__.py").exists()}
    modules = {each.stem for each in source.glob("*.py")} - {"__init__"}
    named = ARROWS[package].keys() | (JOINING if package == SERVER else set())
    assert folders <= named <= folders | modules
    assert package != SERVER or modules <= named


@pytest.mark.parametrize("package", ARROWS)
def test_folders_import_only_what_is_below_them(package: str) -> None:
    arrows = ARROWS[package]
    free = PLAIN if package == CLIENT else set()
    wrong = {
        (folder, other)
        for folder, other in arrows_of(package)
        if folder in arrows and other not in arrows[folder] | {folder} | free
    }
    # What stands on top may import the top-level modules too.
    on_top = ON_TOP if package == CLIENT else {}
    assert not {each for each in wrong if each[0] not in on_top or each[1] in arrows}


def test_nothing_of_the_client_imports_what_stands_on_top() -> None:
    assert not {each for each in arrows_of(CLIENT) if each[0] not in ON_TOP and each[1] in ON_TOP}


def test_the_lowest_folder_knows_errors_only() -> None:
    names = {home(each.name) for each in imports_of(CLIENT) if home(each.module) == "_base"}
    assert names & PLAIN <= {"errors"}


def test_the_arrows_of_the_server_have_one_direction() -> None:
    TopologicalSorter(ARROWS[SERVER]).prepare()


@pytest.mark.parametrize(("package", "libraries", "owners"), OWNERS)
def test_a_library_has_one_owner(package: str, libraries: set[str], owners: set[str]) -> None:
    imports = imports_of(package)
    users = {home(each.module) for each in imports if each.name.partition(".")[0] in libraries}
    assert users == owners


@pytest.mark.parametrize("package", ARROWS)
def test_modules_import_each_other_in_one_direction(package: str) -> None:
    """A late import is no cycle at run time."""
    modules = {each.module for each in imports_of(package)}
    graph: dict[str, set[str]] = {}
    for module, name, late in imports_of(package):
        target = name if name in modules else name.rpartition(".")[0]
        if not late and target != module:
            graph.setdefault(module, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"These modules import each other: {error.args[1]}")


@pytest.mark.parametrize("package", INTERNALS)
def test_only_these_internals_of_the_client_are_imported(package: str) -> None:
    imports = imports_of(package)
    if package == CLIENT:
        imports = [each for each in imports if home(each.module) in ON_TOP]
    assert len({each.module for each in imports}) > 30
    others = [each.name for each in imports if each.name.startswith((f"{CLIENT}.", f"{SERVER}."))]
    private = {
        name.removeprefix(f"{CLIENT}.")
        for name in others
        if any(part.startswith("_") and not part.endswith("__") for part in name.split("."))
    }
    allowed = INTERNALS[package] + (("dataset.",) if package == CLIENT else ())
    assert not {name for name in private if not name.startswith(allowed)}
    for internal in INTERNALS[package]:
        assert any(name.startswith(internal) for name in private), internal


def test_the_floors_of_a_dataset_import_only_what_is_below_them() -> None:
    arrows = {
        (module, name)
        for module, name, late in imports_of(CLIENT)
        if not late and home(module) == home(name) == "dataset" and module.count(".") > 1
    }
    below = f"{CLIENT}.dataset."
    assert len(arrows) > 100
    assert not {
        (module, name)
        for module, name in arrows
        if _floor(module.removeprefix(below)) < _floor(name.removeprefix(below))
    }


def test_the_page_of_the_design_names_each_module() -> None:
    page = (SOURCES.parent / "docs/explanation/design.md").read_text()
    source = SOURCES / CLIENT
    modules = {
        *source.glob("[!_]*.py"),
        *source.glob("_[!_]*.py"),
        *source.glob("dataset/[!_]*.py"),
    }
    assert len(modules) > 36
    assert not {
        module.name for module in modules if f"`{module.name}`" not in page.replace("dataset/", "")
    }


def test_the_lists_of_commands_name_modules_that_exist() -> None:
    """The groups import a command by its name, which no import statement shows."""
    entries = [*COMMANDS.values(), *server.entries.values()]
    modules = {
        (SOURCES / CLI).joinpath(*each.target.partition(":")[0].split(".")) for each in entries
    }
    assert len(modules) > 15
    assert all(module.with_suffix(".py").exists() for module in modules)


def _floor(name: str) -> int:
    """The number of the floor whose longest entry begins the name."""
    entries = {each: number for number, floor in enumerate(FLOORS) for each in floor}
    return entries[max((each for each in entries if f"{name}.".startswith(f"{each}.")), key=len)]
