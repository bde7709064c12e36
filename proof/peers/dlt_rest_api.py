"""The rest_api source of dlt, which writes Parquet files into a folder."""

import os
import sys
from pathlib import Path

import dlt
from dlt.sources.rest_api import rest_api_source


def main(day: str, target: Path) -> None:
    """Load the events of a day into a folder of Parquet files."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    url = f"{os.environ['ADANALYTICS_BASE_URL']}/api/partners/{partner}/ad-analytics/"
    source = rest_api_source(
        {
            "client": {
                "base_url": url,
                "auth": {"type": "bearer", "token": os.environ["ADANALYTICS_API_KEY"]},
                "paginator": {"type": "page_number", "base_page": 1, "total_path": None},
            },
            "resources": [
                {
                    "name": "events",
                    "endpoint": {
                        "path": "events",
                        "params": {"start_date": day, "end_date": day, "per_page": 10_000},
                        "data_selector": "data",
                    },
                    "max_table_nesting": 0,
                }
            ],
        }
    )
    pipeline = dlt.pipeline(
        "proof",
        pipelines_dir=str(target.with_name("pipelines")),
        destination=dlt.destinations.filesystem(target.as_uri()),
        dataset_name="acme",
    )
    pipeline.run(source, loader_file_format="parquet")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
