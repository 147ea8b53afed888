"""LETOR text, read slowly and obviously: what the native reader must agree with.

``parse`` follows the definition in ``rankgrove.data.reading.letor`` line by line with
Python's own float and numpy's exact rounding, and raises ``RefusedError`` on anything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PLAIN_INTEGER = re.compile(rb"0|-?[1-9]\d{0,18}")
MAX_FEATURE_NUMBER = 10_000_000


class RefusedError(Exception):
    """The text is not LETOR text; says in which line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass
class Parsed:
    X: np.ndarray
    y: np.ndarray
    qid: list[int] | list[str]
    comments: list[str | None]
    first_feature: int


@lru_cache(maxsize=100_000)
def nearest_float32(text: bytes) -> np.float32:
    """Round a decimal text to the nearest float32, ties to even, by exact arithmetic."""
    magnitude = re.fullmatch(rb"[+-]?(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?", text)
    assert magnitude is not None
    digits = (magnitude[1] + magnitude[2]) or b"0"
    exponent = int(magnitude[3] or 0) - len(magnitude[2])
    sign = np.float32(-1 if text.startswith(b"-") else 1)
    if int(digits) == 0:
        return sign * np.float32(0)
    if len(digits.lstrip(b"0")) + exponent > 60:
        raise OverflowError
    if len(digits.lstrip(b"0")) + exponent < -60:
        return sign * np.float32(0)
    exact = Fraction(int(digits)) * Fraction(10) ** exponent
    if float(exact) >= 2.0**128 - 2.0**103:  # as a double: tables hold no more digits
        raise OverflowError
    with np.errstate(over="ignore"):
        near = np.minimum(np.float32(float(exact)), np.finfo(np.float32).max)
        candidates = [np.nextafter(near, np.float32(limit)) for limit in (-np.inf, near, np.inf)]
    candidates = [c for c in candidates if np.isfinite(c)]
    return sign * min(
        candidates,
        key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1),
    )


def number(text: bytes, line: int) -> np.float32:
    word = text.lower()
    if word in (b"nan", b"+nan", b"-nan", b"na", b"null"):
        return np.float32(np.nan)
    if word.lstrip(b"+-") in (b"inf", b"infinity") and len(word) - len(word.lstrip(b"+-")) <= 1:
        return np.float32(-np.inf if word.startswith(b"-") else np.inf)
    if not DECIMAL.fullmatch(text):
        raise RefusedError(line, f"value {text!r}")
    try:
        return nearest_float32(text)
    except OverflowError:
        raise RefusedError(line, f"value {text!r} too large") from None


def parse(
    text: bytes,
    *,
    with_qid: bool = True,
    n_features: int | None = None,
    first_feature: int | None = None,
    keep_comments: bool = True,
    negative_labels: bool = False,
    absent: float = 0.0,
) -> Parsed:
    labels: list[float] = []
    ids: list[bytes] = []
    comments: list[str | None] = []
    rows: list[tuple[int, dict[int, np.float32]]] = []
    lines = text.split(b"\n")
    for line_number, line in enumerate(lines, 1):
        line = line.removesuffix(b"\r")
        data, hash_sign, comment = line.partition(b"#")
        if b"\0" in comment or b"\r" in comment:
            raise RefusedError(line_number, "control character in comment")
        tokens = re.split(rb"[ \t]+", data.strip(b" \t"))
        if tokens == [b""]:
            continue
        comment_text = None
        if hash_sign and keep_comments:
            try:
                comment_text = comment.decode()
            except UnicodeDecodeError:
                raise RefusedError(line_number, "comment is not UTF-8") from None
        comments.append(comment_text)
        if not DECIMAL.fullmatch(tokens[0]) or np.isinf(float(tokens[0])):
            raise RefusedError(line_number, f"label {tokens[0]!r}")
        labels.append(float(tokens[0]))
        if labels[-1] < 0 and not negative_labels:
            raise RefusedError(line_number, "negative label")
        rest = tokens[1:]
        has_qid = bool(rest) and rest[0].startswith(b"qid:")
        if has_qid != with_qid:
            raise RefusedError(line_number, "qid")
        if has_qid:
            qid = rest.pop(0)[4:]
            if not qid or len(qid) > 255 or any(c < 32 or c == 127 for c in qid):
                raise RefusedError(line_number, f"qid {qid!r}")
            try:
                qid.decode()
            except UnicodeDecodeError:
                raise RefusedError(line_number, f"qid {qid!r}") from None
            ids.append(qid)
        row: dict[int, np.float32] = {}
        previous = -1
        for token in rest:
            found = re.fullmatch(rb"(\d+):(.*)", token, re.S)
            if not found:
                raise RefusedError(line_number, f"token {token!r}")
            feature = int(found[1])
            if feature > MAX_FEATURE_NUMBER or feature <= previous:
                raise RefusedError(line_number, f"feature {feature} after {previous}")
            if first_feature is not None:
                if feature < first_feature:
                    raise RefusedError(line_number, f"feature {feature}")
                if n_features is not None and feature - first_feature >= n_features:
                    raise RefusedError(line_number, f"feature {feature}")
            row[feature] = number(found[2], line_number)
            previous = feature
        rows.append((line_number, row))
    if first_feature is None:
        first_feature = 0 if any(0 in row for _, row in rows) else 1
    largest = max((max(row, default=-1) for _, row in rows), default=-1)
    width = max(0, largest + 1 - first_feature) if n_features is None else n_features
    X = np.full((len(rows), width), absent, np.float32)
    for i, (line_number, row) in enumerate(rows):
        for feature, value in row.items():
            if not 0 <= feature - first_feature < width:
                raise RefusedError(line_number, f"feature {feature}")
            X[i, feature - first_feature] = value
    if all(PLAIN_INTEGER.fullmatch(i) and -(2**63) <= int(i) < 2**63 for i in ids):
        qid_list: list[int] | list[str] = [int(i) for i in ids]
    else:
        qid_list = [i.decode() for i in ids]
    return Parsed(X, np.array(labels), qid_list, comments, first_feature)
