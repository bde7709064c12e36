"""The arrows between the folders of the command line, read from its import statements."""

from tests.arrows import SOURCES, check_one_direction, home, imports_of

from adanalytics_cli.main import COMMANDS
from adanalytics_cli.server.group import server

PACKAGE = "adanalytics_cli"
SOURCE = SOURCES / PACKAGE
# The folders each folder may import; main and failures join them, and no folder knows those.
ARROWS: dict[str, set[str]] = {
    "core": set(),
    "console": {"core"},
    "output": {"core", "console"},
    "account": {"core", "console"},
    "reconcile": {"core", "console", "output"},
    "commands": {"core", "console", "output", "account", "reconcile"},
    "assistants": {"core", "console", "account"},
    "server": {"core", "console", "output"},
    "demo": {"core", "console", "output", "server"},
}
OTHERS = ("adanalytics_client.", "adanalytics_server.")
# What the command line shares with the client and users of the library do not need.
INTERNALS = (
    "adanalytics_client._base.choices",
    "adanalytics_client._base.dates",
    "adanalytics_client._base.escaping",
    "adanalytics_client._base.files",
    "adanalytics_client._base.formats",
    "adanalytics_client._base.logs",
    "adanalytics_client._base.quantities",
    "adanalytics_client._base.spelling",
    "adanalytics_client._base.urls",
    "adanalytics_client._json.columns",
    "adanalytics_client._json.exact",
    "adanalytics_client._json.fields",
    "adanalytics_client._json.rates",
    "adanalytics_client._probe",
    "adanalytics_client._profiles",
    "adanalytics_client._progress",
    "adanalytics_client._shapes",
)


def test_every_folder_has_its_arrows() -> None:
    folders = {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()}
    assert folders == ARROWS.keys()


def test_folders_import_only_what_is_below_them() -> None:
    arrows = {
        (home(each.module), home(each.name))
        for each in imports_of(PACKAGE)
        if home(each.module) in ARROWS and each.name.startswith(f"{PACKAGE}.")
    }
    allowed = {(folder, other) for folder, below in ARROWS.items() for other in below | {folder}}
    assert not arrows - allowed


def test_only_these_internals_of_the_client_and_none_of_the_server_are_imported() -> None:
    others = {each for each in imports_of(PACKAGE) if each.name.startswith(OTHERS)}
    private = {
        each
        for each in others
        if any(part.startswith("_") and not part.endswith("__") for part in each.name.split("."))
    }
    assert len({each.module for each in imports_of(PACKAGE)}) > 40
    assert not {each for each in private if not each.name.startswith(INTERNALS)}
    for internal in INTERNALS:
        assert any(each.name.startswith(internal) for each in private), internal


def test_the_lists_of_commands_name_modules_that_exist() -> None:
    """The groups import a command by its name, which no import statement shows."""
    entries = [*COMMANDS.values(), *server.entries.values()]
    modules = {SOURCE.joinpath(*each.target.partition(":")[0].split(".")) for each in entries}
    assert len(modules) > 15
    assert all(module.with_suffix(".py").exists() for module in modules)


def test_modules_import_each_other_in_one_direction() -> None:
    check_one_direction(imports_of(PACKAGE))
