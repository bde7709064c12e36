"""Write the Python of each page as a module, for mypy; an error names the line of the page."""

import shutil
import sys
from pathlib import Path

from tests.test_docs import BLOCK, PAGES


def code_on_its_lines(text: str) -> str:
    """Return the blocks of a page, with empty lines for everything else."""
    code = ""
    for block in BLOCK.finditer(text):
        before = text.count("\n", 0, block.start(1))
        code += "\n" * (before - code.count("\n")) + block[1]
    return code


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in PAGES:
        if code := code_on_its_lines(page.read_text()):
            (folder / f"{page.stem.replace('-', '_')}.py").write_text(code)
