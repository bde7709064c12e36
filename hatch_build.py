"""Compiles the one module in C where there is a compiler; else its Python version is used."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

MODULE = "adanalytics_client._speedups"


class CompilingHook(BuildHookInterface):
    """Puts the compiled module beside its source, or into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before files are collected.

        Args:
            version: `editable` or `standard`.
            build_data: what the wheel will hold, and what its name will say.
        """
        folder = Path(self.root) / "src" / MODULE.partition(".")[0]
        self._folder = mkdtemp()
        made = compiled(folder / "_speedups.c", self._folder)
        if made is None:
            self.app.display_warning(f"{MODULE} was not compiled: Python alone does the same.")
        elif version == "editable":
            shutil.copy(made, folder)
        else:
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["force_include"][str(made)] = f"{folder.name}/{made.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{platform}"

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """Remove what was compiled on the way."""
        shutil.rmtree(self._folder)


def compiled(source: Path, folder: str) -> Path | None:
    """The module for every Python from 3.11 on, or None where it cannot be compiled."""
    module = Extension(MODULE, [str(source)], py_limited_api=True, optional=True)
    command = build_ext(Distribution({"ext_modules": [module]}))
    command.build_lib = command.build_temp = folder
    command.ensure_finalized()
    command.run()
    return next(Path(folder).glob("adanalytics_client/_speedups*"), None)
