"""The web area at ``/``: sign in, an overview of the data, and the API keys.

Pages are rendered here and need no script. Everything they show is read like the API reads it.
"""

from fastapi import APIRouter

from adanalytics_server import web_keys, web_login, web_overview, web_static

router = APIRouter(include_in_schema=False)
router.include_router(web_overview.router)
router.include_router(web_login.router)
router.include_router(web_keys.router)
router.include_router(web_static.router)
