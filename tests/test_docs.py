"""The Python in the documents runs: each page from top to bottom, against a real server."""

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.stored_login import store_login

from adanalytics_server.local import LocalServer, Sample

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Their code runs with `make test-spark`, which installs what they need.
SPARK_PAGE = ROOT / "docs/how-to/use-spark.md"
TABLE_PAGE = ROOT / "docs/how-to/load-into-a-warehouse.md"
SPARK_PAGES = {SPARK_PAGE, TABLE_PAGE}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Named, as pytest finds new entry points only after the next installation.
PLUGINS = (
    "adanalytics_server.pytest_plugin",
    "adanalytics_client.pytest_plugin",
    "pytest_httpserver.pytest_plugin",
    "pytest_httpx",
    "pytest_httpx2",
    "respx.plugin",
)
OUTPUT = re.compile(r"^```python\n([^`]*)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")


def code_of(page: Path, *, tests: bool) -> list[str]:
    """Return the page's blocks that are test modules, or the ones that are not."""
    blocks = BLOCK.findall(page.read_text())
    return [block for block in blocks if ("def test_" in block) == tests]


def pages_with(*, tests: bool) -> list[Path]:
    return [page for page in PAGES if code_of(page, tests=tests)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """Two days, as the pages' examples expect them."""
    sample = Sample(start=date(2026, 1, 15), days=2, events_per_day=300, seed=7)
    with LocalServer(sample=sample) as running:
        yield running


@pytest.mark.parametrize(
    "page", [page for page in pages_with(tests=False) if page not in SPARK_PAGES], ids=name_of
)
def test_a_page_runs_from_top_to_bottom(
    page: Path,
    server: LocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # All pages together send more requests than the limit of an hour.
    server.reset()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    store_login(server.url, server.api_key)
    # As in a shell where the environment of the tests is active.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    names = {"__name__": "page"}
    printed = dict(OUTPUT.findall(page.read_text()))
    for block in code_of(page, tests=False):
        exec(compile(block, name_of(page), "exec"), names)
        output = capsys.readouterr().out
        assert "print(" not in block or printed.get(block, output) == output


def test_the_home_page_shows_what_its_code_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs/index.md"
    (block,) = code_of(page, tests=False)
    exec(compile(block, name_of(page), "exec"), {"__name__": "page"})
    assert f".no-copy }}\n{capsys.readouterr().out}```" in page.read_text()


def test_curl_talks_to_the_server(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing := [each for each in ("curl", "jq") if not shutil.which(each)]:
        pytest.skip(f"{' and '.join(missing)} not installed")
    page = ROOT / "docs/how-to/other-languages.md"
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
    subprocess.run(["sh", "-eu"], cwd=tmp_path, input=script, text=True, check=True, timeout=60)
    events = len((tmp_path / "events.jsonl").read_text().splitlines())
    assert (events, len((tmp_path / "events.csv").read_text().splitlines())) == (300, 301)
    assert (tmp_path / "refused.txt").read_text() == "429 5\n"


@pytest.mark.parametrize("page", pages_with(tests=True), ids=name_of)
def test_the_tests_on_a_page_pass(
    page: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # The tests of this project set them, and the plugin sets none that is set.
    monkeypatch.delenv("ADANALYTICS_QUOTA_LOG")
    monkeypatch.delenv("ADANALYTICS_ON_LIMIT")
    pytester.makepyfile("\n\n".join(code_of(page, tests=True)))
    plugins = [word for name in PLUGINS for word in ("-p", name)]
    done = pytester.runpytest_inprocess(*plugins, "--assert=plain", "-W", "error")
    assert done.parseoutcomes().keys() == {"passed"}
    # The count of requests would make tests of the next run wait.
    assert list(Path(os.environ["XDG_STATE_HOME"]).iterdir()) == []


def test_the_design_page_shows_what_is_there() -> None:
    page = ROOT / "docs/explanation/design.md"
    named = set(re.findall(r"`(\w+/\w+\.py)`", page.read_text()))
    assert len(named) > 20
    assert {each for each in named if not [*(ROOT / "src").glob(f"*/{each}")]} == set()
    drawing = (page.parent / "images/layers.svg").read_text()
    folders = {each.parent.name for each in (ROOT / "src").glob("adanalytics_*/*/__init__.py")}
    assert {each for each in folders if not re.search(rf">{each}<", drawing)} == set()


def test_the_recording_shows_the_tutorial() -> None:
    page = ROOT / "docs/tutorial/first-pull.md"
    picture = (page.parent / "images/first-pull.svg").read_text().partition('-matrix">')[2]
    shown = html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture)))
    blocks = re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    # The picture breaks long lines. `make docs-recording` renews both.
    assert "".join(shown.split()) == "".join("".join(blocks).split())
    assert blocks[2] in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [
        target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()
    ]
    assert broken == []
