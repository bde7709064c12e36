"""Print what forbids the release of the wheel in a folder, a line each, and fail if there is any.

    python .ci/refusals.py dist [TAG]

Without a tag it is a rehearsal: the date of the version and the signature may still be missing.
"""

import re
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from email import message_from_string
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
ADDRESSES = ("Repository", "Documentation", "Changelog", "Issues")
SIGNERS = ".github/allowed_signers"
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMAGE = re.compile(
    r"^[ \t]*(?:- )?(?:FROM|container:|image:)[ \t]+([\w./:@-]+)(?: AS (\S+))?$", re.MULTILINE
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

    Args:
        texts: a Dockerfile, workflows or files of Compose, by name.
    """
    for name, text in texts.items():
        images = IMAGE.findall(text)
        own = OWN_IMAGES | {stage for _, stage in images}
        for image in dict.fromkeys(image for image, _ in images):
            if image not in own and "@sha256:" not in image:
                yield (
                    f"{name}: {image} has no digest. To find it: docker buildx imagetools inspect "
                    f"{image}; then write {image}@sha256:..."
                )


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
    images = re.compile(r"Dockerfile|\.github/workflows/.*|.*compose\.yaml")
    texts = {each: (ROOT / each).read_text() for each in sorted(files) if images.fullmatch(each)}
    reasons += unpinned_images(texts)
    if tag and git("rev-parse", f"{tag}^{{commit}}") != git("rev-parse", "HEAD"):
        reasons.append(f"The tag {tag} is on another commit than the one that was built.")
    if reasons:
        sys.exit("No release:\n" + "\n".join(f"- {reason}" for reason in reasons))
    if tag:
        git("-c", f"gpg.ssh.allowedSignersFile={SIGNERS}", "verify-tag", tag)


if __name__ == "__main__":
    main(*sys.argv[1:])
