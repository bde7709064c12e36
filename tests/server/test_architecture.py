"""The arrows between the server's folders, read from the import statements of its source."""

from graphlib import TopologicalSorter

import pytest
from tests.arrows import check_one_direction, home, imports_of

PACKAGE = "adanalytics_server"
# What each folder and each module of the top level may import, itself aside. Faults, the controls
# and serving sit around the API: nothing below them knows that they are there.
ARROWS: dict[str, set[str]] = {
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
}
# They put the folders together, so they may import all of them.
JOINING = {"admin", "app", "local", "pytest_plugin", "remote"}
OWNERS = {"uvicorn": "serving", "jinja2": "web"}


def test_every_folder_and_module_has_its_arrows() -> None:
    names = {home(each.module) for each in imports_of(PACKAGE)} - {""}
    assert names == ARROWS.keys() | JOINING


def test_folders_import_only_what_is_below_them() -> None:
    wrong = {
        (each.module, each.name)
        for each in imports_of(PACKAGE)
        if each.name.startswith(f"{PACKAGE}.")
        and home(each.module) in ARROWS
        and home(each.name) not in ARROWS[home(each.module)] | {home(each.module)}
    }
    assert not wrong


def test_it_knows_neither_the_client_nor_the_command_line() -> None:
    others = ("adanalytics_client", "adanalytics_cli")
    assert not [each for each in imports_of(PACKAGE) if each.name.startswith(others)]


def test_the_arrows_have_one_direction() -> None:
    TopologicalSorter(ARROWS).prepare()


def test_modules_import_each_other_in_one_direction() -> None:
    check_one_direction(imports_of(PACKAGE))


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_has_one_owner(library: str) -> None:
    users = {
        home(each.module) for each in imports_of(PACKAGE) if each.name.partition(".")[0] == library
    }
    assert users == {OWNERS[library]}
