"""Pages that httpx receives and polars parses and writes as Parquet, with types like ours."""

import io
import os
import sys
from pathlib import Path

import httpx
import polars as pl

MONEY = pl.Decimal(38, 9)


def main(day: str, target: Path) -> None:
    """Write the events of a day as Parquet."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    url = f"{os.environ['ADANALYTICS_BASE_URL']}/api/partners/{partner}/ad-analytics/events"
    headers = {"Authorization": f"Bearer {os.environ['ADANALYTICS_API_KEY']}"}
    frames = []
    with httpx.Client(headers=headers, timeout=60) as http:
        page, more = 0, True
        while more:
            page += 1
            query = {"start_date": day, "end_date": day, "page": str(page), "per_page": "10000"}
            answer = http.get(url, params=query)
            answer.raise_for_status()
            body = pl.read_json(io.BytesIO(answer.content))
            more = page * 10_000 < body["meta"].struct.field("total").item()
            events = body.select("data").explode("data").unnest("data")
            frames.append(
                events.with_columns(
                    pl.col("event_time", "received_at").str.to_datetime(time_zone="UTC"),
                    pl.col("event_date").str.to_date(),
                    pl.col("revenue", "cost").cast(MONEY),
                    pl.col("key_values").struct.json_encode(),
                )
            )
    pl.concat(frames, how="vertical_relaxed").write_parquet(target)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
