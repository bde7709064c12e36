"""An assistant's questions to `adanalytics mcp`: calls, requests and bytes.

    python -m benchmarks.assistant [CALLS]

A scripted client of the official SDK asks 25 questions of an analyst over stdio, of a service with
three days, and prints what each cost. Then it makes CALLS random calls (1,000 by default) and
counts those above a limit, and answers with a secret.
"""

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.server import Server
from mcp.types import ElicitRequestParams, ElicitResult, TextContent

from adanalytics_server.local import LocalServer, Sample

DAYS = ("2026-01-15", "2026-01-17")
SAMPLE = Sample(start=date(2026, 1, 15), days=3, events_per_day=2_000, seed=7)
MOST_BYTES = 8_192
MOST_ROWS = 200

_OF_A_SESSION = 50
_PARTS = {"error", "remedy", "kind", "exit_code"}

Call = tuple[str, dict[str, Any]]
Consent = Literal["accept", "decline", "cancel"] | None


def _sql(text: str) -> Call:
    return "query", {"sql": text}


def _summary(start: str, **more: object) -> Call:
    return "summary", {"start": start, **more}


def _report(field: str, **more: object) -> Call:
    return "report", {"field": field, **more}


# In the order of a session: the dataset is there from the seventh on.
QUESTIONS: list[tuple[str, list[Call]]] = [
    ("Which days have data?", [("dates", {})]),
    ("Am I signed in, and how much quota is left?", [("status", {})]),
    ("What was revenue on 15 January?", [_summary("2026-01-15")]),
    ("Revenue by day?", [_summary("2026-01-15", end="2026-01-17", group_by="day")]),
    ("Which campaigns earn most?", [_summary("2026-01", group_by="campaign", top=5)]),
    ("What would all events cost?", [("plan", {"start": "2026-01-15", "end": "2026-01-17"})]),
    (
        "Get the three days.",
        [
            ("plan", {"start": "2026-01-15", "end": "2026-01-17"}),
            ("sync", {"start": "2026-01-15", "end": "2026-01-17"}),
        ],
    ),
    ("Is the dataset complete?", [("verify", {"until": "2026-01-17"})]),
    ("Are its files intact?", [("verify", {"offline": True, "until": "2026-01-17"})]),
    ("How did the 17th compare with the 16th?", [_summary("2026-01-17", compare="2026-01-16")]),
    ("Which demand tags fill best?", [_summary("2026-01", group_by="demand_tag", top=5)]),
    ("Top countries by revenue?", [_report("country", top=5)]),
    ("Revenue by hour of the 15th?", [_report("hour", start="2026-01-15")]),
    ("Which devices click?", [_report("device", columns=["device_type", "clicks", "ctr"])]),
    ("Which creatives complete?", [_report("creative", sort="completions", top=5)]),
    ("Which supply tags earn most?", [_report("supply-tag", top=5)]),
    ("Which columns are there?", [_sql("DESCRIBE events")]),
    ("How many events by type?", [_sql("SELECT event_type, count(*) n FROM events GROUP BY 1")]),
    ("How much is filtered?", [_sql("SELECT avg(is_filtered::INT) AS share FROM events")]),
    (
        "eCPM by country?",
        [
            _sql("DESCRIBE traffic"),
            _sql(
                "SELECT country, sum(revenue) / nullif(count(*) FILTER (event_type = "
                "'impression'), 0) * 1000 AS ecpm FROM traffic GROUP BY 1 ORDER BY 2 DESC LIMIT 5"
            ),
        ],
    ),
    (
        "Campaigns by name and hour?",
        [
            _sql(
                "SELECT campaign_name, hour, count(*) AS events FROM traffic JOIN campaigns "
                "USING (campaign_id) GROUP BY ALL ORDER BY ALL"
            )
        ],
    ),
    ("Which domains are worst?", [_report("domain", sort="errors", top=5)]),
    ("Show me all events of an hour.", [_sql("SELECT * FROM traffic WHERE hour = 13")]),
    (
        "Is the dataset equal to the service's revenue?",
        [_summary("2026-01-16"), _sql("SELECT sum(revenue) FROM traffic WHERE date='2026-01-16'")],
    ),
    (
        "Anything new since the sync?",
        [("dates", {}), ("sync", {"start": "2026-01-15", "end": "2026-01-17"})],
    ),
]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call."""

    text: str
    is_error: bool

    @property
    def record(self) -> Any:  # noqa: ANN401  # any JSON object
        return json.loads(self.text)

    @property
    def sent(self) -> int:
        number: int = self.record["requests"]["sent"]
        return number


@asynccontextmanager
async def assistant(environment: Mapping[str, str], *words: str) -> AsyncIterator[Client]:
    """Start `adanalytics mcp WORDS` and connect to it."""
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "adanalytics_cli", "mcp", *words], env={**environment}
    )
    async with connect(program) as client:
        yield client


def connect(
    server: StdioServerParameters | Server, *, mode: str = "auto", consent: Consent = "accept"
) -> Client:
    """Make a client of a server.

    `consent` answers its questions; without one, the client says that it cannot ask its user.
    """

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context, params
        assert consent
        return ElicitResult(action=consent, content={})

    return Client(server, mode=mode, elicitation_callback=answer if consent else None)


async def ask(client: Client, tool: str, values: Mapping[str, Any]) -> Answer:
    """Return the answer to one call."""
    result = await client.call_tool(tool, dict(values))
    (content,) = result.content
    assert isinstance(content, TextContent)
    return Answer(content.text, result.is_error)


def environment_for(server: LocalServer, home: Path) -> dict[str, str]:
    """Return the variables of a process that uses the server, and nothing of this user's."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {
        **kept,
        "ADANALYTICS_BASE_URL": server.url,
        "ADANALYTICS_API_KEY": server.api_key,
        "ADANALYTICS_PARTNER": server.partner,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


_WORDS = ["2026-01-15", "2026-01-17", "2026-01", "-3d", "yesterday", "previous", "2031-01-01"]
_WORDS += ["--output=/tmp/x", "'; DROP", "country", "campaign", "day", "", "x" * 300, "\0", "é"]
_SQL = ["SELECT * FROM events", "DESCRIBE events", "SELECT 1", "SELEC", "COPY events TO 'x.csv'"]
_SQL += ["SELECT * FROM read_csv('/etc/passwd')", "SELECT repeat('x', 100000)", "", "x" * 200_000]
_SQL += ["SELECT getenv('ADANALYTICS_API_KEY')", "SELECT '{key}'", "SELECT range(5000) AS r"]
_NAMES = ["start", "end", "field", "compare", "columns", "sort", "top", "sql", "until", "offline"]
_NAMES += ["group_by", "location", "max_requests"]


def random_calls(number: int, key: str, seed: int) -> Iterator[Call]:
    """Yield calls of all tools, many of them wrong; the texts of some contain the `key`."""
    choice = random.Random(seed)
    tools = ["status", "dates", "summary", "plan", "query", "report", "verify", "sync", "rm"]
    values: list[object] = [*_WORDS, key, 5, 0, -1, True, False, None, ["revenue"], [key], {}]
    for _ in range(number):
        tool = choice.choice(tools)
        usual: dict[str, object] = {}
        if tool == "query":
            usual = {"sql": choice.choice(_SQL).replace("{key}", key)}
        elif tool == "report":
            usual = {"field": choice.choice(["country", "hour", "domain", key])}
        elif tool in ("summary", "plan", "sync", "dates"):
            usual = {"start": choice.choice(_WORDS[:4])}
        odd = {choice.choice(_NAMES): choice.choice(values) for _ in range(choice.randint(0, 2))}
        yield tool, usual | (odd if choice.random() < 0.5 else {})


@dataclass(slots=True)
class Violations:
    """What no call may do."""

    above_a_limit: int = 0
    secrets: int = 0
    too_large: int = 0
    not_ours: int = 0


async def try_calls(
    server: LocalServer, home: Path, calls: Iterable[Call], found: Violations
) -> None:
    """Make calls in one session, and count in `found` what the server itself has seen."""
    words = ["--in", str(home / "events"), "--max-requests", "8", "--max-session", "60"]
    of_session = 0
    async with assistant(environment_for(server, home), *words) as client:
        for tool, values in calls:
            server.journal.clear()
            answer = await ask(client, tool, values)
            seen = len(server.journal.entries())
            of_session += seen
            found.above_a_limit += seen > 8 or of_session > 60 or seen != answer.sent
            found.secrets += server.api_key in answer.text
            record = answer.record
            large = len(answer.text.encode()) > MOST_BYTES
            found.too_large += large or len(record.get("rows", [])) > MOST_ROWS
            parts = {*record["error"]} if answer.is_error else {*_PARTS}
            found.not_ours += not parts >= _PARTS


async def answer_questions(server: LocalServer, home: Path) -> None:
    """Ask the questions and print a line for each: its calls, requests and bytes."""
    print(f"{'question':<48} calls requests  bytes")
    words = ["--in", str(home / "events")]
    async with assistant(environment_for(server, home), *words) as client:
        for question, calls in QUESTIONS:
            answers = [await ask(client, *call) for call in calls]
            failed = [each.text for each in answers if each.is_error]
            assert not failed, failed
            requests = sum(each.sent for each in answers)
            size = sum(len(each.text.encode()) for each in answers)
            print(f"{question:<48} {len(calls):>5} {requests:>8} {size:>6}", flush=True)


async def main(number: int) -> None:
    """Print the table of questions and the violations of random calls."""
    with TemporaryDirectory() as name, LocalServer(sample=SAMPLE, rate_limit=0) as server:
        await answer_questions(server, Path(name))
        found, calls = Violations(), [*random_calls(number, server.api_key, seed=1)]
        for first in range(0, number, _OF_A_SESSION):
            await try_calls(server, Path(name), calls[first : first + _OF_A_SESSION], found)
            print(f"{min(first + _OF_A_SESSION, number):,} random calls: {found}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
