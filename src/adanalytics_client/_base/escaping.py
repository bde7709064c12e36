"""Control characters in text from the service."""

# C0, DEL and C1 of ECMA-48 move the cursor, set colours, or make a terminal answer; the line
# separators and overrides of Unicode (UAX #9) break a line or turn the rest of it round.
_CONTROLS = {
    code: ascii(chr(code))[1:-1]
    for codes in (range(0x20), range(0x7F, 0xA0), range(0x2028, 0x202F), range(0x2066, 0x206A))
    for code in codes
}


def visible(text: str) -> str:
    """Replace each control character by its escape, in text for people."""
    return text.translate(_CONTROLS)
