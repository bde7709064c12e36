"""The columns of a report: which heading stands for which of our fields."""

import re
from collections.abc import Iterable, Mapping

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.fields import COLUMN_OF_TYPE, ID_OF

from .cells import Cell

MONEY = ("revenue", "cost", "profit")
FIGURES = (*COLUMN_OF_TYPE.values(), *MONEY)

# What a heading is called besides the name of our column: in reports of ad servers, in VAST 4.3
# (the video events), and in German, French, Spanish, Italian and Portuguese spreadsheets. Written
# as `fields_of` compares them. Qualified figures, such as viewable impressions, are none of ours.
_HEADINGS: Mapping[str, str] = {
    "day": "day date eventdate reportdate ymd datum tag jour fecha dia data giorno",
    "campaign": "campaign campaignname campaigns kampagne kampagnenname campagne campaña campagna "
    "campanha order ordername insertionorder",
    "campaign_id": "campaignid kampagnenid orderid insertionorderid",
    "demand_tag": "demandtag demandtagname tag tagname",
    "demand_tag_id": "demandtagid tagid",
    "requests": "requests request anfragen requêtes",
    "impressions": "impressions impression imps imp impr impressionen einblendungen impresiones "
    "impressioni impressões",
    "starts": "starts start videostarts videostart",
    "first_quartiles": "firstquartiles firstquartile videofirstquartile",
    "midpoints": "midpoints midpoint videomidpoint",
    "third_quartiles": "thirdquartiles thirdquartile videothirdquartile",
    "completions": "completions complete completes completeviews videocompletes",
    "clicks": "clicks click klicks clics clic cliques",
    "skips": "skips skip videoskips",
    "errors": "errors error fehler erreurs",
    "revenue": "revenue revenues rev netrevenue grossrevenue earnings umsatz erlös erlöse "
    "einnahmen revenu revenus ingresos ricavi receita",
    "cost": "cost costs kosten mediacost coût costo custo",
    "profit": "profit gewinn",
}
FIELDS = (*_HEADINGS, *(name for pair in ID_OF.items() for name in pair if name not in _HEADINGS))
# Without other words, a group is called as its field.
_FIELD_OF = {
    **{fold(f"{group}_name"): group for group in ID_OF},
    **{fold(name): name for name in FIELDS},
    **{name: field for field, names in _HEADINGS.items() for name in names.split()},
}
CURRENCIES = frozenset(
    (
        "EUR",
        "USD",
        "GBP",
        "CHF",
        "JPY",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "HUF",
        "CAD",
        "AUD",
        "INR",
        "BRL",
        "MXN",
        "TRY",
        "CNY",
    )
)
_DOLLARS = {"USD", "CAD", "AUD", "MXN", "BRL"}
_NEUTRAL = frozenset(("total", "sum", "of", "ad", "server", "gesamt", "summe"))


def fields_of(cell: Cell, names: Mapping[str, str]) -> list[str]:
    """Return the fields that a heading may stand for; a name that was given decides."""
    text = str(cell or "")
    if named := [
        name for name, heading in names.items() if text and heading.casefold() == text.casefold()
    ]:
        return named
    words = re.findall(r"[^\W_]+", re.sub(r"\(.*?\)|\[.*?\]", " ", text))
    words = [word.casefold() for word in words if word not in CURRENCIES]
    word_text = "".join(word for word in words if word not in _NEUTRAL)
    # Tag is German for day; the cells below decide.
    fields = ["day", "demand_tag"] if word_text == "tag" else [_FIELD_OF.get(word_text, "")]
    return [name for name in fields if name and name not in names]


def currencies_of(cells: Iterable[Cell]) -> set[str]:
    """Return the currencies that cells name; $ only beside one that it is not the sign of."""
    text = " ".join(map(str, cells)).replace("€", " EUR ").replace("£", " GBP ")
    codes = CURRENCIES & {*re.findall("[A-Z]{3}", text)}
    return {*codes, "$"} if "$" in text and codes - _DOLLARS else {*codes}
