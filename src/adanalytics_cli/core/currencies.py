"""The digits of the smallest unit of a currency.

ISO 4217, list one of 2026-01-01: https://www.six-group.com/en/products-services/financial-information/data-standards.html
"""

_DIGITS = {
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"), 0),
    **dict.fromkeys(("UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
}


def digits_of(currency: str | None) -> int:
    """Return the decimal digits of an amount; two for a currency that is unknown.

    >>> digits_of("USD"), digits_of("JPY"), digits_of("KWD")
    (2, 0, 3)
    """
    return _DIGITS.get(currency or "", 2)
