"""The views over datasets: events, traffic, and the names of campaigns and tags."""

from collections.abc import Collection, Mapping
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from adanalytics_client._base.logs import LOG
from adanalytics_client._base.spelling import twins_of
from adanalytics_client._json.fields import ID_OF, TABLE_OF, GroupBy
from adanalytics_client._json.types import Types, join_columns

from .expressions import sql_type
from .files import FLAGS, CommittedFiles
from .names import OUR_TYPES, distinct_names, literal, quote
from .summary import EventSource

if TYPE_CHECKING:
    import duckdb


_NAMES = "adanalytics_names"


def our_columns(datasets: Collection[CommittedFiles], columns: Types) -> list[str]:
    """Return the columns of ours in the view of datasets that have these columns together.

    A field `currency` that is the currency of events is that column itself.
    """
    field = next((name for name in columns if name.lower() == "currency"), None)
    owners = [files.identity.names for files in datasets if field in files.columns]
    # The events have a currency of their own, so ours would be the same column twice.
    is_field = field and all(names.sent("currency", columns) == field for names in owners)
    return [name for name in OUR_TYPES if name != "currency" or not is_field]


def select_events(datasets: Mapping[str, CommittedFiles], *, filtered: bool = True) -> str:
    """Return a SELECT of all datasets' events, or without the `filtered` ones.

    With several, a last column names the dataset. Columns with another name than that of their
    field are logged.
    """
    columns = reduce(join_columns, (files.columns for files in datasets.values()))
    fixed = our_columns(datasets.values(), columns)
    ours = [*fixed, *(("dataset",) if len(datasets) > 1 else ())]
    names = distinct_names(columns, ours)
    pairs = [*zip((*columns, *ours), names, strict=True)]
    owners = [""] * len(columns) + ["the dataset's "] * len(ours)
    renamings = [
        f"{name} for {owner}{field or 'no name'}"
        for owner, (field, name) in zip(owners, pairs, strict=True)
        if name != field
    ]
    if renamings and filtered:
        LOG.warning("SQL needs other names: events has %s.", ", ".join(renamings))
    parts = (
        name
        for name in columns
        if any(files.identity.names.documented(name) for files in datasets.values())
    )
    if filtered and (twins := twins_of(parts)):
        LOG.warning(
            "Columns differ only in the spelling of their names, and traffic and figures use one "
            "of each: %s. Pull the days anew into another dataset.",
            "; ".join(map(" and ".join, twins)),
        )
    selects = []
    for place, files in datasets.items():
        select, flag = files.select(columns, fixed), files.flag
        if flag is not None and not filtered:
            quoted = quote(dict(reversed(pairs))[flag])
            if columns[flag].base not in FLAGS:
                quoted = f"TRY_CAST({quoted} AS BOOLEAN)"
            # An event that does not say it is not filtered, as in the totals of the dataset.
            select = f"SELECT * FROM ({select}) WHERE {quoted} IS NOT TRUE"  # noqa: S608  # as above
        if len(datasets) > 1:
            select = f"SELECT *, {literal(place)} AS {quote(names[-1])} FROM ({select})"  # noqa: S608  # as above
        selects.append(select)
    return " UNION ALL ".join(selects)


def create_names(
    connection: "duckdb.DuckDBPyConnection",
    datasets: Mapping[str, CommittedFiles],
    group: GroupBy,
) -> None:
    """Make the table with the names of a group, such as `campaigns`; ids have the events' type."""
    part, types = ID_OF[group], set()
    for files in datasets.values():
        if field := files.identity.names.sent(part, files.columns):
            types.add(sql_type(files.columns[field]))
    rows = [
        (id_, name, files.identity.partner, place)
        for place, files in datasets.items()
        if group in files.group_names
        for id_, name in files.group_names[group].names.items()
    ]
    columns = [part, f"{group}_name", "partner", "dataset"][: 4 if len(datasets) > 1 else 3]
    values = zip(*rows, strict=True) if rows else [()] * 4
    arrays = [pa.array(column, pa.string()) for column in values]
    connection.register(_NAMES, pa.table(dict(zip(columns, arrays, strict=False))))
    # Datasets whose ids differ in type have only texts in common.
    type_ = types.pop() if len(types) == 1 else "VARCHAR"
    connection.execute(
        f"CREATE TABLE {TABLE_OF[group]} AS "  # noqa: S608  # names of ours
        f"SELECT * REPLACE (TRY_CAST({part} AS {type_}) AS {part}) FROM {_NAMES} ORDER BY ALL"
    )
    connection.unregister(_NAMES)


def source_of(files: CommittedFiles) -> EventSource:
    """Return the traffic of a dataset for a summary."""
    select, places = select_events({files.place: files}, filtered=False), sql_names(files)
    labels = {group: group_names.names for group, group_names in files.group_names.items()}
    return EventSource(select, files.columns, files.identity.names, places, labels)


def sql_names(files: CommittedFiles) -> dict[str, str]:
    """Return the names in SQL of the fields and of our columns, quoted.

    Of equal names, ours stands for the column.
    """
    columns, extras = files.columns, our_columns([files], files.columns)
    places = dict(
        zip([*columns, *extras], map(quote, distinct_names(columns, extras)), strict=True)
    )
    if "currency" not in extras:
        places["currency"] = next(places[name] for name in columns if name.lower() == "currency")
    return places
