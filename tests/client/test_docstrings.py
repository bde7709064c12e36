"""Everything that users call has an example, and every example runs.

Plain values and errors, which users only read, need none.

They run as they are written, one docstring after the other, against a reference server with two
days of 300 events: `https://stats.example` leads there, and the key `...` is a good one.
"""

import ast
import asyncio
import doctest
import importlib
import inspect
import io
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.client.public_names import ERRORS, HOMES, PUBLIC
from tests.stored_login import store_login

import adanalytics_client as package
from adanalytics_client._io.http import _DEFAULT_TIMEOUT
from adanalytics_client.testing import MovableClock
from adanalytics_client.types import Clock, Slice
from adanalytics_server.local import LocalServer, Sample

REFERENCE = Path(__file__).parents[2] / "docs/reference"
PAGES = "".join(page.read_text() for page in sorted(REFERENCE.glob("*.md")))
MODULES = re.findall(r"^::: adanalytics_client\.([a-z_]+)$", PAGES, re.MULTILINE)
ENTRIES = {*re.findall(r"^::: adanalytics_[\w.]+\.(\w+)$", PAGES, re.MULTILINE)}
SOURCE = Path(package.__file__).parent
ALIASES = {
    name
    for module in SOURCE.rglob("*.py")
    for name in re.findall(r"^([A-Z][A-Za-z]+) = (?!TypeVar)", module.read_text(), re.MULTILINE)
}
# Their methods are written or called by others than the user; the class's example shows how.
SHOWN_BY_THE_CLASS: set[type] = {package.Observer, Clock, Slice, MovableClock}


def things() -> dict[str, Any]:
    """All public classes and functions, by their names."""
    found: dict[str, Any] = {
        name: each for name, each in PUBLIC.items() if name != "Json" and inspect.isclass(each)
    }
    for each in MODULES:
        module = importlib.import_module(f"adanalytics_client.{each}")
        found |= {
            f"{each}.{name}": thing
            for name, thing in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(thing) or inspect.isfunction(thing))
            and (thing.__module__ == module.__name__ or name in getattr(module, "__all__", ()))
            and thing not in found.values()
        }
    return found


def methods(kind: type) -> dict[str, Any]:
    """Its public methods and properties, also those it has from a class that is not public."""
    public = [each for name, each in THINGS.items() if inspect.isclass(each) and each is not kind]
    inherited = {name for each in public if each in kind.__mro__ for name in vars(each)}
    found = {}
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        member = getattr(member, "__func__", getattr(member, "fget", member))
        ours = str(getattr(member, "__module__", "")).startswith("adanalytics_client")
        if (
            inspect.isfunction(member)
            and ours
            and not name.startswith("_")
            and name not in inherited
        ):
            found[name] = member
    return found


THINGS = things()
DOCUMENTED = THINGS | {
    f"{name}.{member}": function
    for name, kind in THINGS.items()
    if inspect.isclass(kind)
    for member, function in methods(kind).items()
}


def doc_of(name: str) -> str:
    return inspect.cleandoc(DOCUMENTED[name].__doc__ or "")


def must_show(name: str) -> bool:
    """Whether a user calls or makes it; the class's example shows its properties."""
    thing = DOCUMENTED[name]
    if inspect.isclass(thing) and (is_dataclass(thing) or issubclass(thing, (Exception, Enum))):
        return False
    owner, _, member = name.rpartition(".")
    kind = THINGS.get(owner)
    if not inspect.isclass(kind):
        return True
    a_property = isinstance(inspect.getattr_static(kind, member), property)
    return not (a_property or twin_of(name)) and SHOWN_BY_THE_CLASS.isdisjoint(kind.__mro__)


def twin_of(name: str) -> str | None:
    """The synchronous method that the docstring of an asynchronous one names as its description.

    Both have the same arguments (test_surface.py), so their text is written once.
    """
    twin = re.match(r"Like `(\w+\.\w+)`[,;]", doc_of(name)) if name.startswith("Async") else None
    return twin[1] if twin else None


@pytest.mark.parametrize("name", DOCUMENTED)
def test_it_is_described(name: str) -> None:
    text, twin = doc_of(name), twin_of(name)
    assert text
    if not inspect.isclass(DOCUMENTED[name]):
        assert not re.match(r"(The|An?|Whether|From)\b", text), "begin with a verb"
    # The reference shows one name a line with its type; of two, it shows neither.
    assert not re.search(r"^    [a-z_]+(, [a-z_]+)+: ", text, re.MULTILINE)
    # The reference takes a heading for one only after an empty line.
    assert not re.search(r"[^\n]\n(Args|Attributes|Examples|Other Args|Raises):\n", text)
    if twin is not None:
        assert twin == name.removeprefix("Async")
        assert twin in DOCUMENTED
    if must_show(name):
        assert re.search(r"^Examples:\n    >>> ", text, re.MULTILINE)


def test_every_type_of_an_argument_has_an_entry() -> None:
    """Else nobody could name it in an annotation."""
    things = [*DOCUMENTED.values(), *(kind.__init__ for kind in THINGS.values())]
    named = set()
    for each in things:
        code = getattr(each, "__code__", None)
        if code is not None and code.co_filename.startswith(str(SOURCE)):
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
            hints = [node.annotation for node in ast.walk(tree) if isinstance(node, ast.arg)]
            texts = [ast.unparse(hint) for hint in hints if hint is not None]
            named |= {word for text in texts for word in re.findall(r"\w+", text)}
    assert {"Day", "Split", "Via"} <= named & ALIASES
    assert (named & ALIASES) - ENTRIES == set()


def test_the_fields_of_a_value_are_in_its_entry() -> None:
    """As text in the docstring, or in the signature that the entry asks for."""
    hidden = {}
    for name, kind in THINGS.items():
        _, _, entry = PAGES.partition(f"\n::: {HOMES.get(name, package.__name__)}.{name}\n")
        options = re.match("(    .*\n)*", entry)
        if inspect.isclass(kind) and is_dataclass(kind) and "merge_init" not in f"{options}":
            own = [each.name for each in fields(kind) if each.name in kind.__annotations__]
            hidden[name] = [each for each in own if f"\n    {each}: " not in doc_of(name)]
    assert {name: missing for name, missing in hidden.items() if missing} == {}


# Of these, each kind has its own remedy.
BASES = {"AdAnalyticsError", "ExportError"}


@pytest.mark.parametrize("name", sorted(ERRORS - BASES))
def test_an_error_has_a_remedy_on_its_page(name: str) -> None:
    _, _, rest = (REFERENCE / "errors.md").read_text().partition(f"\n::: {HOMES[name]}.{name}\n")
    assert rest.lstrip().startswith("**Remedy:** ")


@pytest.mark.parametrize("name", sorted(ERRORS - BASES))
def test_an_error_has_an_example(name: str) -> None:
    page = (REFERENCE / "errors.md").read_text()
    examples = re.findall(r"^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert re.search(rf"\b{name}\b", "".join(examples)) or ">>>" in doc_of(name)


def test_the_defaults_on_the_page_of_the_quota_are_the_clients() -> None:
    page = " ".join((REFERENCE / "quota-and-retries.md").read_text().split())
    quota, retry = package.QuotaPolicy(), package.RetryPolicy()
    assert f"{quota.limit:,} requests per hour, two hours as the longest wait" in page
    assert quota.max_wait == 2 * 3_600
    assert f"five attempts in at most {retry.budget:.0f} seconds" in page
    assert retry.attempts == 5
    assert f"`timeout=` is {_DEFAULT_TIMEOUT:.0f} seconds" in page


def rerouted(request: httpx.Request, server: LocalServer) -> httpx.Request:
    """What is for `https://stats.example` goes to the server, with its key in place of dots."""
    if request.headers.get("authorization") == "Bearer ...":
        request.headers["authorization"] = f"Bearer {server.api_key}"
    if request.url.host == "stats.example":
        at = httpx.URL(server.url)
        request.url = request.url.copy_with(scheme="http", host=at.host, port=at.port)
        request.headers["host"] = f"{at.host}:{at.port}"
    return request


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    sample = Sample(start=date(2026, 1, 15), days=2, events_per_day=300, seed=7)
    with LocalServer(sample=sample, rate_limit=0) as running:
        yield running


@pytest.fixture
def names(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, Any]]:
    """What an example may use without saying where it comes from."""
    used: set[httpx.HTTPTransport] = set()
    send, asend = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        used.add(transport)
        return send(transport, rerouted(request, server))

    async def ahandle(
        transport: httpx.AsyncHTTPTransport, request: httpx.Request
    ) -> httpx.Response:
        return await asend(transport, rerouted(request, server))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", ahandle)
    environ = {"BASE_URL": "https://stats.example", "API_KEY": "...", "PARTNER": "acme"}
    for name, value in environ.items():
        monkeypatch.setenv(f"ADANALYTICS_{name}", value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    store_login("https://stats.example", "...", profile="night")
    public = {name.rpartition(".")[2]: thing for name, thing in THINGS.items()}
    usual = {"Decimal": Decimal, "Path": Path, "suppress": suppress, "pyarrow": pa}
    account = {"email": server.email, "password": server.password}
    yield {**public, **usual, **account, "UTC": UTC, "date": date, "datetime": datetime}
    # Not every example closes its client.
    for each in used:
        each.close()


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if ">>>" in doc_of(name)])
def test_its_example_runs(name: str, names: dict[str, Any]) -> None:
    kind = "AsyncClient" if name.startswith("Async") else "Client"
    wait = "await " if kind == "AsyncClient" else ""
    thing = DOCUMENTED[name]
    # A public class names the package as its module; its source has the names that it uses.
    home = package._HOME_OF.get(name, "errors") if inspect.isclass(thing) else ""
    if thing.__module__ == package.__name__:
        thing = importlib.import_module(f"adanalytics_client.{home}")
    else:
        thing = sys.modules[thing.__module__]
    names = vars(thing) | names
    with asyncio.Runner() as loop:
        run(f"opened = client = {kind}.from_env()", names, loop)
        try:
            if "job." in doc_of(name):
                run(f"job = {wait}client.start_export('2026-01-15')", names, loop)
            for each in doctest.DocTestParser().get_examples(doc_of(name)):
                said, error = run(each.source, names, loop)
                wanted = each.want if each.exc_msg is None else each.exc_msg
                came = said if error is None else error
                assert (error is None) == (each.exc_msg is None), f"{each.source}raised {error}"
                matches = doctest.OutputChecker().check_output(wanted, came, doctest.ELLIPSIS)
                assert matches, f"{each.source}said {came}"
        finally:
            run(f"{wait}opened.close()", names, loop)


def run(source: str, names: dict[str, Any], loop: asyncio.Runner) -> tuple[str, str | None]:
    """What a line says at the prompt of `python -m asyncio`, and the error it ends with."""
    code = compile(source, "<example>", "single", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with redirect_stdout(io.StringIO()) as said:
        try:
            made = eval(code, names)
            if inspect.iscoroutine(made):
                loop.run(made)
        except Exception as error:  # noqa: BLE001  # an example may end with any
            return said.getvalue(), f"{type(error).__name__}: {error}\n"
    return said.getvalue(), None
