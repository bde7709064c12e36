"""Files that tests generate, and compare with what is committed."""

import difflib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def check(path: Path, text: str, variable: str = "UPDATE_REFERENCE") -> None:
    """Fail with the lines that differ, and say how to renew the file, which `variable` does."""
    if os.environ.get(variable):
        path.write_text(text)
    committed, name = path.read_text(), path.relative_to(ROOT)
    if committed != text:
        lines = difflib.unified_diff(
            committed.splitlines(), text.splitlines(), "committed", "generated", n=1, lineterm=""
        )
        (test, *_) = os.environ["PYTEST_CURRENT_TEST"].split("::")
        remedy = f"If the change is meant, run {variable}=1 pytest {test} and read the diff."
        pytest.fail("\n".join([f"{name} is not up to date. {remedy}", *lines]), pytrace=False)
