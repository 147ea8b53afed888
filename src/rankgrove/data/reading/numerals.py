"""Numbers in text as data files write them."""

from __future__ import annotations


def float_of(text: str | bytes) -> float:
    """Return the number that the text is; ValueError if it is none.

    ``float`` itself takes 1_0 for 10, and digits of any script.
    """
    underscore = "_" in text if isinstance(text, str) else b"_" in text
    if underscore or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)
