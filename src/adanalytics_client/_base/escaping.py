"""Control and invisible characters in text from the service."""

# C0, DEL and C1 of ECMA-48 move the cursor, set colours, or make a terminal answer; the line
# separators and overrides of Unicode (UAX #9) break a line or turn the rest of it round.
_CONTROLS = {
    code: ascii(chr(code))[1:-1]
    for codes in (range(0x20), range(0x7F, 0xA0), range(0x2028, 0x202F), range(0x2066, 0x206A))
    for code in codes
}
# Nothing is drawn for these letters and marks: the blank of Braille, and the printable ones of
# Default_Ignorable_Code_Point (https://www.unicode.org/Public/17.0.0/ucd/DerivedCoreProperties.txt).
_UNDRAWN = frozenset(
    chr(code)
    for first, last in (
        *((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800)),
        *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
    )
    for code in range(first, last + 1)
)


def visible(text: str) -> str:
    """Replace each control character by its escape, in text for people."""
    return text.translate(_CONTROLS)


def legible(text: str) -> str:
    """Replace each character that nobody sees by its escape, except for spaces and line ends.

    It is for a reader that takes in more than people see. `visible` leaves most of them, because an
    emoji, or a word of Persian, is written with some.
    """
    # What is not drawn can hide an order, or turn the direction of a line.
    return "".join(
        sign
        if sign in "\n\t" or (sign.isprintable() and sign not in _UNDRAWN)
        else ascii(sign)[1:-1]
        for sign in text
    )
