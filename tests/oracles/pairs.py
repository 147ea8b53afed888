"""Objectives over pairs of documents, pair by pair."""

import itertools

import numpy as np


def pairs_of(y, offsets):
    """All (higher, lower) pairs of documents of one query."""
    for begin, end in itertools.pairwise(offsets):
        for i, j in itertools.permutations(range(begin, end), 2):
            if y[i] > y[j]:
                yield i, j


def hinge(scores, y, offsets, power=1, factors=None, by_query=False):
    """Loss of each query and gradient of their sum by the scores."""
    factors = np.ones(len(y)) if factors is None else factors
    losses = np.zeros(len(offsets) - 1)
    gradient = np.zeros(len(y))
    for q, (begin, end) in enumerate(itertools.pairwise(offsets)):
        pairs = list(pairs_of(y, [begin, end]))
        total = sum(factors[i] * factors[j] for i, j in pairs)
        scale = 1.0 if not by_query else (1.0 / total if total > 0 else 0.0)
        for i, j in pairs:
            missing = max(0.0, 1.0 - scores[i] + scores[j])
            weight = scale * factors[i] * factors[j]
            losses[q] += weight * missing**power
            slope = weight * power * missing ** (power - 1) if missing > 0 else 0.0
            gradient[i] -= slope
            gradient[j] += slope
    return losses, gradient


def rankboost_distribution(scores, y, offsets, factors=None):
    """{(higher, lower): weight}, summing to 1."""
    factors = np.ones(len(y)) if factors is None else factors
    weights = {
        (i, j): factors[i] * factors[j] * np.exp(scores[j] - scores[i])
        for i, j in pairs_of(y, offsets)
    }
    total = sum(weights.values())
    return {pair: weight / total for pair, weight in weights.items()}


def rankboost_r(distribution, answers):
    """r of a weak ranker that answers 0 or 1 for each document."""
    return sum(
        weight * (float(answers[i]) - float(answers[j])) for (i, j), weight in distribution.items()
    )


def best_stump(X, distribution):
    """Largest |r| over all features and thresholds between observed values."""
    best = 0.0
    for column in X.T:
        for value in np.unique(column)[:-1]:
            best = max(best, abs(rankboost_r(distribution, column > value)))
    return best


def pairwise_logistic(scores, y, offsets, power):
    """Gradients and Hessians of the logistic loss of all pairs."""
    gradient, hessian = np.zeros(len(y)), np.zeros(len(y))
    for i, j in pairs_of(y, offsets):
        weight = (y[i] - y[j]) ** power
        rho = 1.0 / (1.0 + np.exp(min(scores[i] - scores[j], 700.0)))
        gradient[i] -= weight * rho
        gradient[j] += weight * rho
        hessian[[i, j]] += weight * rho * (1.0 - rho)
    return gradient, hessian
