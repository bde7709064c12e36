"""The fictional market of generated events: campaigns, placements, audiences."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from adanalytics_server.storage.dimensions import DIMENSIONS

Item = TypeVar("Item")


class Campaign(NamedTuple):
    """A campaign that can win an auction.

    Attributes:
        number: campaign id; ``None`` for a house ad.
        demand_tag: id of the demand tag; ``None`` for a house ad.
        creatives: creative ids, one of which is shown.
        deal: deal id, if there is a deal.
        payment: cpm, cpc, cpcv or none.
        paid_event: the event type that carries the money.
        price: minimum and maximum nanos of the paid event; for cpm, the CPM in micros.
        cost_share: cost in thousandths of the revenue.
    """

    number: int | None
    demand_tag: int | None
    creatives: tuple[str | None, ...]
    deal: str | None
    payment: str
    paid_event: str | None
    price: tuple[int, int]
    cost_share: int


class Placement(NamedTuple):
    """Where an ad is shown: a supply tag on a site or in an app, with its audience."""

    supply_tag: int
    media_type: str
    domain: str | None
    app_bundle: str | None
    devices: tuple[tuple[str, str | None], ...]


def spread(weights: Mapping[Item, int]) -> tuple[Item, ...]:
    """Repeat items by their weights, so that a random index picks by weight."""
    return tuple(choice for choice, weight in weights.items() for _ in range(weight))


CAMPAIGN_NAMES = {
    1001: "Spring Sale",
    1002: "Brand Film 30s",
    1003: "Trailer: Harbour Lights",
    1004: "Coffee Subscription",
    1005: "City Marathon",
    1006: "Été en Provence",
    1007: "Winter Tyres",
    1008: "Podcast Network",
    1009: "Electric Bikes",
    1010: "Language App",
}
DEMAND_TAG_NAMES = {
    501: "Open Auction Video",
    502: "Open Auction Display",
    503: "Preferred Deals",
    504: "Direct Sales",
    505: "Audio Exchange",
}
_NAMES = {"campaign": CAMPAIGN_NAMES, "demand_tag": DEMAND_TAG_NAMES}
NAMES = {
    (dimension.number, id_): name
    for dimension in DIMENSIONS
    for id_, name in _NAMES.get(dimension.name, {}).items()
}

_HOUSE = Campaign(None, None, ("house-1", "house-2"), None, "none", None, (0, 0), 0)
# Auctions without a winning campaign.
NOBODY = Campaign(None, None, (None,), None, "none", None, (0, 0), 0)
_CPM = ("cpm", "impression")
_CPC = ("cpc", "click")
_CPCV = ("cpcv", "complete")
CAMPAIGNS = {
    "video": spread(
        {
            Campaign(1002, 501, ("v-30a", "v-30b"), None, *_CPM, (6_120_450, 18_750_990), 710): 8,
            Campaign(1003, 503, ("trailer",), "deal-hl-7", *_CPCV, (9_000_000, 31_000_007), 640): 5,
            Campaign(1004, 501, ("v-15a",), None, *_CPM, (3_200_001, 11_999_999), 745): 5,
            Campaign(
                1009, 504, ("bike-1", "bike-2"), None, *_CPC, (180_000_000, 950_000_003), 600
            ): 3,
            _HOUSE: 1,
        }
    ),
    "display": spread(
        {
            Campaign(
                1001, 502, ("d-300x250", "d-728x90"), None, *_CPM, (350_125, 2_480_333), 690
            ): 9,
            Campaign(1005, 504, ("run-1",), "deal-run-2", *_CPM, (1_100_000, 4_900_001), 655): 4,
            Campaign(
                1007, 502, ("tyre-a", "tyre-b"), None, *_CPC, (90_000_000, 610_000_001), 720
            ): 5,
            _HOUSE: 2,
        }
    ),
    "native": spread(
        {
            Campaign(
                1006, 503, ("n-1", "n-2", "n-3"), "deal-fr-1", *_CPC, (70_000_000, 400_000_009), 665
            ): 4,
            Campaign(1010, 502, ("lang-1",), None, *_CPM, (700_000, 3_300_777), 700): 4,
            _HOUSE: 1,
        }
    ),
    "audio": spread(
        {
            Campaign(1008, 505, ("a-20s",), None, *_CPM, (4_000_000, 12_500_001), 730): 5,
            Campaign(1010, 505, ("lang-audio",), None, *_CPCV, (8_000_000, 22_000_011), 680): 3,
        }
    ),
}

_WEB = spread(
    {
        ("desktop", "windows"): 9,
        ("desktop", "macos"): 4,
        ("mobile", "android"): 8,
        ("mobile", "ios"): 7,
        ("tablet", "ipados"): 2,
        ("unknown", None): 1,
    }
)
_PHONE = spread({("mobile", "android"): 6, ("mobile", "ios"): 5, ("tablet", "android"): 1})
_TELEVISION = spread(
    {("ctv", "tvos"): 3, ("ctv", "android"): 5, ("set_top_box", "linux"): 2, ("other", None): 1}
)
PLACEMENTS = spread(
    {
        Placement(11, "video", "news.example", None, _WEB): 6,
        Placement(12, "display", "news.example", None, _WEB): 9,
        Placement(13, "display", "weather.example", None, _WEB): 6,
        Placement(14, "native", "kitchen.example", None, _WEB): 4,
        Placement(21, "video", None, "com.example.player", _PHONE): 6,
        Placement(22, "display", None, "com.example.puzzle", _PHONE): 5,
        Placement(23, "audio", None, "com.example.radio", _PHONE): 3,
        Placement(31, "video", None, "tv.example.cinema", _TELEVISION): 7,
    }
)
COUNTRIES = spread(
    {"US": 30, "DE": 12, "FR": 9, "GB": 9, "BR": 7, "JP": 6, "IN": 6, "NL": 3, None: 2}
)
# With sorted keys, as stored.
KEY_VALUES = (
    *[{}] * 12,
    *[{"section": "sports"}] * 4,
    *[{"section": "politics"}] * 3,
    *[{"consent": "yes", "section": "culture"}] * 3,
    *[{"layout": "b", "slot": "top"}] * 2,
)
# VAST 4 error codes of ads that were not served, and of ads that stopped early.
REQUEST_ERRORS = (303, 301, 302, 100, 101, 900)
PLAYBACK_ERRORS = (405, 402, 403, 901)
