"""`adanalytics server`: everything that is done to a server from outside."""

from adanalytics_cli.core.catalogue import Entry, LazyGroup

_HERE = "adanalytics_cli.server"

server = LazyGroup(
    "server",
    entries={
        "partner": Entry(f"{_HERE}.partner:partner", "Add and list partners."),
        "user": Entry(f"{_HERE}.user:user", "Add, list and delete users."),
        "key": Entry(f"{_HERE}.key:key", "Create, list and delete API keys."),
        "load": Entry(f"{_HERE}.load:load", "Load files of events."),
        "generate": Entry(f"{_HERE}.generate:generate", "Fill in realistic generated events."),
        "openapi": Entry(f"{_HERE}.openapi:openapi", "Print the OpenAPI document of the server."),
        "health": Entry(f"{_HERE}.health:health", "Ask a running server whether it is ready."),
    },
    summary="Fill and manage a server's data folder.",
    examples=[
        "adanalytics server partner add acme --currency USD",
        "adanalytics server user add ada@example.org --role admin",
        "adanalytics server key create --user ada@example.org --name nightly",
        "adanalytics server load day.csv --partner acme",
        "adanalytics server health http://127.0.0.1:8000",
    ],
)
