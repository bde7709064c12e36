"""The arrows between the client's folders, read from the import statements of its source."""

from tests.arrows import SOURCES, check_one_direction, home, imports_of

PACKAGE = "adanalytics_client"
SOURCE = SOURCES / PACKAGE
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
FOUND = list(imports_of(PACKAGE))


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
    check_one_direction(FOUND)
