"""The arrows between the client's folders, read from the import statements of its source."""

from tests.arrows import SOURCES, check_one_direction, home, imports_of

PACKAGE = "adanalytics_client"
SOURCE = SOURCES / PACKAGE
HTTP = {"httpx", "httpcore", "httpx2", "httpcore2", "h11"}
# Plain data: any folder may import these, as long as they need nothing of that folder.
PLAIN = {"errors", "models", "_version"}
# The folders each folder may import; the top-level modules join them.
ARROWS: dict[str, set[str]] = {
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
}
# Programs on top of the client: nothing of the client imports them.
ON_TOP: dict[str, set[str]] = {
    "dataset": set(ARROWS),
    "spark": {"dataset", *ARROWS},
    "dlt": {"_base", "_outputs"},
}
# What a dataset and Spark share with the client and users of the library do not need.
INTERNALS = (
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
)
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


def arrows_between_folders() -> set[tuple[str, str]]:
    """Which folder or top-level module imports which, within the client."""
    inside = [each for each in imports_of(PACKAGE) if each.name.startswith(PACKAGE)]
    return {(home(each.module), home(each.name)) for each in inside}


def test_every_folder_has_its_arrows() -> None:
    folders = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    # Spark and dlt are one module each.
    assert folders == ARROWS.keys() | ON_TOP.keys() - {"spark", "dlt"}


def test_nothing_of_the_client_imports_what_stands_on_top() -> None:
    arrows = arrows_between_folders()
    assert not {each for each in arrows if each[0] not in ON_TOP and each[1] in ON_TOP}


def test_folders_import_only_what_is_below_them() -> None:
    folders = ARROWS | ON_TOP
    arrows = {each for each in arrows_between_folders() if each[0] in folders}
    allowed = {(folder, other) for folder, below in folders.items() for other in below | {folder}}
    plain = {each for each in arrows if each[1] in PLAIN}
    # What stands on top may import the top-level modules too.
    top = {each for each in arrows if each[0] in ON_TOP and each[1] not in folders}
    assert not arrows - allowed - plain - top


def test_the_lowest_folder_knows_errors_only() -> None:
    names = {home(each.name) for each in imports_of(PACKAGE) if home(each.module) == "_base"}
    assert names & PLAIN <= {"errors"}


def test_only_one_folder_imports_the_http_library() -> None:
    users = {each.module for each in imports_of(PACKAGE) if each.name.partition(".")[0] in HTTP}
    # The fixture is a user, who passes a client of their own.
    assert {home(each) for each in users} - {"pytest_plugin"} == {"_io"}


def test_modules_import_each_other_in_one_direction() -> None:
    check_one_direction(imports_of(PACKAGE))


def test_only_these_internals_are_known_on_top() -> None:
    private = {
        each.name.removeprefix(f"{PACKAGE}.")
        for each in imports_of(PACKAGE)
        if home(each.module) in ON_TOP and each.name.startswith(f"{PACKAGE}._")
    } - {"__version__"}
    assert not {name for name in private if not name.startswith(INTERNALS)}
    for internal in INTERNALS:
        assert any(name.startswith(internal) for name in private), internal


def test_the_floors_of_a_dataset_import_only_what_is_below_them() -> None:
    arrows = {
        (module, name)
        for module, name, late in imports_of(PACKAGE)
        if not late and home(module) == home(name) == "dataset" and module.count(".") > 1
    }
    below = f"{PACKAGE}.dataset."
    assert len(arrows) > 100
    assert not {
        (module, name)
        for module, name in arrows
        if _floor(module.removeprefix(below)) < _floor(name.removeprefix(below))
    }


def test_the_page_of_the_design_names_each_module() -> None:
    page = (SOURCES.parent / "docs/explanation/design.md").read_text()
    modules = {
        *SOURCE.glob("[!_]*.py"),
        *SOURCE.glob("_[!_]*.py"),
        *SOURCE.glob("dataset/[!_]*.py"),
    }
    assert len(modules) > 36
    assert not {
        module.name for module in modules if f"`{module.name}`" not in page.replace("dataset/", "")
    }


def _floor(name: str) -> int:
    """The number of the floor whose longest entry begins the name."""
    entries = {each: number for number, floor in enumerate(FLOORS) for each in floor}
    return entries[max((each for each in entries if f"{name}.".startswith(f"{each}.")), key=len)]
