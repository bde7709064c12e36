"""The command line stands on what the client shows to everybody, and on nothing else of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import adanalytics_cli

FOLDER = Path(adanalytics_cli.__file__).parent


def imported_names(file: Path) -> Iterator[str]:
    """Every module and name that a file imports, dotted."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def test_nothing_private_of_the_client_or_the_server_is_imported() -> None:
    files = sorted(FOLDER.rglob("*.py"))
    assert len(files) > 50
    private = {
        f"{file.relative_to(FOLDER)}: {name}"
        for file in files
        for name in imported_names(file)
        if name.startswith(("adanalytics_client.", "adanalytics_server."))
        and any(part.startswith("_") and not part.endswith("__") for part in name.split("."))
    }
    assert not private
