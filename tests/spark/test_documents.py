"""The documents about Spark run in a program of their own, whose JVM knows their server."""

import os
import sys
from pathlib import Path

from tests.programs import run_program
from tests.test_docs import SPARK_PAGE, code_of

from adanalytics_server.local import LocalServer

QUICK = """
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.driver.memory 512m
spark.sql.session.timeZone UTC
spark.ui.showConsoleProgress false
"""

EXAMPLES = """
import doctest

import adanalytics_client.spark

done = doctest.testmod(adanalytics_client.spark, extraglobs={**globals()})
assert done.attempted == 2
assert done.failed == 0
"""


def test_the_page_and_the_docstrings_run(server: LocalServer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("\n".join([*code_of(SPARK_PAGE, tests=False), EXAMPLES]))
    (tmp_path / "spark-defaults.conf").write_text(QUICK)
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    done = run_program([sys.executable, program], cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
