"""DuckDB over the rows of a CSV file: load them, copy them to a file, or sum them."""

import json
import sys
import time

import duckdb

ROUNDS = 20
SUMMARY = """
SELECT {group}, count(*) FILTER (event_type = 'impression') AS impressions, sum(revenue), sum(cost)
FROM events WHERE NOT is_filtered GROUP BY ALL ORDER BY ALL
"""


def main(action: str, database: str, file: str, form: str = "CSV") -> None:
    """Do one of the three; summaries print their milliseconds and impressions as JSON."""
    with duckdb.connect(database) as connection:
        if action == "load":
            types = "{'revenue': 'DECIMAL(18,9)', 'cost': 'DECIMAL(18,9)'}"
            source = f"read_csv('{file}', types = {types})"
            connection.execute(f"CREATE TABLE events AS FROM {source}")
        elif action == "copy":
            connection.execute(f"COPY events TO '{file}' (FORMAT {form})")
        else:
            query = SUMMARY.format(group=file)
            rows = connection.execute(query).fetchall()
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(ROUNDS):
                connection.execute(query).fetchall()
            taken = {
                "cpu": (time.process_time() - cpu) * 1000 / ROUNDS,
                "wall": (time.perf_counter() - wall) * 1000 / ROUNDS,
                "impressions": sum(row[1] for row in rows),
            }
            print(json.dumps(taken))


if __name__ == "__main__":
    main(*sys.argv[1:])
