"""The stylesheet and the icon: the only files that the pages need, kept in memory."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.errors import ApiError

_FOLDER = Path(__file__).parent / "static"
_A_YEAR = 365 * 86_400

router = APIRouter(prefix="/static", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent; its address changes with its content, so caches may keep it."""

    name: str
    media_type: str
    content: bytes
    version: str

    @classmethod
    def read(cls, name: str, media_type: str) -> Self:
        """Read a file of the package."""
        content = (_FOLDER / name).read_bytes()
        return cls(name, media_type, content, hashlib.sha256(content).hexdigest()[:16])

    @property
    def url(self) -> str:
        """The address of this content, for as long as it is this."""
        return f"/static/{self.name}?v={self.version}"


STYLESHEET = Asset.read("web.css", "text/css; charset=utf-8")
ICON = Asset.read("icon.svg", "image/svg+xml")
_ASSETS = {asset.name: asset for asset in (STYLESHEET, ICON)}


@router.get("/{name}")
async def static(request: Request, name: str) -> Response:
    """Send a file; for a year when asked by version, else to be asked about each time."""
    asset = _ASSETS.get(name)
    if asset is None:
        raise ApiError(404, "Not Found")
    versioned = request.query_params.get("v") == asset.version
    etag = f'"{asset.version}"'
    headers = {
        "X-Content-Type-Options": "nosniff",
        "ETag": etag,
        "Cache-Control": f"public, max-age={_A_YEAR}, immutable" if versioned else "no-cache",
    }
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
