"""The web area at ``/``: sign in, an overview of the data, and the API keys.

Pages are rendered here and need no script. Everything they show is read like the API reads it.
"""

from fastapi import APIRouter

from adanalytics_server.web import keys as web_keys
from adanalytics_server.web import login as web_login
from adanalytics_server.web import overview as web_overview
from adanalytics_server.web import static_files as web_static

router = APIRouter(include_in_schema=False)
router.include_router(web_overview.router)
router.include_router(web_login.router)
router.include_router(web_keys.router)
router.include_router(web_static.router)
