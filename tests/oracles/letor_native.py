"""The native reader of LETOR text on bytes in memory, cut into pieces as a test likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.oracles.letor_text import Parsed, RefusedError

from rankgrove import _native


def parse(
    text: bytes,
    *,
    with_qid: bool = True,
    n_features: int | None = None,
    first_feature: int | None = None,
    keep_comments: bool = True,
    negative_labels: bool = False,
    absent: float = 0.0,
    max_bytes: int = 1 << 24,
    cuts: Sequence[int] = (),
    n_threads: int = 1,
    vectorised: bool = True,
) -> Parsed:
    """Read ``text``, offered in pieces that end at ``cuts``; refusal is a RefusedError."""
    reader = _native.LetorReader(
        n_features=-1 if n_features is None else n_features,
        first_feature=-1 if first_feature is None else first_feature,
        with_qid=with_qid,
        keep_comments=keep_comments,
        negative_labels=negative_labels,
        absent_is_nan=bool(np.isnan(absent)),
        max_bytes=max_bytes,
        vectorised=vectorised,
    )
    position = 0
    for end in [*cuts, len(text)]:
        last = end == len(text)
        # A copy of its own, so that a sanitizer sees any look beyond the end.
        piece = np.frombuffer(bytearray(text[position:end]), np.uint8)
        used = reader.feed(piece, last, n_threads)
        if used < 0:
            line, column, message, shown = reader.problem()
            raise RefusedError(line, f"column {column}: {message}: {shown!r}")
        position += used
        if last:
            break
    first = reader.first_feature
    X, y, ids, text_ids, comments = reader.take()
    qid = [] if not with_qid else ids.tolist()
    if text_ids is not None:
        qid = [text_ids[place] for place in ids]
    texts: list[str | None] = [None] * len(y)
    if comments is not None:
        ends, flags, data = comments
        starts = [0, *ends[:-1]]
        texts = [
            bytes(data[start:end]).decode() if flag else None
            for start, end, flag in zip(starts, ends, flags, strict=True)
        ]
    return Parsed(X, y, qid, texts, first)
