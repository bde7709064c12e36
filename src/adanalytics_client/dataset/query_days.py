"""Why an answer is empty: conditions on days and times that no event of a dataset meets.

A claim about a query is made only after DuckDB has tried it: the conditions that a SELECT joins by
AND are taken from DuckDB's own parser, and those about days and times alone are asked again.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement and returns its rows."""

_VIEWS = frozenset(("events", "traffic"))
_BEFORE = "WHERE "


def unmet_conditions(sql: str, times: Collection[str], ask: Ask) -> Iterator[tuple[str, str]]:
    """Yield a view and conditions of a query on its days and times that none of its events meets.

    Args:
        sql: one SELECT; of anything else nothing is said.
        times: the columns of days, hours and times.
        ask: runs a statement on the connection of the query.
    """
    # DuckDB's own parser tells the conditions; words of SQL in a text or a remark would mislead.
    ((text,),) = ask(f"SELECT CAST(json_serialize_sql({_quoted(sql)}) AS VARCHAR)")
    parsed = json.loads(text)
    # It does not serialize every statement that it can run, and a hint may be missing.
    if parsed.get("error"):
        return
    names = {name.casefold() for name in times}
    for node in _nodes(parsed):
        table = node.get("from_table") or {}
        if node.get("type") != "SELECT_NODE" or not _is_view(table, parsed):
            continue
        conditions = [
            condition
            for condition in _conjunction(node.get("where_clause"))
            if (columns := {*_columns(condition)}) and columns <= names and _is_plain(condition)
        ]
        if conditions:
            where = _where(table, conditions, ask)
            if where and not ask(f"SELECT 1 {where} LIMIT 1"):
                yield str(table["table_name"]).lower(), where.partition(_BEFORE)[2]


def _is_view(table: Mapping[str, Any], parsed: object) -> bool:
    """Return whether a table is a view of events, and no table expression of the query."""
    name = str(table.get("table_name")).casefold()
    aliases = {
        str(entry.get("key")).casefold()
        for node in _nodes(parsed)
        if isinstance(node.get("cte_map"), dict)
        for entry in node["cte_map"].get("map", [])
    }
    return table.get("type") == "BASE_TABLE" and name in _VIEWS and name not in aliases


def _where(table: Mapping[str, Any], conditions: list[Any], ask: Ask) -> str:
    """Return FROM and WHERE with these conditions, as DuckDB writes them."""
    ((text,),) = ask("SELECT CAST(json_serialize_sql('SELECT 1') AS VARCHAR)")
    statement = json.loads(text)
    node = statement["statements"][0]["node"]
    node["from_table"] = {**table, "sample": None}
    node["where_clause"] = conditions[0]
    if len(conditions) > 1:
        alike = {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": ""}
        node["where_clause"] = {**alike, "children": conditions}
    ((sql,),) = ask(f"SELECT json_deserialize_sql({_quoted(json.dumps(statement))})")
    return f"FROM {str(sql).partition(' FROM ')[2]}"


def _conjunction(condition: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  # JSON
    """Yield the conditions that all hold where the whole one does."""
    if not condition:
        return
    # Only conditions that all must hold can each be the reason.
    if condition.get("type") == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _conjunction(child)
    else:
        yield condition


def _columns(condition: object) -> Iterator[str]:
    for node in _nodes(condition):
        if node.get("class") == "COLUMN_REF":
            yield str(node["column_names"][-1]).casefold()


def _is_plain(condition: object) -> bool:
    """Return whether a condition says the same each time, whatever else the query has."""
    kinds = {node.get("class") for node in _nodes(condition)}
    return kinds.isdisjoint({"SUBQUERY", "WINDOW", "LAMBDA", "PARAMETER", "STAR"})


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from _nodes(member)
    elif isinstance(value, list):
        for member in value:
            yield from _nodes(member)


def _quoted(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
