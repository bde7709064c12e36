"""Client, command line and server know the same things, and the pages name each of them.

A new grouping, field, format, operation or extra that one of them lacks fails here; CONTRIBUTING.md
says what to change for it.
"""

import io
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from fastapi.routing import APIRoute

from adanalytics_cli.assistants.tools import TOOLS
from adanalytics_cli.core.command import CommandGroup
from adanalytics_cli.main import COMMANDS
from adanalytics_cli.output.formats import FORMATS, Format, formats_with
from adanalytics_cli.reconcile.headings import FIELDS
from adanalytics_client import AsyncClient, Client, Event, SummaryRow
from adanalytics_client._base import formats as file_formats
from adanalytics_client._base.urls import OPERATIONS
from adanalytics_client._base.validation import EXTRA_OF
from adanalytics_client._json.columns import EVENT_COLUMNS, GROUP_COLUMNS, SUMMARY_COLUMNS
from adanalytics_client._json.fields import GROUPS, ID_OF
from adanalytics_client._json.rates import RATES
from adanalytics_client._outputs.open import open_output
from adanalytics_client._shapes.service import Grouping
from adanalytics_server.accounts.people import Role
from adanalytics_server.api import summaries
from adanalytics_server.api.requests import BulkExportRequest
from adanalytics_server.api.responses import SummaryRow as ServedRow
from adanalytics_server.api.routes import partner_router
from adanalytics_server.exports.files import FORMATS as EXPORT_FORMATS
from adanalytics_server.faults.service_file import Summary as SummaryFile
from adanalytics_server.storage import dimensions
from adanalytics_server.storage.events import EVENT_FIELDS

ROOT = Path(__file__).parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: Mapping[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]


def page(name: str) -> str:
    return (ROOT / name).read_text()


def option(command: str, flag: str) -> click.Option:
    group, *words = command.split()
    loaded: click.Command = COMMANDS[group].load()
    for word in words:
        assert isinstance(loaded, CommandGroup)
        loaded = loaded.entries[word].load()
    options = [each for each in loaded.params if isinstance(each, click.Option)]
    return next(each for each in options if flag in each.opts)


def choices(command: str, flag: str) -> tuple[str, ...]:
    kind = option(command, flag).type
    assert isinstance(kind, click.Choice)
    return tuple(kind.choices)


def test_all_know_the_same_groupings() -> None:
    assert GROUPS == dimensions.GROUPINGS == choices("summary", "--group-by")
    assert TOOLS["summary"].arguments["group_by"].choices == GROUPS
    assert get_args(Grouping) == ("none", *GROUPS)
    assert get_args(get_args(SummaryFile.__annotations__["columns"])[0]) == get_args(Grouping)
    assert GROUP_COLUMNS == dimensions.GROUP_COLUMNS
    # A report by people names a group in words of its own.
    assert {*GROUPS, *ID_OF.values()} <= {*FIELDS}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", ["docs/reference/command-line.md", "README.md"])
def test_pages_name_each_grouping(group: str, name: str) -> None:
    assert re.search(rf"`{group}`|[\[ |]{group}[\]|,]", page(name))


def test_an_account_takes_the_roles_of_the_server() -> None:
    assert choices("server user add", "--role") == get_args(Role)


def test_all_know_the_same_fields() -> None:
    assert EVENT_COLUMNS == EVENT_FIELDS == tuple(Event.model_fields)
    assert SUMMARY_COLUMNS == tuple(SummaryRow.model_fields) == tuple(ServedRow.model_fields)
    served = {**summaries.FRACTIONS, **summaries.PRICES}
    assert {name: rate[:2] for name, rate in RATES.items()} == served


def test_all_know_the_same_operations() -> None:
    routes = [route for route in partner_router.routes if isinstance(route, APIRoute)]
    paths = {route.path.split("/ad-analytics/")[1] for route in routes}
    assert {path.partition("/")[0] for path in paths} == OPERATIONS.keys()


@pytest.mark.parametrize(("resource", "name"), OPERATIONS.items())
def test_each_operation_has_methods_a_command_and_a_place_on_the_pages(
    resource: str, name: str
) -> None:
    assert callable(getattr(Client, name))
    assert callable(getattr(AsyncClient, name))
    assert COMMANDS[name].load().name == name
    assert f"client.{name}(" in page("README.md")
    assert re.search(rf"^\|.*`{name}`.*\|.*\|$", page("docs/reference/client.md"), re.MULTILINE)
    assert f"/ad-analytics/{resource}" in page("docs/reference/openapi.json")
    assert f"### adanalytics {name}" in page("docs/reference/command-line.md")


def test_all_know_the_same_formats() -> None:
    assert {*file_formats.FORMATS} <= FORMATS.keys()
    assert choices("events", "-f") == (*FORMATS,)
    assert choices("summary", "-f") == tuple(form.name for form in formats_with("parquet"))
    sent = get_args(BulkExportRequest.model_fields["format"].annotation)
    assert sent == file_formats.EXPORT_FORMATS == choices("export", "-f") == (*EXPORT_FORMATS,)
    for suffix, name in file_formats.SUFFIXES.items():
        assert suffix.removeprefix(".") in FORMATS[name].suffixes
        assert FORMATS[name].is_binary == (name in file_formats.BINARY)


@pytest.mark.parametrize("form", file_formats.FORMATS)
def test_write_has_a_class_for_each_format(form: str) -> None:
    open_output(io.BytesIO(), form).abort()


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_each_format_has_a_writer_and_a_place_on_the_pages(form: Format) -> None:
    assert form.writer or form.name in file_formats.FORMATS
    if form.writer:
        assert form.row_writer().__doc__
    assert f"`{form.name}`" in page("README.md").partition("The formats are ")[2].partition(". ")[0]
    how_to = page("docs/how-to/write-files-and-tables.md")
    for word in (f".{suffix}" for suffix in form.suffixes or [form.name]):
        assert f"`{word}`" in how_to or f"`{form.name}`" in how_to


@pytest.mark.parametrize("extra", [*EXTRAS])
def test_each_extra_has_a_place_on_the_pages(extra: str) -> None:
    assert f"| `{extra}` |" in page("docs/how-to/install.md")
    listed = page("README.md").partition("The extras are ")[2].partition(". ")[0]
    assert f"`{extra}`" in listed


def test_all_is_all_extras() -> None:
    (text,) = EXTRAS["all"]
    assert {*text.removeprefix("adanalytics[").removesuffix("]").split(",")} == EXTRAS.keys() - {
        "all"
    }


def test_the_makefile_installs_what_each_extra_needs() -> None:
    lists = re.findall(r"^\w*EXTRAS := (?:\$\(\w+\),)?(.*)$", page("Makefile"), re.MULTILINE)
    installed = {extra for line in lists for extra in line.split(",")}
    assert installed <= EXTRAS.keys()
    groups = PYPROJECT["dependency-groups"]
    packages = {package_of(each) for extra in installed for each in EXTRAS[extra]}
    packages |= {package_of(each) for name in ("test", "examples") for each in groups[name]}
    # A program is traced by the SDK, which depends on the API.
    packages.add("opentelemetry-api")
    for extra in EXTRAS.keys() - {"all"}:
        assert {package_of(each) for each in EXTRAS[extra]} <= packages, extra


def test_ci_runs_the_subjects_that_make_test_leaves_out() -> None:
    makefile, steps = page("Makefile").replace("\\\n", ""), page(".ci/run").splitlines()
    apart = re.findall(r"\$\((\w+)\)", re.findall(r"^APART := (.*)$", makefile, re.MULTILINE)[0])
    targets = re.findall(r"^(test-\w+):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    for subject in apart:
        paths = re.findall(rf"^{subject} := (.*)$", makefile, re.MULTILINE)[0].split()
        assert all((ROOT / path).exists() for path in paths)
        (target,) = [target for target, recipe in targets if re.search(rf"\b{subject}\)", recipe)]
        assert f"make {target}" in steps


def package_of(requirement: str) -> str:
    return re.split(r"[\[<>;=~ ]", requirement)[0]


def test_the_errors_name_extras_that_exist() -> None:
    names = {*EXTRA_OF.values()}
    place = re.compile(r'(?:MissingExtra\.check|import_extra)\("(\w+)"(?:, "(\w+)")?')
    for file in (ROOT / "src").rglob("*.py"):
        for package, name in place.findall(file.read_text()):
            extra = name or EXTRA_OF.get(package, package)
            assert package.replace("_", "-") in map(package_of, EXTRAS[extra]), package
            names.add(extra)
    names |= {form.extra[1] for form in FORMATS.values() if form.extra}
    assert names >= {"arrow", "excel", "sql"}
    assert names <= EXTRAS.keys()
