"""Metrics by definition: one query, one ranked list of labels, every order of ties tried.

Slow and obvious on purpose. ``query_value`` takes any ``Metric`` and follows its parameters.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def gain(metric, label):
    if isinstance(metric.gain, tuple):
        return metric.gain[int(label)]
    return label if metric.gain == "linear" else 2**label - 1


def discount(metric, r):
    kind, _, power = metric.discount.partition(":")
    if kind == "alpha":
        return 1 / math.log2(r + 1) ** float(power)
    if kind == "beta":
        return 1 / r ** float(power)
    if kind == "letor":
        return 1.0 if r <= 2 else math.log(2) / math.log(r)
    return 1 / math.log2(r + 1)


def is_relevant(metric, label):
    if isinstance(metric.relevant_from, str):
        return label > float(metric.relevant_from[1:])
    return label >= metric.relevant_from


def cut(ranked, k):
    return ranked if k is None else ranked[:k]


def dcg(metric, ranked, k=None):
    shown = cut(ranked, k)
    return sum(gain(metric, label) * discount(metric, i + 1) for i, label in enumerate(shown))


def ndcg(metric, ranked, k=None):
    return dcg(metric, ranked, k) / dcg(metric, sorted(ranked, key=lambda x: -gain(metric, x)), k)


def mean_ndcg(metric, ranked):
    last = len(ranked) if metric.k is None else min(metric.k, len(ranked))
    return sum(ndcg(metric, ranked, k) for k in range(1, last + 1)) / last


def err(metric, ranked):
    value, reaches = 0.0, 1.0
    for i, label in enumerate(cut(ranked, metric.k)):
        if metric.gain == "exp":
            satisfied = (2**label - 1) / 2**metric.max_grade
        else:
            satisfied = label / metric.max_grade
        value += reaches * satisfied / (i + 1)
        reaches *= 1 - satisfied
    return value


def average_precision(metric, ranked):
    hits = [is_relevant(metric, label) for label in ranked]
    total = sum(hits)
    if metric.denominator == "k" and metric.k is not None:
        total = min(total, metric.k)
    shown = cut(hits, metric.k)
    return sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(shown) if hit) / total


def reciprocal_rank(metric, ranked):
    for i, label in enumerate(cut(ranked, metric.k)):
        if is_relevant(metric, label):
            return 1 / (i + 1)
    return 0.0


def precision(metric, ranked):
    shown = cut(ranked, metric.k)
    by = len(ranked) if metric.k is None else metric.k
    if metric.short == "cut":
        by = min(by, len(ranked))
    return sum(is_relevant(metric, label) for label in shown) / by


def recall(metric, ranked):
    hits = [is_relevant(metric, label) for label in ranked]
    return sum(cut(hits, metric.k)) / sum(hits)


def rank_biased_precision(metric, ranked):
    p = metric.persistence
    shown = cut(ranked, metric.k)
    return sum((1 - p) * p**i * is_relevant(metric, label) for i, label in enumerate(shown))


LIST_VALUES = {
    "ndcg": lambda metric, ranked: ndcg(metric, ranked, metric.k),
    "endcg": lambda metric, ranked: ndcg(metric, ranked, metric.k),
    "dcg": lambda metric, ranked: dcg(metric, ranked, metric.k),
    "meanndcg": mean_ndcg,
    "err": err,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "p": precision,
    "recall": recall,
    "rbp": rank_biased_precision,
}


def is_empty(metric, labels):
    if hasattr(metric, "relevant_from"):
        return not any(is_relevant(metric, label) for label in labels)
    return not any(gain(metric, label) > 0 for label in labels)


def rankings(labels, scores):
    """All lists of labels that order by descending score allows; the stable one comes first."""
    levels = sorted(set(scores), reverse=True)
    blocks = [
        [label for label, s in zip(labels, scores, strict=True) if s == level] for level in levels
    ]
    for choice in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [label for block in choice for label in block]


def query_value(metric, labels, scores):
    """Value of one query; NaN if it is skipped."""
    labels, scores = list(labels), list(scores)
    if metric.name == "rmse":
        return float(np.sqrt(np.mean((np.array(labels) - np.array(scores)) ** 2)))
    if metric.name == "filtered-dcg":
        staying = [label for label, score in zip(labels, scores, strict=True) if score >= 0]
        return sum(label / position for position, label in enumerate(staying, 1))
    if metric.name in ("class-error", "err-bound"):
        wrong = sum(math.floor(s + 0.5) != y for y, s in zip(labels, scores, strict=True))
        if metric.name == "class-error":
            return wrong / len(labels)
        return (1 - 0.5**metric.max_grade) * math.pi / math.sqrt(6) * math.sqrt(wrong)
    if metric.name == "tau":
        return kendall_tau(metric, labels, scores)
    if is_empty(metric, labels):
        return math.nan if metric.empty == "skip" else metric.empty
    if getattr(metric, "short", "") == "zero" and metric.k is not None and len(labels) < metric.k:
        return 0.0
    if metric.ties == "doc_id":  # without ids, the later row has the higher one
        labels, scores = labels[::-1], scores[::-1]
    orders = rankings(labels, scores)
    formula = LIST_VALUES[metric.name]
    if metric.ties in ("input", "doc_id"):
        return formula(metric, next(orders))
    values = [formula(metric, ranked) for ranked in orders]
    return {"average": float(np.mean(values)), "worst": min(values), "best": max(values)}[
        metric.ties
    ]


def kendall_tau(metric, labels, scores):
    difference = pairs = label_pairs = score_pairs = 0
    for i, j in itertools.combinations(range(len(labels)), 2):
        by_label, by_score = np.sign(labels[i] - labels[j]), np.sign(scores[i] - scores[j])
        difference += by_label * by_score
        pairs += 1
        label_pairs += by_label != 0
        score_pairs += by_score != 0
    if label_pairs == 0:
        return math.nan if metric.empty == "skip" else metric.empty
    if metric.variant == "a":
        return difference / pairs
    return difference / math.sqrt(label_pairs * score_pairs) if score_pairs else 0.0
