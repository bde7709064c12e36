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
    "_quota": {"_base"},
    "_io": {"_base"},
    "_profiles": {"_base", "_shapes"},
    "_call": {"_base", "_quota", "_json", "_shapes"},
    "_events": {"_base", "_call", "_json", "_shapes"},
    "_exports": {"_base", "_quota", "_call", "_events", "_json"},
    "_outputs": {"_base", "_json"},
    "_progress": {"_base", "_call", "_events"},
}
# Programs on top of the client: nothing of the client imports them.
ON_TOP: dict[str, set[str]] = {"dataset": set(ARROWS), "spark": {"dataset", *ARROWS}}


def arrows_between_folders() -> set[tuple[str, str]]:
    """Which folder or top-level module imports which, within the client."""
    inside = [each for each in imports_of(PACKAGE) if each.name.startswith(PACKAGE)]
    return {(home(each.module), home(each.name)) for each in inside}


def test_every_folder_has_its_arrows() -> None:
    folders = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    assert folders == ARROWS.keys() | ON_TOP.keys()


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
