"""What published evaluation scripts compute, step by step as they are described.

``Eval-Score-3.0.pl``, ``Eval-Score-4.0.pl`` and ``eval-score-mslr.pl`` of LETOR and MSLR,
``evaluate.py`` of the Yahoo! Learning to Rank Challenge, and RankLib's scorers. All rank by
descending score and keep the order of the file for equal scores.
"""

from __future__ import annotations

import math


def ranked_labels(labels, scores):
    order = sorted(range(len(labels)), key=lambda i: -scores[i])
    return [int(labels[i]) for i in order]


# LETOR and MSLR ------------------------------------------------------------------------------

LETOR_GAINS = {0: 0, 1: 1, 2: 3, 3: 7, 4: 15}


def letor_dcg_list(ranked):
    """DCG at each position: g1, then + g2, then + g_r * ln 2 / ln r."""
    dcgs = []
    for position, label in enumerate(ranked, start=1):
        gain = LETOR_GAINS[label]
        if position == 1:
            dcgs.append(gain)
        elif position == 2:
            dcgs.append(dcgs[-1] + gain)
        else:
            dcgs.append(dcgs[-1] + gain * math.log(2) / math.log(position))
    return dcgs


def letor_ndcg_list(ranked):
    """NDCG at each position of the list; the array is only as long as the list."""
    ideal = letor_dcg_list(sorted(ranked, reverse=True))
    return [
        value / best if best != 0 else 0.0
        for value, best in zip(letor_dcg_list(ranked), ideal, strict=True)
    ]


def letor_ndcg(ranked, n):
    values = letor_ndcg_list(ranked)
    return values[n - 1] if n <= len(values) else 0.0  # a missing entry counts 0


def letor_mean_ndcg(ranked):
    values = letor_ndcg_list(ranked)
    return sum(values) / len(values)


def letor_precision(ranked, n, relevant_from, script):
    precisions = []
    hits = 0
    for position, label in enumerate(ranked, start=1):
        hits += label >= relevant_from
        precisions.append(hits / position)
    if n <= len(precisions):
        return precisions[n - 1]
    return 0.0 if script == "letor3" else hits / n


def letor_average_precision(ranked, relevant_from):
    hits, total = 0, 0.0
    for position, label in enumerate(ranked, start=1):
        if label >= relevant_from:
            hits += 1
            total += hits / position
    return total / hits if hits else 0.0


# Yahoo! --------------------------------------------------------------------------------------


def yahoo_ndcg(ranked):
    """NDCG@10 with natural logarithms; a query without a relevant document counts 1."""

    def dcg(labels):
        return sum((2**label - 1) / math.log(i + 2) for i, label in enumerate(labels[:10]))

    ideal = dcg(sorted(ranked, reverse=True))
    return dcg(ranked) / ideal if ideal > 0 else 1.0


def yahoo_err(ranked):
    """ERR over the whole list, grades up to 4."""
    value, p = 0.0, 1.0
    for i, label in enumerate(ranked):
        r = (2**label - 1) / 2**4
        value += p * r / (i + 1)
        p *= 1 - r
    return value


# RankLib -------------------------------------------------------------------------------------


def ranklib_size(ranked, k):
    return len(ranked) if k > len(ranked) or k <= 0 else k


def ranklib_dcg(ranked, size):
    return sum(((1 << label) - 1) / math.log2(i + 2) for i, label in enumerate(ranked[:size]))


def ranklib_ndcg(ranked, k):
    size = ranklib_size(ranked, k)
    ideal = ranklib_dcg(sorted(ranked, reverse=True), size)
    return ranklib_dcg(ranked, size) / ideal if ideal > 0 else 0.0


def ranklib_map(ranked):
    hits, total = 0, 0.0
    for i, label in enumerate(ranked):
        if label > 0:
            hits += 1
            total += hits / (i + 1)
    return total / hits if hits else 0.0


def ranklib_precision(ranked, k):
    size = ranklib_size(ranked, k)
    return sum(label > 0 for label in ranked[:size]) / size


def ranklib_reciprocal_rank(ranked, k):
    size = ranklib_size(ranked, k)
    first = next((i for i in range(size) if ranked[i] > 0), None)
    return 0.0 if first is None else 1 / (first + 1)


def ranklib_err(ranked, k, max_gain=16.0):
    value, p = 0.0, 1.0
    for i, label in enumerate(ranked[: ranklib_size(ranked, k)], start=1):
        r = ((1 << label) - 1) / max_gain
        value += p * r / i
        p *= 1 - r
    return value
