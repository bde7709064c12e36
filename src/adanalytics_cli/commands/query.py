"""`adanalytics query`: an answer in SQL from datasets, without a request."""

import sys
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import click

from adanalytics_cli.account.dataset_here import find_datasets
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import MissingExtra
from adanalytics_cli.core.files import replacing
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import Output, formats_with, gather_output
from adanalytics_cli.output.output_file import is_device, output_options
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.fields import TABLE_OF

_FORMATS = formats_with("parquet")


@command(
    "query",
    params=[
        click.Argument(["sql"], metavar="[SQL]", required=False),
        option(
            "--file",
            click.Path(),
            "FILE",
            "Read the SQL from a file instead, or from stdin with -.",
        ),
        option(
            "--in places",
            click.Path(),
            "DIR|URL",
            "Dataset to read; by default this folder, or events in it. Several are joined, "
            "and told apart by a column dataset.",
            multiple=True,
        ),
        *output_options(_FORMATS),
        flag("--chart", "Draw bars of an answer with two columns: a label and a number."),
        option(
            "--memory",
            str,
            "SIZE",
            "Most memory of the query; what does not fit waits in a temporary folder.",
            "1GB",
        ),
    ],
    details=(
        "SQL is one SELECT in the dialect of DuckDB over the view traffic, which has the fields "
        "of the events, and date, hour, partner and currency; date and hour choose the files to "
        "read. Its figures agree with the summary's; the view events has the filtered (invalid) "
        f"traffic, too, and the views {' and '.join(TABLE_OF.values())} have the names of ids. "
        "Rates are functions: ecpm(revenue, impressions), ctr(clicks, impressions) and so on, null "
        "where they divide by zero. Below the answer, stderr says which partners, days and hours "
        "the datasets have. Nothing is sent, and the query can read nothing but the dataset."
    ),
    examples=[
        'adanalytics query "SELECT country, sum(revenue) FROM traffic GROUP BY country"',
        'adanalytics query "SELECT hour, count(*) FROM traffic GROUP BY 1" --chart',
        'adanalytics query "FROM events WHERE hour = 13" --in events -o hour.parquet',
        'adanalytics query "DESCRIBE events" --in s3://bucket/events',
        "adanalytics query --file report.sql --in acme --in other -o report.xlsx",
    ],
    gather=gather_output(_FORMATS),
)
def query(
    invocation: Invocation,
    sql: str | None,
    file: str | None,
    places: tuple[str, ...],
    output: Output,
    chart: bool,
    memory: str,
) -> None:
    form, path = output.form, output.path
    MissingExtra.check("duckdb", "sql", needed_for="adanalytics query")
    sql, start = _sql_of(sql, file), monotonic()
    datasets = find_datasets(invocation, places)

    from adanalytics_cli.console.progress import show_progress
    from adanalytics_cli.output.query_footer import find_notes, write_footer
    from adanalytics_cli.output.query_output import write_answer, write_chart_of
    from adanalytics_client.dataset.query.session import open_session

    with ExitStack() as stack:
        stack.enter_context(show_progress(invocation, live=False))
        # DuckDB may write this one file, and only if it knows so before it is closed to others.
        is_direct = form.is_csv or not form.writer
        is_copied = path is not None and is_direct and not is_device(path)
        raw = stack.enter_context(replacing(path)) if path and is_copied else None
        folder_name = str(raw.name) if raw else None
        session = stack.enter_context(open_session(datasets, memory=memory, output=folder_name))
        if chart:
            rows = write_chart_of(session.select(sql), path, invocation)
        else:
            rows = write_answer(session, sql, output, invocation, raw)
        notes = find_notes(session.coverage, sql, rows)
        write_footer(session.coverage, notes, invocation)
    if path is not None:
        invocation.notice(f"{counted(rows, 'row')}, {monotonic() - start:.1f} s -> {path}")


def _sql_of(sql: str | None, file: str | None) -> str:
    """Return the SQL of the command line, or of the one file that it names; `-` is stdin.

    Raises click.UsageError for none or two of them, and for a text that is not UTF-8.
    """
    if (sql is None) == (file is None):
        problem = "There is no SQL." if sql is None else "SQL and --file are two queries."
        raise click.UsageError(f"{problem} Give SQL, or --file FILE, or - for stdin.")
    # A lone dash is stdin, as for other programs; SQL never is one.
    file = "-" if sql == "-" else file
    if file is None:
        return sql or ""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode()
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        name = "stdin" if file == "-" else file
        raise click.UsageError(
            f"{name} is not UTF-8 at byte {error.start}. Save it as UTF-8."
        ) from None
