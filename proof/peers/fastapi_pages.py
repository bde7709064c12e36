"""A page of events from SQLite in forty lines, and a file with the same bytes as a page of ours."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiosqlite
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse

QUERY = "SELECT * FROM events WHERE event_date BETWEEN ? AND ? ORDER BY rowid LIMIT ? OFFSET ?"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep one connection open."""
    async with aiosqlite.connect(sys.argv[1]) as connection:
        connection.row_factory = aiosqlite.Row
        app.state.connection = connection
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/events")
async def events(
    request: Request, start_date: str, end_date: str, page: int = 1, per_page: int = 1000
) -> JSONResponse:
    """Return a page of the events of some days."""
    values = (start_date, end_date, per_page, (page - 1) * per_page)
    rows = await request.app.state.connection.execute_fetchall(QUERY, values)
    return JSONResponse({"events": [dict(row) for row in rows]})


@app.get("/static")
async def static() -> FileResponse:
    """Return the bytes of a file."""
    return FileResponse(sys.argv[2], media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[3]), access_log=False)
