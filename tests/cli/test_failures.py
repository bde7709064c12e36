"""Every failure: its exit status, what is said about it, and in which form."""

import ast
import errno
import importlib
import json
import pkgutil
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden import check
from tests.test_architecture import SOURCES

from adanalytics_cli.console.redaction import redact
from adanalytics_cli.core.errors import ExitCode
from adanalytics_cli.core.remedies import WORDS
from adanalytics_cli.failures import _TABLE, explain
from adanalytics_client import Client, errors
from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.remedies import REMEDIES, remedy
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.usefixtures("service")


@pytest.mark.parametrize("entry", _TABLE)
def test_the_table_names_classes_that_exist(entry: str) -> None:
    package, _, name = entry.partition(".")
    top = importlib.import_module(package)
    names = [package]
    if package.startswith("adanalytics"):
        names += [each.name for each in pkgutil.walk_packages(top.__path__, f"{package}.")]
    # One after the other: a module further on may need a package that is not installed.
    found = (getattr(importlib.import_module(each), name, None) for each in names)
    assert any(isinstance(each, type) and issubclass(each, Exception) for each in found)


def test_every_error_of_the_client_is_in_the_table_or_below_one_that_is() -> None:
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.AdAnalyticsError):
            assert "unexpected" not in explain(error("it broke")).message


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError("x"), 2),
        (errors.InvalidRequest("x"), 2),
        (errors.NotFound("x"), 2),
        (errors.AuthenticationError("x"), 4),
        (errors.PermissionDenied("x"), 4),
        (errors.QuotaExceeded("x"), 5),
        (errors.RateLimited("x"), 5),
        (errors.ExportTimeout("x"), 5),
        (errors.RequestTimeout("x"), 6),
        (errors.TransportError("x"), 6),
        (errors.ServerError("x"), 6),
        (errors.ExportFailed("x"), 6),
        (errors.ProtocolError("x"), 7),
        (errors.ChecksumMismatch("x"), 7),
        (errors.DownloadError("x"), 7),
        (PermissionError(13, "Permission denied", "day.csv"), 1),
        (ZeroDivisionError("x"), 1),
    ],
)
def test_exit_status(error: Exception, code: int) -> None:
    assert explain(error).code == code


def test_the_numbers_scripts_depend_on() -> None:
    assert {each.name: int(each) for each in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "USAGE": 2,
        "PARTLY_DONE": 3,
        "NOT_SIGNED_IN": 4,
        "USED_UP": 5,
        "UNREACHABLE": 6,
        "DAMAGED": 7,
        "INTERRUPTED": 130,
        "CLOSED_PIPE": 141,
        "TERMINATED": 143,
    }


def test_the_request_id_is_told(service: LocalServer) -> None:
    """With -v on a line of its own, and as fields of an object: each of them once."""
    words = ("dates", "--partner", "nobody")
    assert run(*words).stderr == "Error: Not found (404).\nCheck --partner and --base-url.\n"
    facts = run("-v", *words).stderr.splitlines()[-1]
    url = f"{service.url}/api/partners/nobody/ad-analytics/dates"
    assert re.fullmatch(rf"\(request id [0-9a-f]{{32}}, {url}\)", facts)
    told = json.loads(run(*words, "-f", "json").stderr)
    assert re.fullmatch(r"[0-9a-f]{32}", told["request_id"])
    assert (told["error"], told["url"]) == ("Not found (404).", url)


def test_debug_adds_the_traceback_without_secrets() -> None:
    secret = "my-very-own-secret"
    result = run("--debug", "dates", "--partner", "nobody", env={"ADANALYTICS_API_KEY": secret})
    assert "Traceback (most recent call last)" in result.stderr
    assert "AuthenticationError" in result.stderr
    assert secret not in result.stderr


def test_debug_hides_secrets_that_an_error_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    def repeat(_client: Client) -> None:
        raise ZeroDivisionError("sent my-very-own-secret")

    monkeypatch.setattr(Client, "dates", repeat)
    result = run("--debug", "dates", env={"ADANALYTICS_API_KEY": "my-very-own-secret"})
    assert "Traceback (most recent call last)" in result.stderr
    assert "ZeroDivisionError: sent [hidden]" in result.stderr
    assert "my-very-own-secret" not in result.stderr


def test_no_defect_is_shown_as_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_client: Client) -> None:
        raise ZeroDivisionError("of a defect")

    monkeypatch.setattr(Client, "dates", fail)
    result = run("dates")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: Unexpected ZeroDivisionError: of a defect",
        "This is a bug. Run the command again with --debug and report the output.",
    ]


@pytest.mark.parametrize(
    ("error", "what", "remedy"),
    [
        (RuntimeError("can't start new thread"), "can't start new thread", "ulimit -u"),
        (MemoryError(), "There is not enough memory.", "fewer days"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files", "ulimit -n"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Cannot allocate memory", "programs"),
    ],
    ids=["threads", "memory", "files", "memory of the system"],
)
def test_what_ran_out_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, error: Exception, what: str, remedy: str
) -> None:
    def fail(_client: Client) -> None:
        raise error

    monkeypatch.setattr(Client, "dates", fail)
    result = run("dates")
    first, second = result.stderr.splitlines()
    assert (result.exit_code, first) == (1, f"Error: {what}")
    assert remedy in second
    assert "bug" not in second


@pytest.mark.parametrize(
    "error",
    [
        errors.ExportFailed("x" * 1_000_000, remedy="y" * 1_000_000),
        ZeroDivisionError("x" * 1_000_000),
    ],
    ids=["of the client", "of a defect"],
)
def test_a_long_text_from_elsewhere_is_cut(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_client: Client) -> None:
        raise error

    monkeypatch.setattr(Client, "dates", fail)
    for words in (["dates"], ["dates", "-f", "json"]):
        assert len(run(*words).stderr) < 2_000


_OF_PYTHON = re.compile(r"\b[a-z_]+=|\(\)|\b(base_url|moved_from|start_export|per_page)\b|\bPass ")


@pytest.mark.parametrize("code", sorted(REMEDIES.keys() | WORDS.keys()))
def test_a_remedy_about_python_has_words_of_the_command_line(code: str) -> None:
    stated = remedy(code, "Europe/Berlin '")
    text = explain(errors.ProtocolError("x", remedy=stated)).remedy
    assert text
    assert not _OF_PYTHON.search(text)
    assert "{" not in f"{stated}{text}"
    assert WORDS[code] != stated


def test_no_other_remedy_names_an_argument_of_python() -> None:
    """Of errors that a command line can meet; its own options are checked before."""
    stated: list[str] = []
    codes: set[str] = set()
    for path in (SOURCES / "adanalytics_client").rglob("*.py"):
        if path.name in ("testing.py", "otel.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            if name == "remedy":
                codes.add(ast.unparse(node.args[0]).removeprefix("f").strip("'"))
            elif name != "ConfigurationError":
                remedies = (each.value for each in node.keywords if each.arg == "remedy")
                stated += [ast.unparse(each) for each in remedies if not isinstance(each, ast.Call)]
    assert len(stated) > 50
    assert not [each for each in stated if _OF_PYTHON.search(each)]
    variable = {code for code in codes if "{" in code}
    assert len(variable) == 1
    assert codes - variable == {code for code in REMEDIES if not code.startswith("dataset_")}


def test_color_of_errors() -> None:
    assert "\x1b[31m" in run("--color", "always", "summary", "x").stderr
    assert "\x1b[" not in run("--color", "never", "summary", "x").stderr


_ERROR = re.compile(r'(?m)^(Error: |\{"error": )')
TEXTS = Path(__file__).with_name("error_texts.txt")
# What two runs do not have in common, and what stands for it.
_VARYING = (
    (re.compile(r"127\.0\.0\.1:\d{2,5}"), "127.0.0.1:PORT"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "REQUEST-ID"),
    (re.compile(r"exports/[0-9a-f-]{36}"), "exports/ID"),
    (re.compile(r"\d{8}T\d{6}Z|(20\d\d-\d\d-\d\d )?\d\d:\d\d:\d\d UTC"), "MOMENT"),
    # click before 8.3 says it otherwise.
    (re.compile(r"No such option: (--[a-z-]+)"), r"No such option '\1'."),
    (re.compile(r"Did you mean (--[a-z-]+)\?"), r"Did you mean '\1'?"),
    (re.compile(r"/\S*/(?=config/|state/)"), "HOME/"),
)


@pytest.fixture
def place(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalServer]:
    """The folder that the texts speak of, and a service whose faults go at the end."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(SystemClock, "sleeping", lambda _self, _until: ())
    Path("file").touch()
    Path("folder").mkdir()
    Path("others").mkdir()
    Path("others/thesis.txt").touch()
    assert run("sync", "2026-01-15", "--to", "events").exit_code == 0
    shutil.copytree("events", "broken")
    assert run("sync", "2026-01-15", "--to", "cut", "--partition", "hour").exit_code == 0
    Path("cut/data/date=2026-01-15/hour=13/part-0.parquet").write_bytes(b"PAR1")
    Path("cut/data/date=2026-01-15/hour=14/part-0.parquet").unlink()
    Path("cut/data/date=2026-01-15/notes.txt").touch()
    Path("cut/_adanalytics/manifest/2026-01-14.json").write_text("{}")
    assert run("server", "partner", "add", "acme", "--data", "data").exit_code == 0
    Path("broken/_adanalytics/dataset.json").write_text("{}")
    Path("export.job").write_text("{}")
    assert run("export", "2026-01-15", "--no-wait", "--job", "JOB").exit_code == 0
    Path("BAD").write_bytes(b"\xff{")
    Path("latin.sql").write_bytes("SELECT 'ü'".encode("latin-1"))
    Path("empty.sql").write_text(" -- nothing\n")
    Path("theirs.csv").write_text("Demand Tag,Imps\nOne,1\n")
    yield service
    service.faults.clear()


def answer(command: str, place: LocalServer) -> str:
    """What a command line shows, and the exit status."""
    words = shlex.split(command)
    program = words.index("adanalytics")
    settings = dict(word.split("=", 1) for word in words[:program])
    stdin = ""
    if "<<<" in words:
        stdin = words.pop() + "\n"
        words.pop()
    place.faults.clear()
    if fault := settings.pop("FAULT", ""):
        place.faults.add(fault)
    done = run(*words[program + 1 :], env=settings, stdin=stdin)
    assert not _ERROR.search(done.stdout), command
    text = f"{done.stdout}{done.stderr}".rstrip("\n")
    for varying, constant in _VARYING:
        text = varying.sub(constant, text)
    return f"{text}\n[{int(done.exit_code)}]\n"


def test_the_texts_of_errors(place: LocalServer) -> None:
    written = TEXTS.read_text()
    before = {*Path().iterdir()}
    blocks = re.split(r"(?m)^(?=\$ |# )", written)
    shown = "".join(
        f"{line}\n{answer(line[2:], place)}\n" if line.startswith("$ ") else block
        for block in blocks
        for line in [block.partition("\n")[0]]
    )
    check(TEXTS, shown, "UPDATE_ERROR_TEXTS")
    # Nothing is left of what was refused, and of a file that broke off its part.
    begun = {"fresh", "new", "day.csv.part", "day.csv.part.json"}
    assert {each.name for each in {*Path().iterdir()} - before} == begun
    assert [*Path("../state").rglob("logins.json")] == []


def test_every_error_is_one_or_two_lines_and_nothing_succeeds() -> None:
    for block in re.findall(r"(?ms)^\$ (.*?)\n\n", TEXTS.read_text()):
        command, *said, status = block.splitlines()
        assert re.fullmatch(r"\[[1-7]\]", status), command
        errors = [line for line in said if line.startswith(("Error: ", '{"error": '))]
        assert len(errors) == 1, command
        # Below the error of a query, its SQL is shown in a line of its own, and the place in one.
        shown = 2 * sum(line.startswith("LINE ") for line in said)
        assert len(said) - said.index(errors[0]) <= 2 + shown, command


@pytest.mark.parametrize(
    "text",
    [
        "the key s3cret+/= was refused",
        "Authorization: Bearer s3cret+/=",
        "authorization: bearer eyJhbGciOi.eyJz3cret.x-y_z",
        "key aak_s3cret-part_two",
        "http://ada:s3cret+/=@stats.example/path",
        '{"email": "a@b.c", "password": "s3cret"}',
        "password='s3cret'",
    ],
)
def test_secret_is_hidden(text: str) -> None:
    shown = redact(text, ["s3cret+/="])
    assert "s3cret" not in shown
    assert "z3cret" not in shown
    assert "[hidden]" in shown


@pytest.mark.parametrize("secret", ["k", "ey", "abc"])
def test_a_secret_of_few_letters_spoils_no_text(secret: str) -> None:
    text = "Check the key in --partner abc."
    assert redact(text, [secret]) == text
    assert redact("the key abcd was refused", ["abcd", secret]) == "the key [hidden] was refused"


def test_other_text_stays() -> None:
    text = "GET http://stats.example/api?hour=3 password of ada@example.org"
    assert redact(text, ["unrelated", ""]) == text
