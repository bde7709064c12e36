"""Commands and groups: examples first in the help, and the options of a run on either side."""

import difflib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click
from click.core import ParameterSource

from adanalytics_client._base.choices import Check

from .invocation import ColorChoice, current_invocation
from .numbers import Number
from .prose import lines_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


# The script of `adanalytics completion` asks for completions through this variable.
COMPLETION_VARIABLE = "_ADANALYTICS_COMPLETE"
# On a wider terminal than click's 80 columns most options fit one line; longer prose tires the eye.
HELP_SETTINGS: dict[str, object] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "show_default": True,
}
# A number of days ago, or a range from there, and SQL that begins with a remark.
_NO_OPTION = re.compile(r"-\d+d(?:\.\..*)?|--\s.*", re.DOTALL)
# Days without their unit, unless they are the value of an option.
_DAYS = re.compile(r"-\d+")


# Options that few people need; the help shows them last.
_RARE = {"--via", "--workers", "--table", "--deadline", "--per-page", "--concurrency", "--split"}
_RARE |= {"--max-requests", "--moved-from", "--repull", "--check", "--memory"}
_RARE |= {"--table-name", "--catalog", "--retain"}


Gather = Callable[[dict[str, Any]], None]
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


class _HelpFormatter(click.HelpFormatter):
    def write_text(self, text: str) -> None:
        """Write prose; no line ends inside an option or a path."""
        indent = f"{'':{self.current_indent}}"
        self.write("".join(f"{line}\n" for line in lines_of(text, self.width, indent, indent)))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write terms and texts; on a narrow terminal a longer term has a line of its own."""
        super().write_dl([*rows], min(col_max, self.width * 2 // 5), col_spacing)


class _Context(click.Context):
    formatter_class = _HelpFormatter

    def make_formatter(self) -> click.HelpFormatter:
        """Fit the help to a terminal of 40 columns; click itself would write 50."""
        formatter = super().make_formatter()
        formatter.width = min(formatter.width, shutil.get_terminal_size().columns)
        return formatter


class ExampleCommand(click.Command):
    """A click command whose help shows examples before options.

    Its summary comes from its `Entry`. `run_options` are those of the run that may also follow it.
    `gather` puts one value in the place of those of several options.
    """

    context_class = _Context

    run_options: Sequence[click.Option]
    examples: Sequence[str]
    details: str
    gather: "Gather | None" = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; raises click.UsageError for a single-value option given twice.

        A leading space lets `-7d` reach the date arguments: it is no option then.
        """
        words = [
            f" {word}"
            if _NO_OPTION.fullmatch(word)
            or (_DAYS.fullmatch(word) and not word_before.startswith("-"))
            else word
            for word_before, word in pairwise(["", *args])
        ]
        rest = super().parse_args(ctx, [*words])
        # click keeps the last value only, so the parser tells what came.
        _, _, given_options = self.make_parser(ctx).parse_args(words)
        for parameter in given_options:
            single = isinstance(parameter, click.Option) and not (
                parameter.multiple or parameter.is_flag
            )
            if single and given_options.count(parameter) > 1 and not ctx.resilient_parsing:
                raise click.UsageError(f"Give {parameter.opts[-1]} once.", ctx)
        return rest

    def invoke(self, ctx: click.Context) -> object:
        self._remark_ignored(ctx)
        if self.gather:
            # By the context, which adds itself to an error of usage.
            ctx.invoke(self.gather, ctx.params)
        return super().invoke(ctx)

    def _remark_ignored(self, ctx: click.Context) -> None:
        """Name the options of the run that say something to a command that sends nothing."""
        root = ctx.find_root()
        names = [
            option.opts[-1]
            for option in CONNECTION_OPTIONS
            # Periods are read in the zone of the profile.
            if option.name not in {None, "profile", "zone"}
            and root.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        ]
        sends = any(option.name == "base_url" for option in self.run_options)
        invocation = current_invocation(ctx)
        # A program gives the same options to all commands.
        if names and not sends and not invocation.as_json:
            invocation.notice(f"{ctx.command_path} sends nothing and ignores {', '.join(names)}.")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Complete options, also those of the run, which the help names in one line."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(option.opts[-1], help=option.help)
            for option in self.run_options
            if incomplete.startswith("-") and option.opts[-1].startswith(incomplete)
        ]
        return super().shell_complete(ctx, incomplete) + names

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_head(self, ctx, formatter)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        # A newcomer reads the first screen of a help.
        rare = [option for option in options if _RARE.intersection(option.opts)]
        usual = [option for option in options if option not in rare]
        for title, group in (("Options", usual), ("Less common options", rare)):
            if lines := [line for option in group if (line := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(lines)
        names = ", ".join(option.opts[-1] for option in self.run_options)
        formatter.write_paragraph()
        formatter.write_text(f"Also here: {names}; see adanalytics --help.")


def command(
    name: str,
    *,
    params: Sequence[click.Parameter] = (),
    examples: Sequence[str],
    details: str = "",
    connects: bool = False,
    kind: type[ExampleCommand] = ExampleCommand,
    gather: "Gather | None" = None,
) -> Callable[[Callable[..., object]], ExampleCommand]:
    """Make a command of a function, which gets the options of the run before its own.

    `examples` are complete command lines. `connects` says that the command talks to the service, so
    that `--base-url` and the like may also follow the command. `gather` is that of the command.
    """

    def make(run: Callable[..., object]) -> ExampleCommand:
        names = {name for param in params for name in param.opts}
        options = [
            _hidden(parameter)
            for parameter in OUTPUT_OPTIONS + CONNECTION_OPTIONS * connects
            if names.isdisjoint(parameter.opts)
        ]
        decorated = kind(
            name,
            context_settings=HELP_SETTINGS,
            callback=click.pass_obj(run),
            params=[*params, *options],
        )
        decorated.run_options, decorated.examples, decorated.details = options, examples, details
        decorated.gather = gather
        return decorated

    return make


def near_or_known(word: str, names: Sequence[str], noun: str) -> str:
    """Suggest the name that is most like `word`, or list all names."""
    matches = difflib.get_close_matches(word, names, n=1)
    return f"Did you mean '{matches[0]}'?" if matches else f"Known {noun}: {', '.join(names)}."


def _write_head(
    command: "ExampleCommand | CommandGroup", ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the examples as they are to be typed, never wrapped, and then the details."""
    command.format_usage(ctx, formatter)
    command.format_help_text(ctx, formatter)
    with formatter.section("Examples"):
        for example in command.examples:
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
    if command.details:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(command.details)


class Entry(NamedTuple):
    """The module of a command in this package, its summary and its section in the help.

    The command has the name of its module, unless another name follows a colon, as in
    `commands.login:logout`.

    The summary is kept here, because `--help` would be slow if it had to import every command.
    """

    target: str
    summary: str
    section: str = "Commands"

    def load(self) -> click.Command:
        """Import the command, set its help text to `summary`, and return the command."""
        name, _, attribute = self.target.partition(":")
        module = import_module(f"adanalytics_cli.{name}")
        command: click.Command = getattr(module, attribute or name.rpartition(".")[2])
        command.help = command.short_help = self.summary
        return command


class CommandGroup(click.Group):
    """A catalogue of commands; its help shows examples first and imports none of the commands.

    A section of `lines` is one line of the help, with the names of its commands.
    """

    context_class = _Context

    def __init__(
        self,
        name: str,
        *,
        entries: Mapping[str, Entry],
        examples: Sequence[str],
        summary: str = "",
        details: str = "",
        params: Sequence[click.Parameter] = (),
        lines: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, context_settings=HELP_SETTINGS, params=list(params), help=summary)
        self.entries = entries
        self.examples = tuple(examples)
        self.details = details
        self.lines = lines or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        return entry.load() if entry else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in self.entries or word.startswith("-"):
            return super().resolve_command(ctx, args)
        hint = near_or_known(word, list(self.entries), "commands")
        raise click.UsageError(f"Unknown command '{word}'. {hint}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Complete names and options; click itself would import every command for this."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_head(self, ctx, formatter)
        width = max(map(len, self.entries))
        for title, group in groupby(self.entries.items(), lambda entry: entry[1].section):
            lines = [(f"{name:<{width}}", entry.summary) for name, entry in group]
            if title in self.lines:
                lines = [(", ".join(name.strip() for name, _ in lines), self.lines[title])]
            with formatter.section(title):
                formatter.write_dl(lines)
        click.Command.format_options(self, ctx, formatter)


def _gather(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None and parameter.name:
        setattr(current_invocation(context), parameter.name, value)


def _gather_fields(
    context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> None:
    current_invocation(context).fields.update(pairs_of(values, "rev"))


def pairs_of(texts: Iterable[str], example: str) -> Iterator[tuple[str, str]]:
    """Yield the halves of FIELD=NAME; an `example` of NAME is for the error."""
    for text in texts:
        field, mark, name = text.partition("=")
        if not mark:
            raise click.BadParameter(f"'{text}' is not FIELD=NAME, such as revenue={example}.")
        yield field, name


def completing(names: Sequence[str]) -> Complete:
    """Return what completes a list of `names`, between which there are commas, for the shell."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[str]:
        *head, last = incomplete.split(",")
        return [",".join([*head, name]) for name in names if name.startswith(last)]

    return complete


def _kept_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the profiles, or their partners, for the shell; none when they cannot be read.

    They come from the settings file and never from the service, which would cost a request.
    """
    from .errors import SettingsError
    from .settings import profiles_of

    try:
        tables = profiles_of().tables
    except SettingsError:
        return []
    if parameter.name == "profile":
        return [name for name in tables if name.startswith(incomplete)]
    # A profile may name several partners.
    profiles = [
        str(table.get("partner", "")) for table in tables.values() if isinstance(table, dict)
    ]
    names = dict.fromkeys(name.strip() for text in profiles if text for name in text.split(","))
    return completing([*names])(context, parameter, incomplete)


_run_option = partial(
    click.Option, default=None, expose_value=False, is_eager=True, callback=_gather
)
CONNECTION_OPTIONS = (
    _run_option(
        ["--profile"],
        metavar="P",
        shell_complete=_kept_names,
        help="Profile to use.  [env: ADANALYTICS_PROFILE]",
    ),
    _run_option(
        ["--base-url"], metavar="URL", help="Service address.  [env: ADANALYTICS_BASE_URL]"
    ),
    _run_option(
        ["--partner"],
        metavar="ID",
        shell_complete=_kept_names,
        help="Partner to read, or several as a,b.  [env: ADANALYTICS_PARTNER]",
    ),
    _run_option(
        ["--rows-key"],
        metavar="KEY",
        help="Name or path of the list of rows, such as hits or report.rows.",
    ),
    _run_option(
        ["--map"],
        metavar="FIELD=NAME",
        multiple=True,
        callback=_gather_fields,
        help="The service's name of a documented field, such as revenue=rev; repeatable.",
    ),
    _run_option(
        ["--time-field"],
        metavar="NAME",
        help="The service's name of the field with the time of an event, such as ymdh.",
    ),
    _run_option(
        ["--zone"],
        metavar="ZONE",
        help="Time zone of the service's days and hours, such as Europe/Berlin or +05:30.",
    ),
    _run_option(
        ["--max-wait"],
        metavar="SECONDS",
        type=Number(min=0),
        help="Longest wait for quota, else exit status 5; default 7200, 0 never waits.",
    ),
    _run_option(
        ["--rate-limit"],
        metavar="N",
        type=click.IntRange(min=0),
        help="Requests per hour that the service allows your key; default 1000, 0 is no limit.",
    ),
)
OUTPUT_OPTIONS = (
    _run_option(["-q", "--quiet"], is_flag=True, help="Print no progress and no notices."),
    _run_option(["-v", "--verbose"], is_flag=True, help="Print a line on stderr for each step."),
    _run_option(["--debug"], is_flag=True, help="Show the traceback of an error, without secrets."),
    _run_option(
        ["--color"],
        type=click.Choice(get_args(ColorChoice)),
        help="When to use colours; auto obeys NO_COLOR and FORCE_COLOR.",
    ),
)


def _hidden(option: click.Option) -> click.Option:
    option_copy = copy(option)
    option_copy.hidden = True
    return option_copy


def check_option() -> click.Option:
    """Make the option that compares a pull with the service's own count."""
    return option(
        "--check",
        get_args(Check),
        None,
        "Compare the events with the service's own count, in one more request.",
        "auto",
    )


def flag(name: str, summary: str) -> click.Option:
    return click.Option([name], is_flag=True, help=summary)


def option(
    names: str,
    kind: "Callable[[str], Any] | Iterable[str] | click.ParamType[Any]",
    metavar: str | None,
    summary: str,
    default: object = None,
    *,
    multiple: bool = False,
    required: bool = False,
    callback: Callable[[click.Context, click.Parameter, Any], object] | None = None,
    reader: Callable[[Any], object] | None = None,
    complete: Complete | None = None,
) -> click.Option:
    """Make an option of the names between spaces; a `kind` of several words is a choice of them.

    A function as the `kind` reads a text; a `reader` reads the value, which may be None or several.
    `complete` returns the words that the shell offers.
    """
    # For click, None is a default, too, and then nothing is missing.
    defaults: dict[str, Any] = {} if required else {"default": default}
    return click.Option(
        names.split(),
        type=kind if callable(kind) else click.Choice(kind),
        metavar=metavar,
        **defaults,
        multiple=multiple,
        required=required,
        callback=(lambda _context, _parameter, value: reader(value)) if reader else callback,
        shell_complete=complete,
        help=summary,
    )
