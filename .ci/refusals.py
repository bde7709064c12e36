"""Print what forbids the release of the wheel in a folder, a line each, and fail if there is any.

    python .ci/refusals.py dist [TAG]

It needs PyYAML. Without a tag it is a rehearsal: the date of the version and the signature may
still be missing.
"""

import re
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from email import message_from_string
from email.message import Message
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).parent.parent
ADDRESSES = ("Repository", "Documentation", "Changelog", "Issues")
SIGNERS = ".github/allowed_signers"
LINK = re.compile(r"\]\(([^)\s]+)\)")
PINNED = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
READABLE = re.compile(r"[\w./:@-]+")
# Its values are named with the key `image`, too.
FROM_MATRIX = re.compile(r"\$\{\{\s*matrix\.image\s*\}\}")
DOCKER_RUN = re.compile(
    r"\b(?:docker|podman)(?:\s+-\S+(?:[ =]\S+)?)*\s+(?:container\s+|image\s+)?"
    r"(?:run|create|pull)\s+([^\n;&|]*)"
)
IMAGE_FILES = re.compile(
    r"(?:.*[/.])?(?:Docker|Container)file(?:\..*)?|\.github/.*\.ya?ml"
    r"|(?:.*/)?(?:[^/]*[.-])?compose[^/]*\.ya?ml"
)
# Built here, from the Dockerfile.
OWN_IMAGES = {"adanalytics-for-tests"}
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def refusals(
    metadata: Message, changelog: str, files: Collection[str], tag: str | None
) -> Iterator[str]:
    """Yield the reasons why a wheel with this metadata must not be released.

    Args:
        metadata: the wheel's METADATA; its body is the description.
        changelog: the text of CHANGELOG.md.
        files: all files of the repository, as paths.
        tag: the tag that is to be released, or None in a rehearsal.
    """
    version = metadata["Version"]
    if not (metadata["Maintainer"] or metadata["Maintainer-email"]):
        yield "No maintainer: name one in pyproject.toml."
    pairs = [each.partition(", ") for each in metadata.get_all("Project-URL", [])]
    addresses = {name: address for name, _, address in pairs}
    for name in ADDRESSES:
        host = urlsplit(addresses.get(name, "")).hostname
        if host is None:
            yield f"No address named {name}: add it below [project.urls] in pyproject.toml."
        elif host.endswith(".example"):
            yield f"{name} is a reserved name: {addresses[name]}"
    day = r" - \d{4}-\d{2}-\d{2}$" if tag else ""
    if not re.search(rf"^## \[{re.escape(version)}\]{day}", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no heading {'with a day ' if tag else ''}for version {version}."
    if tag and tag != f"v{version}":
        yield f"The tag is {tag}, the version {version}: the tag must be v{version}."
    if not urlsplit(addresses.get("Documentation", "/latest/")).path.endswith("/latest/"):
        yield "Documentation must end with /latest/, where .ci/site puts the newest version."
    if SIGNERS not in files:
        yield f"No key: add the maintainers' public keys for tags as {SIGNERS}."
    yield from dead_links(str(metadata.get_payload()), addresses.get("Repository"), version, files)


def dead_links(
    text: str, repository: str | None, version: str, files: Collection[str]
) -> Iterator[str]:
    """Yield the links of the description that lead nowhere on the page of a package index."""
    anchors = {
        re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in HEADING.findall(text)
    }
    tree = f"{repository}/blob/v{version}/"
    for link in LINK.findall(text):
        if link.startswith("#"):
            found = link[1:] in anchors
        elif repository and link.startswith(repository):
            found = link.removeprefix(tree).partition("#")[0] in files
        else:
            found = link.startswith("https://")
        if not found:
            yield f"README.md: the link to {link} leads nowhere in the built description."


def unpinned_images(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the images whose tag may name another image tomorrow, as reasons.

    Whatever names an image ends with its digest, or is refused: also a variable, and what is
    written in a way that this function does not know.

    Args:
        texts: Dockerfiles, workflows or files of Compose, by name.
    """
    for name, text in texts.items():
        is_yaml = name.endswith((".yml", ".yaml"))
        try:
            images = [*(images_of_yaml(text) if is_yaml else images_of_dockerfile(text))]
        except yaml.YAMLError as error:
            yield f"{name} cannot be read: {' '.join(str(error).split())}"
            continue
        for image in dict.fromkeys(images):
            if image in OWN_IMAGES or PINNED.fullmatch(image):
                continue
            if READABLE.fullmatch(image):
                yield (
                    f"{name}: {image} has no digest. To find it: docker buildx imagetools inspect "
                    f"{image}; then write {image}@sha256:..."
                )
            else:
                yield f"{name}: '{image}' has no digest. Write NAME@sha256:... instead."


def images_of_yaml(text: str) -> Iterator[str]:
    """Yield what a workflow or a file of Compose names as an image.

    Raises yaml.YAMLError for text that is not YAML.
    """
    found, in_matrix = [], False
    # Nodes and not values: these would have only the last of a repeated key.
    nodes = [("", False, node) for node in yaml.compose_all(text, yaml.SafeLoader)]
    while nodes:
        key, is_matrix, node = nodes.pop(0)
        if isinstance(node, yaml.MappingNode):
            nodes[:0] = [
                (name.value, is_matrix or name.value == "matrix", value)
                for name, value in node.value
                if isinstance(name, yaml.ScalarNode)
            ]
        elif isinstance(node, yaml.SequenceNode):
            nodes[:0] = [(key, is_matrix, value) for value in node.value]
        elif key in {"image", "container"}:
            found.append(node.value)
            in_matrix |= is_matrix
        elif key == "dockerfile_inline":
            found += images_of_dockerfile(node.value)
        elif isinstance(node, yaml.ScalarNode):
            scheme, mark, image = node.value.partition("://")
            if mark and scheme.lower() in {"docker", "docker-image"}:
                found.append(image)
            found += images_of_shell(node.value)
    return (image for image in found if not (in_matrix and FROM_MATRIX.fullmatch(image)))


def images_of_dockerfile(text: str) -> Iterator[str]:
    """Yield what a Dockerfile names as an image, but for its own stages above the line."""
    lines = text.lstrip("\ufeff").splitlines()
    for line in lines:
        if syntax := re.match(r"\s*#\s*syntax\s*=(.*)", line, re.IGNORECASE):
            yield syntax[1].strip()
    joined = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\[ \t]*\n", " ", joined)
    stages, number = {"scratch"}, 0
    for line in joined.splitlines():
        words = line.split()
        if words and words[0].upper() == "ONBUILD":
            del words[0]
        keyword = words[0].upper() if words else ""
        flags = [*takewhile(lambda word: word.startswith("--"), words[1:])]
        if keyword == "FROM":
            image, *stage = words[1 + len(flags) :] or [""]
            named = [image]
        else:
            stage = []
            found = (re.search(r"(?:--|[=,\"'])from=([^,\"']*)", flag) for flag in flags)
            named = [match[1] for match in found if match]
        for image in named:
            is_number = image.isdigit() and int(image) < number and keyword != "FROM"
            if not is_number and image.lower() not in stages:
                yield image
        if keyword == "FROM":
            stages |= {word.lower() for word in stage[1:]}
            number += 1
    yield from images_of_shell(joined)


def images_of_shell(text: str) -> Iterator[str]:
    """Yield the image of each `docker run` or, where no word has a digest, all of its words."""
    for words in DOCKER_RUN.findall(re.sub(r"\\\r?\n", " ", text)):
        pinned = [word for word in words.split() if PINNED.fullmatch(word.strip("\"'"))]
        if not pinned:
            yield " ".join(words.split())


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def main(dist: str, tag: str | None = None) -> None:
    (wheel,) = Path(dist).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
    changelog = (ROOT / "CHANGELOG.md").read_text()
    files = set(git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
    reasons = list(refusals(metadata, changelog, files, tag))
    texts = {
        each: (ROOT / each).read_text() for each in sorted(files) if IMAGE_FILES.fullmatch(each)
    }
    reasons += unpinned_images(texts)
    if tag and git("rev-parse", f"{tag}^{{commit}}") != git("rev-parse", "HEAD"):
        reasons.append(f"The tag {tag} is on another commit than the one that was built.")
    if reasons:
        sys.exit("No release:\n" + "\n".join(f"- {reason}" for reason in reasons))
    if tag:
        git("-c", f"gpg.ssh.allowedSignersFile={SIGNERS}", "verify-tag", tag)


if __name__ == "__main__":
    main(*sys.argv[1:])
