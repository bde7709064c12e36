"""Small lists of records: a table on a terminal, csv in a pipe."""

from collections.abc import Mapping, Sequence

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import pick_format


def print_listing(
    rows: Sequence[Mapping[str, object]], names: Sequence[str], invocation: Invocation
) -> None:
    """Print the records with the columns `names` in this order."""
    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.row_output import write_rows

    form = pick_format(None, None, piped="csv")
    columns = [Column(name, name.replace("_", " ")) for name in names]
    write_rows(rows, form, None, columns=columns, invocation=invocation)
