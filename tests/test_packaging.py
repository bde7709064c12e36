"""The distribution is what it says: bounds that are tested, packages that are typed."""

import json
import re
import tomllib
from collections.abc import Iterator
from io import BytesIO
from itertools import product
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
SBOM = "adanalytics.cdx.json"
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = PYPROJECT["project"]
BUILD_PINS: list[str] = PYPROJECT["build-system"]["requires"]


def test_the_lower_bounds_are_the_versions_that_are_tested() -> None:
    extras = PROJECT["optional-dependencies"]
    bounds = list(PROJECT["dependencies"])
    for extra in ("server", "keyring", "arrow", "excel", "png", "pandas", "polars", "sql", "otel"):
        bounds += extras[extra]
    # Those for Windows are not installed here.
    here = {re.split("[,;]", bound)[0] for bound in bounds if "== 'win32'" not in bound}
    stated = sorted(bound.replace(">=", "==") for bound in here)
    tested = (ROOT / "constraints-lowest.txt").read_text().splitlines()[1:]
    assert tested == stated


def test_the_lock_is_of_the_stated_bounds() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (metadata,) = (each["metadata"] for each in packages if each["name"] == PROJECT["name"])
    entries = [*metadata["requires-dist"], *metadata["requires-dev"]["test"]]
    locked = {(each["name"], SpecifierSet(each.get("specifier", ""))) for each in entries}
    bounds = [*PROJECT["dependencies"], *PYPROJECT["dependency-groups"]["test"]]
    bounds += [bound for extra in PROJECT["optional-dependencies"].values() for bound in extra]
    stated = {(each.name, each.specifier) for each in map(Requirement, bounds)}
    assert locked == {pair for pair in stated if pair[0] != PROJECT["name"]}, "Run uv lock."


def test_only_two_packages_have_an_upper_bound() -> None:
    """They are httpx, whose previews of version 1 have another interface, and uvicorn.

    The server is a subclass of uvicorn's protocol. https://pypi.org/project/httpx/#history
    """
    extras = PROJECT["optional-dependencies"].values()
    bounds = [*PROJECT["dependencies"], *(bound for extra in extras for bound in extra)]
    bounded = [each for each in bounds if re.search(r"<|~=|==", each.partition(";")[0])]
    assert bounded == ["httpx>=0.28.1,<1", "uvicorn>=0.30,<1"]


def test_the_licence_of_each_dependency_is_listed() -> None:
    table = (ROOT / "docs/explanation/policy.md").read_text().partition("## Licences")[2]
    listed = {(name, extra) for row in table.splitlines()[6:] for name, extra in pairs(row)}
    groups = {"always": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    stated = {(re.split(r"[\[<>;]", each)[0], name) for name in groups for each in groups[name]}
    assert listed == {pair for pair in stated if pair[1] != "all"}


def pairs(row: str) -> Iterator[tuple[str, str]]:
    """Yield each package of a table's row with each of its extras."""
    _, packages, _, extras, _ = row.split("|")
    names = re.sub(r"\(.*?\)|`| ", "", packages).split(",")
    return product(names, re.sub("[` ]", "", extras).split(","))


@pytest.mark.parametrize("package", ["adanalytics_client", "adanalytics_server", "adanalytics_cli"])
def test_every_package_is_marked_as_typed(package: str) -> None:
    assert (ROOT / "src" / package / "py.typed").is_file()


@pytest.mark.parametrize(
    ("package", "others"), [("server", "client|adanalytics_cli"), ("client", "cli")]
)
def test_a_package_knows_none_that_stands_on_it(package: str, others: str) -> None:
    forbidden = re.compile(rf"\b(?:adanalytics_{others})\b")
    files = (ROOT / "src" / f"adanalytics_{package}").rglob("*.py")
    assert [file.name for file in files if forbidden.search(file.read_text())] == []


def test_the_sbom_has_what_the_project_names_and_nothing_of_one_run() -> None:
    sbom = json.loads((ROOT / SBOM).read_text())
    versions = {each["bom-ref"]: each["version"] for each in sbom["components"]}
    refs = {each["ref"]: each["dependsOn"] for each in sbom["dependencies"]}
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = {re.split(r"[\[<>=;]", bound)[0] for bounds in groups for bound in bounds}
    direct = {ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in refs["adanalytics"]}
    assert direct == named - {"adanalytics"}
    assert {ref for refs in refs.values() for ref in refs} <= versions.keys()
    assert "serialNumber" not in sbom
    assert "timestamp" not in sbom["metadata"]


def test_the_pythons_that_are_promised_are_those_that_ci_tests() -> None:
    matrix = (ROOT / ".github/workflows/ci.yml").read_text().partition("matrix:")[2]
    images = matrix.partition("runs-on:")[0]
    tested = re.findall(r"image: python:3\.(\d+)", images)
    named = [re.fullmatch(r".* :: Python :: 3\.(\d+)", each) for each in PROJECT["classifiers"]]
    assert [match[1] for match in named if match] == tested
    promised = f"Python 3.{tested[0]} to 3.{tested[-1]}"
    for page in ("README.md", "docs/how-to/install.md", "docs/explanation/policy.md"):
        text = (ROOT / page).read_text()
        assert {*re.findall(r"Python 3\.\d+ to 3\.\d+", text)} == {promised}, page


def test_a_release_is_built_with_the_versions_that_are_tested() -> None:
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+", pin) for pin in BUILD_PINS)
    assert {*BUILD_PINS} <= {*PYPROJECT["dependency-groups"]["test"]}


def test_two_builds_make_one_wheel_with_the_sbom(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder
    needed = ("pyproject.toml", "README.md", SBOM, *PROJECT["license-files"])
    wheels = []
    for name in ("first", "second"):
        # Another folder, and files of another time.
        source = tmp_path / name
        copytree(ROOT / "src", source / "src", copy_function=copy, ignore=ignore_patterns("*.pyc"))
        for file in needed:
            copy(ROOT / file, source / file)
        (wheel,) = builder(str(source)).build(directory=str(source / "dist"), versions=["standard"])
        wheels.append(Path(wheel).read_bytes())
    assert wheels[0] == wheels[1]
    with ZipFile(BytesIO(wheels[0])) as archive:
        (about,) = (each for each in archive.namelist() if each.endswith(".dist-info/WHEEL"))
        # Another version would make another file of a release.
        generator = dict(pin.split("==") for pin in BUILD_PINS)["hatchling"]
        assert f"Generator: hatchling {generator}\n" in archive.read(about).decode()
        (file,) = (each for each in archive.namelist() if ".dist-info/sboms/" in each)
        assert archive.read(file) == (ROOT / SBOM).read_bytes()


def test_the_container_is_built_from_all_that_the_build_needs() -> None:
    needed = {"pyproject.toml", "src", "README.md", SBOM, *PROJECT["license-files"]}
    steps = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines()]
    copied = {word for step in steps if step[:1] == ["COPY"] for word in step[1:-1]}
    seen = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines()}
    assert needed <= copied & seen


def test_the_wheel_is_pure_python() -> None:
    """So it is `py3-none-any`: hatchling tags a wheel otherwise only where a hook compiles."""
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert "hooks" not in hatch
    assert [*(ROOT / "src").rglob("*.c"), *(ROOT / "src").rglob("*.pyx")] == []
