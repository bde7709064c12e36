"""What the reference server lets through, and where a secret of the client could be found."""

import base64
import logging
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import httpx

from adanalytics_client import AdAnalyticsError, Client, QuotaPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer, Sample
from proof import browser
from proof.environments import python_of
from proof.measuring import started, wait_until
from proof.report import Section, count_outcomes
from proof.service import PARTNER, PROGRAM, server_command

DAY = "2026-01-15"
SAMPLE = Sample(start=date(2026, 1, 15), days=2, events_per_day=100)
ROOT = Path(__file__).parent.parent
FUZZ = ROOT / "tests" / "server" / "fuzz"
SPARK_TESTS = "tests/spark/test_secrets.py"
EXAMPLES, QUICK_EXAMPLES = 40, 3
KEYS = "/settings/api-keys"
FAILED = "failed"


@dataclass
class Findings:
    """Checks by subject, and a line about each that failed."""

    checks: dict[str, int] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)

    def check(self, subject: str, holds: bool, what: str) -> None:
        """Count a check, and keep what failed."""
        self.checks[subject] = self.checks.get(subject, 0) + 1
        if not holds:
            self.failed.setdefault(subject, []).append(what)


@dataclass(frozen=True)
class Secrets:
    """Texts that must not be found, in each way in which they may be written."""

    plain: tuple[str, ...]

    def found_in(self, text: str | bytes) -> bool:
        held = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        return any(each in held for secret in self.plain for each in _written(secret))


def _written(secret: str) -> Iterator[bytes]:
    yield secret.encode()
    yield quote(secret, safe="").encode()
    yield base64.b64encode(secret.encode()).rstrip(b"=")
    yield repr(secret)[1:-1].encode()


def fuzz(server: LocalServer, quick: bool, found: Findings) -> None:
    """Let schemathesis send requests, by the configuration of the server's own test."""
    program = python_of("schemathesis").with_name("schemathesis")
    most = str(QUICK_EXAMPLES if quick else EXAMPLES)
    words = ["--config-file", str(FUZZ / "schemathesis.toml"), "run", "--max-examples", most]
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, *words, f"{server.url}/openapi.json"],
            cwd=folder,
            env={**os.environ, "FUZZ_API_KEY": server.api_key, "PYTHONPATH": str(FUZZ)},
            capture_output=True,
            text=True,
            check=False,
        )
    subject = "schemathesis, all checks"
    said = re.search(r"([\d,]+) generated", done.stdout)
    found.check(subject, done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:])
    found.checks[subject] = int(said[1].replace(",", "")) if said else 0


def browse(server: LocalServer, found: Findings) -> None:
    """Look at the headers of the pages and at the cookie, and act as another site."""
    with httpx.Client(base_url=server.url, headers={"Accept": "text/html"}) as http:
        for path in ("/", "/login", "/nothing", KEYS):
            _headers(http.get(path, follow_redirects=True), found)
        form = {"email": server.email, "password": server.password}
        answer = http.post("/login", data=form)
        cookie = answer.headers.get("set-cookie", "").lower()
        for part in ("httponly", "samesite=strict", "path=/"):
            found.check("session cookie", part in cookie, f"no {part} in {cookie}")
        found.check("session cookie", "domain=" not in cookie, cookie)
        secure = http.post("/login", data=form, headers={"X-Forwarded-Proto": "https"})
        has_secure = "; secure" in secure.headers.get("set-cookie", "").lower()
        found.check("session cookie", has_secure, "not secure behind a proxy with TLS")
        # Over plain HTTP a client keeps no cookie that is marked as secure.
        http.cookies.clear()
        http.post("/login", data=form)
        for path in ("/", "/month.csv", KEYS):
            answer = http.get(path)
            found.check("headers of pages", answer.status_code == 200, f"{path}: {answer}")
            _headers(answer, found)
        before = http.get(KEYS).text
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "nonsense"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": server.url.replace("127.0.0.1", "localhost")},
            {"Origin": f"{server.url}.evil.example"},
        ):
            for path in ("/login", "/logout", KEYS, f"{KEYS}/1/name", f"{KEYS}/1/delete"):
                answer = http.post(path, data={"name": "stolen", **form}, headers=headers)
                refused = answer.status_code == 403
                found.check("requests of other sites", refused, f"{path} {headers}: {answer}")
        unchanged = http.get(KEYS).text == before
        found.check("requests of other sites", unchanged, "a key was made, renamed or deleted")
        own = http.post(KEYS, data={"name": "mine"}, headers={"Sec-Fetch-Site": "same-origin"})
        found.check("requests of other sites", own.status_code == 303, f"its own: {own}")
        answer = http.get("/login", params={"next": "//evil.example"})
        found.check("redirects", "evil.example" not in answer.headers.get("location", ""), "next=")


def _headers(answer: httpx.Response, found: Findings) -> None:
    for name, part in (
        ("content-security-policy", "default-src 'none'"),
        ("content-security-policy", "frame-ancestors 'none'"),
        ("content-security-policy", "form-action 'self'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ):
        has = part in answer.headers.get(name, "")
        found.check("headers of pages", has, f"{answer.url}: no {part} in {name}")


@contextmanager
def everything_logged() -> Iterator[list[str]]:
    """Collect what any logger says, with the tracebacks."""
    lines: list[str] = []
    form = logging.Formatter("%(name)s %(message)s")

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{form.format(record)} {record.args!r}")

    root, collector = logging.getLogger(), Collector()
    level = root.level
    root.addHandler(collector)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(collector)
        root.setLevel(level)


def use_library(server: LocalServer, found: Findings) -> None:
    """Do what succeeds and what fails with marked secrets, and look where they could be."""
    wrong_key, wrong_password = "aak_marked-and-wrong", "marked pass/w%rd"
    secrets = Secrets((server.api_key, server.password, wrong_key, wrong_password))
    # Nobody listens there.
    nowhere = "http://127.0.0.1:1"

    def work(client: Client, folder: Path) -> None:
        client.dates()
        list(client.events(DAY))
        client.export(DAY, to=folder / "x.csv")
        Dataset(folder / "dataset").sync(client, DAY)

    ways: dict[str, Callable[[], Client]] = {
        "a key": lambda: _client(server.url, api_key=server.api_key),
        "a login": lambda: _client(server.url, email=server.email, password=server.password),
        "a wrong key": lambda: _client(server.url, api_key=wrong_key),
        "a wrong password": lambda: _client(
            server.url, email=server.email, password=wrong_password
        ),
        "no server": lambda: _client(nowhere, api_key=wrong_key),
        "no server to log in": lambda: _client(nowhere, email="a@b.c", password=wrong_password),
        "a user in the address": lambda: _client(
            nowhere.replace("//", f"//me:{wrong_key}@"), api_key=wrong_key
        ),
        "a key with a line break": lambda: _client(server.url, api_key=f"{wrong_key}\nx"),
    }
    for what, make in ways.items():
        shown: dict[str, list[str | bytes]] = {"repr": [], "error": [], "traceback": []}
        shown |= {"pickle": [], "log": []}
        with TemporaryDirectory() as name, everything_logged() as lines:
            try:
                with make() as client:
                    shown["repr"] += [repr(client), str(client), repr(vars(client))]
                    shown["pickle"].append(_pickled(client))
                    work(client, Path(name))
            except AdAnalyticsError as error:
                whole = traceback.TracebackException.from_exception(error, capture_locals=True)
                # The functions of this file have the secrets in variables of their own.
                frames = [each for each in whole.stack if each.filename != __file__]
                shown["traceback"] += [repr(each.locals) for each in frames]
                shown["error"] += [str(error), repr(error), *whole.format_exception_only()]
                shown["pickle"].append(_pickled(error))
            shown["log"] += lines
        for where, texts in shown.items():
            for text in texts:
                clean = not secrets.found_in(text)
                found.check(f"secrets: {where}", clean, f"{what}: {text!r}")


def _client(url: str, **access: str) -> Client:
    return Client(
        url,
        api_key=access.get("api_key"),
        email=access.get("email"),
        password=access.get("password"),
        partner="acme",
        quota=QuotaPolicy(log="memory"),
    )


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        return str(error).encode()


def use_command_line(server: LocalServer, found: Findings) -> None:
    """Run commands with secrets, right and wrong, and read all that they print and their words."""
    wrong = "aak_marked-and-wrong"
    password = "marked pass/w%rd"
    secrets = Secrets((server.api_key, server.password, wrong, password))
    with TemporaryDirectory() as folder:
        places = {f"XDG_{name}_HOME": folder for name in ("STATE", "CONFIG", "CACHE")}
        base = {**os.environ, **places, "ADANALYTICS_BASE_URL": server.url}
        base |= {"ADANALYTICS_PARTNER": server.partner}
        sign_in = ["login", "--email", server.email, "--password-stdin", "--store", "file"]
        for key, typed, words in (
            (server.api_key, "", ["dates"]),
            (server.api_key, "", ["status"]),
            (wrong, "", ["dates"]),
            (wrong, "", ["status", "-f", "json"]),
            (wrong, "", ["sync", DAY, "--to", f"{folder}/dataset"]),
            (None, password, sign_in),
            (None, server.password, sign_in),
            (None, "", ["doctor"]),
        ):
            access = {} if key is None else {"ADANALYTICS_API_KEY": key}
            process = subprocess.Popen(
                [*PROGRAM, "--debug", "--verbose", *words],
                env={**base, **access},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            argv = Path(f"/proc/{process.pid}/cmdline")
            if argv.exists():
                found.check("secrets: argv", not secrets.found_in(argv.read_bytes()), str(words))
            said, _ = process.communicate(typed, timeout=120)
            clean = not secrets.found_in(said)
            found.check("secrets: output with --debug", clean, f"{words}: {said}")


def read_server(found: Findings) -> None:
    """Misplace secrets in requests to a server, and read its log and its files."""
    right, wrong, email = "a long password", "marked pass/w%rd", "ada@example.org"
    with TemporaryDirectory() as name:
        data, log, ready = Path(name, "data"), Path(name, "log"), Path(name, "ready")
        user = ["user", "add", email, "--role", "admin", "--password-stdin"]
        server_command("partner", "add", PARTNER, data=data)
        server_command(*user, data=data, stdin=f"{right}\n")
        key = server_command("key", "create", "--user", email, "--name", "k", data=data)
        secrets = Secrets((key, right, wrong))
        words = ["serve", "--port", "0", "--data", str(data), "--ready-file", str(ready)]
        with started([*PROGRAM, "--debug", "--verbose", *words], log=log) as process:
            wait_until(ready.exists, process, log)
            with httpx.Client(base_url=ready.read_text().strip()) as http:
                dates, known = f"/api/partners/{PARTNER}/ad-analytics/dates", {"X-Api-Key": key}
                http.get(f"{dates}/{key}", headers={"Authorization": f"Bearer {key}", **known})
                http.get(dates, params={"key": key})
                http.get("/", headers={"User-Agent": key, "Referer": f"/{key}"})
                for password in (right, wrong):
                    form = {"email": email, "password": password}
                    http.post("/login", data=form)
                    http.post("/api/auth/login", json=form)
        lines = log.read_text().splitlines()
        found.check("secrets: log of the server", len(lines) >= 7, "it does not log requests")
        for line in lines:
            found.check("secrets: log of the server", not secrets.found_in(line), line)
        for file in [each for each in data.rglob("*") if each.is_file()]:
            clean = not secrets.found_in(file.read_bytes())
            found.check("secrets: files of the server", clean, file.name)


def use_browser(server: LocalServer, found: Findings) -> str:
    """Attack a visitor's session in Chromium; return why that cannot be tried, or nothing."""
    if (chromium := browser.program()) is None:
        return "no Chromium is installed"
    browser.visit(server, chromium, partial(found.check, "web area in Chromium"))
    return ""


def use_spark(found: Findings) -> str:
    """Run the tests that look for secrets in what Spark shows; return why they cannot run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", SPARK_TESTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if reason := re.search(r"^SKIPPED .*: (.+)$", done.stdout, re.MULTILINE):
        return reason[1]
    passed = re.search(r"(\d+) passed", done.stdout)
    for _ in range(int(passed[1]) if passed else 0):
        found.check("secrets: Spark", True, "")
    if done.returncode or passed is None:
        found.check("secrets: Spark", False, done.stdout[-3000:] + done.stderr)
    return ""


def measure(quick: bool) -> Section:
    """Attack the server, then look for secrets."""
    found = Findings()
    with LocalServer(sample=SAMPLE, rate_limit=0, export_inline_max=150) as server:
        fuzz(server, quick, found)
    missing = {}
    with LocalServer(sample=SAMPLE, rate_limit=0) as server:
        browse(server, found)
        missing["web area in Chromium"] = use_browser(server, found)
    with LocalServer(sample=SAMPLE, rate_limit=0) as server:
        use_library(server, found)
        use_command_line(server, found)
    read_server(found)
    missing["secrets: Spark"] = "not in a quick run" if quick else use_spark(found)
    for subject, lines in found.failed.items():
        for line in lines:
            print(f"{subject}: {line}")
    tries = {
        subject: (number, Counter({FAILED: len(found.failed.get(subject, []))}))
        for subject, number in found.checks.items()
    }
    section = count_outcomes("Security", tries, [FAILED], {FAILED: 0})
    not_tried = ([f"{what}: not tried, {why}", "0", ""] for what, why in missing.items() if why)
    section.rows.extend(not_tried)
    return section
