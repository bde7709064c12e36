"""Ours beside the typed peers: an object for each event of a day."""

import sys
from pathlib import Path

from adanalytics_client import Client


def main(day: str, target: Path) -> None:
    """Make the events of a day objects, one after the other, and write their number."""
    passed = 0
    with Client.from_env() as client:
        for _event in client.events(day, split="auto"):
            passed += 1
    target.write_text(str(passed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
