"""The tools of an assistant: commands with some of their options, and what they cost."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from adanalytics_cli.core.errors import CommandError, ExitCode
from adanalytics_client._json.fields import GROUPS, TABLE_OF

# Of one value; SQL may have more.
_MOST_SIGNS = 200
_MOST_SQL = 100_000

Values = Mapping[str, Any]
_RULES: dict[str, tuple[type[Any], str]] = {
    "flag": (bool, "must be true or false"),
    "number": (int, "must be a whole number of 1 or more"),
    "texts": (list, "must be a list of texts"),
}


class InvalidCall(CommandError):
    """A call of a tool that does not exist, or with arguments that it does not take."""

    code = ExitCode.USAGE


class Argument(NamedTuple):
    """An argument: an option of the command, or a word of it if `option` is empty.

    A text of the kind `sql` goes to the command's stdin.
    """

    description: str
    option: str = ""
    kind: Literal["text", "texts", "number", "flag", "sql"] = "text"
    choices: tuple[str, ...] = ()
    required: bool = False

    def schema(self) -> dict[str, object]:
        """Return the JSON schema of the values."""
        text: dict[str, object] = {"type": "string", "maxLength": self.most}
        kinds: dict[str, dict[str, object]] = {
            "texts": {"type": "array", "items": text},
            "number": {"type": "integer", "minimum": 1},
            "flag": {"type": "boolean"},
        }
        choices = {"enum": [*self.choices]} if self.choices else {}
        return {**kinds.get(self.kind, text), **choices, "description": self.description}

    @property
    def most(self) -> int:
        """The most characters of a text."""
        return _MOST_SQL if self.kind == "sql" else _MOST_SIGNS

    def problem(self, value: Any) -> str:  # noqa: ANN401  # any JSON value
        """Return what is wrong with a value, or nothing."""
        kind, rule = _RULES.get(self.kind, (str, "must be a text"))
        # Not isinstance: for Python, true is a number.
        if type(value) is not kind or (kind is int and value < 1):
            return rule
        for text in value if isinstance(value, list) else [value] * (kind is str):
            if not isinstance(text, str):
                return rule
            if len(text) > self.most:
                return f"has {len(text):,} characters; {self.most:,} are the most"
            if self.choices and text not in self.choices:
                return f"must be one of {', '.join(self.choices)}"
            # SQL may have line breaks; in other texts, such characters may hide orders.
            if self.kind != "sql" and not text.isprintable():
                return "must be printable text"
            if re.search("[\ud800-\udfff]", text):
                return "is not UTF-8 text"
        return ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A command as a tool.

    Attributes:
        name: the command.
        description: what an assistant reads before a call, with the price.
        arguments: by name.
        words: options that a call cannot change.
        price: the requests of a call for one partner, as far as they are known beforehand.
        place: the option that names the dataset; a `-` alone is a word.
        has_rows: whether the answer is rows, and not one report.
        writes: whether the tool changes anything.
        is_light: whether it may run beside another call; it sends nothing.
    """

    name: str
    description: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    price: Callable[[Values], int] = lambda _values: 0
    place: str = ""
    has_rows: bool = False
    writes: bool = False
    is_light: bool = False

    def schema(self) -> dict[str, object]:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: argument.schema() for name, argument in self.arguments.items()},
            "required": [name for name, argument in self.arguments.items() if argument.required],
            "additionalProperties": False,
        }

    def checked(self, values: Values) -> Values:
        """Return the arguments of a call without those that are null.

        Raises:
            InvalidCall: for an unknown argument, a missing one, and a value of another kind.
        """
        values = {name: value for name, value in values.items() if value is not None}
        usage = f"{self.name} takes {', '.join(self.arguments) or 'no argument'}."
        for name, value in values.items():
            if name not in self.arguments:
                # An assistant repairs its call from this text, so it names what is allowed.
                near = difflib.get_close_matches(name[:_MOST_SIGNS], self.arguments, n=1)
                hint = f"Did you mean {near[0]}? " if near else ""
                raise InvalidCall(f"There is no argument {name}.", remedy=f"{hint}{usage}")
            if problem := self.arguments[name].problem(value):
                raise InvalidCall(f"The argument {name} {problem}.", remedy=usage)
        for name, argument in self.arguments.items():
            if argument.required and name not in values:
                raise InvalidCall(f"The argument {name} is missing.", remedy=usage)
        if "end" in values and "start" not in values:
            raise InvalidCall("The argument end needs a start.", remedy=usage)
        return values

    def command(self, values: Values, place: str, *extras: str) -> list[str]:
        """Return the words of the command with `extras` options; no value can become an option."""
        options, words = [*self.words, *extras], []
        if self.place == "-":
            words.append(place)
        elif self.place:
            options.append(f"{self.place}={place}")
        for name, argument in self.arguments.items():
            value = values.get(name)
            if value is None or value is False or argument.kind == "sql":
                continue
            text = ",".join(value) if isinstance(value, list) else str(value)
            if not argument.option:
                words.append(text)
            else:
                options.append(argument.option if value is True else f"{argument.option}={text}")
        # Behind `--`, a value that begins with a dash is no option. SQL goes through stdin.
        return [self.name, *options, "--", *words]


_DAYS = "2026-01-15, 2026-01, 2026-Q1, yesterday, last-month or -7d"
_START = Argument(f"First day, or a whole period: {_DAYS}")
_END = Argument("Last day; without it the period is start itself")
_SPAN = {"start": Argument(_START.description, required=True), "end": _END}
_METRICS = {
    "compare": Argument("Another period to compare with, or previous", "--compare"),
    "columns": Argument("Only these columns, in this order", "--columns", "texts"),
    "sort": Argument("Column to sort by; -COLUMN turns the order", "--sort"),
    "top": Argument("Keep the first rows only", "--top", "number"),
}
_LINES = ("--format=jsonl",)

_ALL = (
    Tool(
        "status",
        "Show the service, the partner, the sign-in, the quota that is left, and the last hour of "
        "the dataset. Costs no request.",
        place="--in",
        is_light=True,
    ),
    Tool(
        "dates",
        "List the days for which the service has data. Costs 1 request for each partner.",
        {"start": _START, "end": _END},
        _LINES,
        lambda _values: 1,
        has_rows=True,
    ),
    Tool(
        "summary",
        "Get impressions, clicks, revenue and rates of a period from the service, in total or in "
        "groups; without filtered traffic. Costs 1 request for each partner, 3 with compare.",
        {
            **_SPAN,
            "group_by": Argument("One row for each", "--group-by", choices=GROUPS),
            **_METRICS,
        },
        _LINES,
        lambda values: 3 if "compare" in values else 1,
        has_rows=True,
    ),
    Tool(
        "plan",
        "Price a pull of all events of a period: requests, bytes and time of each way. Costs 1 "
        "request, or 2.",
        {**_SPAN},
        price=lambda _values: 2,
    ),
    Tool(
        "query",
        "Answer one SELECT in DuckDB's SQL over the local dataset: views traffic (without filtered "
        f"events), events, {', '.join(TABLE_OF.values())}; functions such as ecpm(revenue, "
        "impressions). Read the schema first. Aggregate; never select all events. Costs no "
        "request.",
        {"sql": Argument("One SELECT or DESCRIBE", kind="sql", required=True)},
        (*_LINES, "--file=-"),
        place="--in",
        has_rows=True,
    ),
    Tool(
        "report",
        "Summarize the local dataset by any field, with the figures of summary. Costs no request.",
        {
            "field": Argument(
                "country, hour, creative, device, supply-tag, domain, day or any field of events",
                required=True,
            ),
            "start": _START,
            "end": _END,
            **_METRICS,
        },
        _LINES,
        place="--in",
        has_rows=True,
    ),
    Tool(
        "verify",
        "Check the local dataset against its records and the service. Costs 3 requests, and more "
        "where days are apart; none with offline.",
        {
            "offline": Argument("Check only the dataset's own records", "--offline", "flag"),
            "until": Argument("Last day that the dataset must hold", "--until"),
        },
        price=lambda values: 0 if values.get("offline") else 3,
        place="-",
    ),
    Tool(
        "sync",
        "Bring the local dataset up to date for a period. It prices itself first, for about 2 "
        "requests, is refused above the limit, and asks the user where the client can. Agree on "
        "the period with the user before.",
        {**_SPAN},
        price=lambda _values: 2,
        place="--to",
        writes=True,
    ),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}


def find_tool(name: str) -> Tool:
    """Return the tool of a name; raise InvalidCall for an unknown one."""
    if name not in TOOLS:
        raise InvalidCall(f"There is no tool {name}.", remedy=f"The tools are {', '.join(TOOLS)}.")
    return TOOLS[name]
