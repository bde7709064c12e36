"""Build the documentation into site/: the pages, and their text for programs that read Markdown.

`llms.txt` lists the pages, each page is also there as Markdown, and `adanalytics.md` is the whole
documentation in one file. The text comes from the finished pages, so it has the reference that
mkdocstrings writes and the files that pages include.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Tag
from markdownify import ATX, MarkdownConverter
from mkdocs.config import load_config

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
VERSION = ROOT / "src/adanalytics_client/_version.py"
WHOLE = "adanalytics.md"
# What the theme adds to a page.
ADDED = ".headerlink, .md-content__button, .md-source-file, style, script"


def settings() -> dict[str, str]:
    """Return what mkdocs.yml asks for: the version, and the addresses, once they are known."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    addresses = project.get("urls", {})
    version = re.findall(r'__version__ = "(.+)"', VERSION.read_text())[0]
    repository = addresses.get("Repository", "")
    return {
        "SITE_NAME": f"{project['name']} {version}",
        "SITE_URL": addresses.get("Documentation", ""),
        "SITE_REPOSITORY": repository,
        "SITE_EDIT": f"{repository}/edit/main/docs/" if repository else "",
    }


def pages(nav: list[Any], section: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the section of the first level, the title and the source of each page."""
    for entry in nav:
        for title, content in entry.items():
            if isinstance(content, str):
                yield section, title, content
            else:
                yield from pages(content, section or title)


def language(code: Tag) -> str:
    """Return the language of a block of code, as Markdown names it."""
    around = code.find_parent(class_="highlight")
    names = around.get_attribute_list("class") if around else []
    return next((str(name)[9:] for name in names if str(name).startswith("language-")), "")


def markdown(page: BeautifulSoup, address: str) -> str:
    """Return the text of a page, with links that do not depend on where it is read."""
    (article,) = page.select("article")
    for each in article.select(ADDED):
        each.decompose()
    for attribute in ("href", "src"):
        for each in article.select(f"[{attribute}]"):
            each[attribute] = urljoin(address, str(each[attribute]))
    convert = MarkdownConverter(heading_style=ATX, code_language_callback=language)
    text: str = convert.convert_soup(article)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    os.environ |= settings()
    # Material for MkDocs advertises its successor in each build; docs/explanation/reasons.md
    # says when to move.
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, check=True
    )
    config = load_config(str(ROOT / "mkdocs.yml"))
    root = config.site_url or "/"
    listed, whole, last = [f"# {config.site_name}\n\n> {config.site_description}\n\n"], [], ""
    listed.append(f"The whole documentation in one file: [{WHOLE}]({urljoin(root, WHOLE)})\n\n")
    for section, title, source in pages(config.nav or []):
        address = source.removesuffix("index.md").removesuffix(".md")
        folder = SITE / address
        page = BeautifulSoup((folder / "index.html").read_text(), "html.parser")
        text = markdown(page, urljoin(root, f"{address}/" if address else ""))
        (folder / "index.md").write_text(text)
        whole.append(text)
        about = page.select_one('meta[name="description"]')
        if section != last:
            listed.append(f"\n## {section}\n\n")
            last = section
        link = urljoin(root, f"{address}/index.md" if address else "index.md")
        listed.append(f"- [{title}]({link}): {about['content'] if about else ''}\n")
    (SITE / "llms.txt").write_text("".join(listed))
    (SITE / WHOLE).write_text("\n".join(whole))


if __name__ == "__main__":
    main()
