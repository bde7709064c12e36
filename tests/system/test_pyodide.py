"""The client in WebAssembly: Python 3.14 as Pyodide in node, which `make test-pyodide` installs."""

import json
import shutil
from pathlib import Path

import pytest
from tests.programs import run_program

from adanalytics_client import Client
from adanalytics_server.local import LocalServer, Sample

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "build" / "pyodide"
# There are no sockets, so `http=` sends with the fetch function of JavaScript.
PULL = """
import json
import sys

import httpx
import js
from pyodide.ffi import to_js

from adanalytics_client import AsyncClient, QuotaPolicy


class Fetch(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request):
        options = {"method": request.method, "headers": dict(request.headers)}
        response = await js.fetch(
            str(request.url), to_js(options, dict_converter=js.Object.fromEntries)
        )
        body = (await response.arrayBuffer()).to_bytes()
        # fetch has decompressed it.
        headers = [(name, value) for name, value in response.headers if name != "content-encoding"]
        return httpx.Response(response.status, headers=headers, content=body)


async def pull(url, key, partner):
    http = httpx.AsyncClient(transport=Fetch())
    async with http, AsyncClient(
        url, api_key=key, partner=partner, http=http, quota=QuotaPolicy(log="memory")
    ) as client:
        days = await client.dates()
        ids = [event.event_id async for event in client.events(days[0], days[-1])]
    return json.dumps([sys.platform, sys.version_info[:2], sorted(ids)])
"""
NODE = """
const [installed, source, program, url, key, partner] = process.argv.slice(1);
const { loadPyodide } = await import(`${installed}/node_modules/pyodide/pyodide.mjs`);
const python = await loadPyodide();
for (const [path, folder] of [["/source", source], ["/site", `${installed}/site`]]) {
  python.FS.mkdirTree(path);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, path);
}
try {
  python.runPython("import sys; sys.path[:0] = ['/source', '/site']");
  python.runPython(program);
  console.log(await python.globals.get("pull")(url, key, partner));
  process.exitCode = 0;
} catch (error) {
  // Otherwise node shows the line of Pyodide that raised it, which has a megabyte.
  console.error(error.message);
  process.exitCode = 1;
}
process.exit();
"""


@pytest.mark.skipif(
    not (INSTALLED / ".installed").exists() or not shutil.which("node"),
    reason="make test-pyodide installs Pyodide",
)
def test_a_pull_in_webassembly_brings_the_same_events() -> None:
    with LocalServer(sample=Sample(days=2, events_per_day=300, seed=3)) as server:
        access = (server.url, server.api_key, server.partner)
        words = ["node", "--input-type=module", "--eval", NODE]
        done = run_program([*words, str(INSTALLED), str(ROOT / "src"), PULL, *access], timeout=300)
        assert done.returncode == 0, done.stderr
        with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
            ids = sorted(str(event.event_id) for event in client.events("2026-01-15", "2026-01-16"))
    assert json.loads(done.stdout) == ["emscripten", [3, 14], ids]
