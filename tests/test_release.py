"""What `.ci/release` refuses, a reason each."""

import importlib.util
import re
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
HOME = "https://stats.test/adanalytics"
PLACES = {"Documentation": "https://docs.stats.test/latest/"}
FILES = {"docs/guide.md", ".github/allowed_signers"}
CHANGELOG = "# Changelog\n\n## [1.2.3] - 2026-11-24\n"


@pytest.fixture(scope="module")
def release() -> Any:
    spec = importlib.util.spec_from_file_location("refusals", ROOT / ".ci/refusals.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def metadata(description: str = "", **changed: str) -> Message:
    """Make the metadata of a release that nothing forbids, but for what is changed."""
    names = ("Repository", "Documentation", "Changelog", "Issues")
    message = Message()
    message["Version"] = "1.2.3"
    message["Maintainer-email"] = changed.get("maintainer", "Ada <ada@stats.test>")
    for name in names:
        message["Project-URL"] = f"{name}, {changed.get(name, PLACES.get(name, HOME))}"
    message.set_payload(f"# Limits of it\n{description}")
    return message


def test_nothing_forbids_a_release_that_has_everything(release: Any) -> None:
    text = f"[a](#limits-of-it) [b]({HOME}/blob/v1.2.3/docs/guide.md#way) [c](https://else.test)"
    assert list(release.refusals(metadata(text), CHANGELOG, FILES, "v1.2.3")) == []


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (metadata(maintainer=""), "No maintainer"),
        (metadata(Issues=""), "No address named Issues"),
        (metadata(Documentation="https://a.example/latest/"), "Documentation is a reserved name"),
        (metadata(Documentation="https://docs.stats.test/"), "must end with /latest/"),
        (metadata("[a](docs/guide.md)"), "the link to docs/guide.md"),
        (metadata("[a](#limits)"), "the link to #limits"),
        (metadata(f"[a]({HOME}/blob/v1.2.3/docs/old.md)"), "docs/old.md"),
        (metadata(f"[a]({HOME}/blob/v1.2.2/docs/guide.md)"), "v1.2.2/docs/guide.md"),
    ],
)
def test_metadata_that_misleads_are_refused(release: Any, found: Message, reason: str) -> None:
    (said,) = release.refusals(found, CHANGELOG, FILES, "v1.2.3")
    assert reason in said


@pytest.mark.parametrize(
    ("changelog", "files", "tag", "reason"),
    [
        ("## [1.2.2] - 2026-11-24", FILES, None, "no heading for version 1.2.3"),
        ("## [1.2.3], not released", FILES, "v1.2.3", "no heading with a day for version 1.2.3"),
        (CHANGELOG, FILES, "v1.2.4", "the tag must be v1.2.3"),
        (CHANGELOG, set(), None, "No key"),
    ],
)
def test_so_is_what_does_not_fit_the_version(
    release: Any, changelog: str, files: set[str], tag: str | None, reason: str
) -> None:
    (said,) = release.refusals(metadata(), changelog, files, tag)
    assert reason in said


def test_an_image_without_a_digest_is_refused(release: Any) -> None:
    digest = "sha256:" + "0" * 64
    texts = {
        "Dockerfile": f"FROM python:3.12-slim@{digest} AS base\nFROM debian AS more\nFROM base\n",
        "ci.yml": f"""
  image:
    needs: publish
    strategy:
      matrix:
        include:
          - image: python:3.14-bookworm
    container: ${{{{ matrix.image }}}}
    services:
      store:
        image: registry.test/store/minio
      server:
        image: adanalytics-for-tests
        image: postgres@{digest}
""",
    }
    named = [reason.partition(" has")[0] for reason in release.unpinned_images(texts)]
    assert named == [
        "Dockerfile: debian",
        "ci.yml: python:3.14-bookworm",
        "ci.yml: registry.test/store/minio",
    ]


D = f"@sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("name", "text", "image"),
    [
        ("compose.yaml", 'services: {a: {image: "redis:7"}}', "redis:7"),
        ("compose.yaml", "a:\n  image: 'redis:7'\n", "redis:7"),
        ("compose.yaml", "a:\n  image: redis:7 # cache\n", "redis:7"),
        ("compose.yaml", "a:\r\n  image: redis:7\r\n", "redis:7"),
        ("compose.yaml", "a:\n  image:\n    redis:7\n", "redis:7"),
        ("compose.yaml", "a:\n  image: >-\n    redis:7\n", "redis:7"),
        ("compose.yaml", 'a:\n  "image": &x redis:7\n', "redis:7"),
        ("compose.yaml", "a:\n  image: ${REDIS}\n", "${REDIS}"),
        ("compose.yaml", "a:\n  image:\n", ""),
        ("compose.yaml", "a:\n  image: redis@sha256:aaaa\n", "redis@sha256:aaaa"),
        ("compose.yaml", "build:\n  dockerfile_inline: |\n    FROM redis\n", "redis"),
        ("compose.yaml", "additional_contexts: {a: docker-image://redis}", "redis"),
        ("ci.yml", "include:\n  - {image: python:3.15}\n", "python:3.15"),
        ("ci.yml", f"matrix:\n  image: [python:3.15, 'python{D}']\n", "python:3.15"),
        ("ci.yml", "matrix: ${{ a }}\ncontainer: ${{ matrix.image }}", "${{ matrix.image }}"),
        ("ci.yml", f"matrix: {{image: a{D}}}\ncontainer: ${{{{ matrix.b }}}}", "${{ matrix.b }}"),
        ("ci.yml", "uses: docker://alpine:3", "alpine:3"),
        ("ci.yml", "run: docker run postgres:17", "postgres:17"),
        ("ci.yml", "run: |\n  true && docker --debug run --rm \\\n    a:1", "--rm a:1"),
        ("ci.yml", "run: podman pull a:1 && true", "a:1"),
        ("Dockerfile", "FROM --platform=$X python:3.12", "python:3.12"),
        ("Dockerfile", "FROM python:3.12 as build\nFROM build", "python:3.12"),
        ("Dockerfile", "FROM Build\nFROM a" + D + " AS build", "Build"),
        ("Dockerfile", "from python:3.12", "python:3.12"),
        ("Dockerfile", "FROM python:3.12\r\n", "python:3.12"),
        ("Dockerfile", "FROM \\\n# a remark\n  python:3.12\n", "python:3.12"),
        ("Dockerfile", "ARG BASE\nFROM ${BASE}", "${BASE}"),
        ("Dockerfile", "FROM", ""),
        ("Dockerfile", "FROM 0", "0"),
        ("Dockerfile", f"FROM a{D}\nONBUILD FROM a", "a"),
        ("Dockerfile", "COPY --chown=1 --from=ghcr.io/x:latest /a /b", "ghcr.io/x:latest"),
        ("Dockerfile", f"FROM a{D}\nCOPY --from=1 /a /b", "1"),
        ("Dockerfile", "RUN --mount=type=bind,from=a:1,target=/a true", "a:1"),
        ("Dockerfile", "# syntax=docker/dockerfile:1", "docker/dockerfile:1"),
    ],
)
def test_no_way_of_writing_hides_an_image(release: Any, name: str, text: str, image: str) -> None:
    (said,) = release.unpinned_images({name: text})
    assert re.fullmatch(rf"{name}: ('?){re.escape(image)}\1 has no digest\..*", said)
    assert release.IMAGE_FILES.fullmatch(name if name != "ci.yml" else f".github/workflows/{name}")


def test_images_with_their_digest_and_stages_may_be_used(release: Any) -> None:
    dockerfile = f"""# syntax=docker/dockerfile:1{D}
        from --platform=$X python:3.12{D} as Build
        FROM build
        COPY --from=build /a /b
        COPY --from=0 --from=1 /a /b
        RUN --mount=type=cache,from=build,target=/a docker pull x{D}
        FROM scratch"""
    workflow = f"""
        jobs:
          image:
            strategy: {{matrix: {{include: [{{image: "python:3.12{D}"}}]}}}}
            container: {{image: "${{{{ matrix.image }}}}"}}
            steps:
              - uses: docker://a{D} # a:1
              - uses: actions/checkout@0
              - run: docker run --rm x{D} true && docker buildx create --use && docker build ."""
    texts = {"Dockerfile": dockerfile.replace("\n", "\r\n"), "ci.yml": workflow}
    assert list(release.unpinned_images(texts)) == []


def test_a_workflow_that_cannot_be_read_is_refused(release: Any) -> None:
    (said,) = release.unpinned_images({"ci.yml": "a: [image: b"})
    assert said.startswith("ci.yml cannot be read: ")


def test_the_images_of_each_file_here_are_read(release: Any) -> None:
    found = {
        name: {*read((ROOT / name).read_text())}
        for name, read in (
            ("Dockerfile", release.images_of_dockerfile),
            ("examples/compose.yaml", release.images_of_yaml),
            (".github/workflows/ci.yml", release.images_of_yaml),
        )
        if release.IMAGE_FILES.fullmatch(name)
    }
    assert len(found) == 3
    assert all(found.values())


def test_a_rehearsal_today_lacks_only_names_and_the_key(release: Any) -> None:
    """With the links of README.md as the build leaves them, and the changelog as it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (change,) = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    shown = re.sub(change["pattern"], change["replacement"], (ROOT / "README.md").read_text())
    version = re.search(r'"(.*)"$', (ROOT / "src/adanalytics_client/_version.py").read_text())
    assert version
    found = Message()
    found["Version"] = version[1]
    found.set_payload(shown)
    said = release.refusals(found, (ROOT / "CHANGELOG.md").read_text(), {"LICENSE"}, None)
    assert {reason.partition(":")[0].partition(" named")[0] for reason in said} <= {
        "No maintainer",
        "No address",
        "No key",
    }
