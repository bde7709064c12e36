"""Count impressions per hour of the day over all days with data, with asyncio."""

import asyncio
from collections import Counter

from adanalytics_client import AsyncClient


async def main() -> None:
    impressions: Counter[int | None] = Counter()
    async with AsyncClient.from_env() as client:
        for day in await client.dates():
            async for event in client.events(day, concurrency=8):
                if event.event_type == "impression":
                    impressions[event.event_hour] += 1
    most = max(impressions.values(), default=1)
    for hour in range(24):
        bar = "#" * round(40 * impressions[hour] / most)
        print(f"{hour:02d}  {impressions[hour]:>8,}  {bar}")


if __name__ == "__main__":
    asyncio.run(main())
