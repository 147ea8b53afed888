"""Losses of one query, as their papers write them, and derivatives by finite differences."""

import itertools

import numpy as np
import scipy.optimize
import scipy.special


def log_softmax(scores):
    shifted = scores - scores.max()
    return shifted - np.log(np.exp(shifted).sum())


def plackett_luce(scores, permutation, depth):
    """Minus the log-likelihood of the first places of one permutation."""
    loss = 0.0
    for place in range(min(depth, len(permutation))):
        context = scores[permutation[place:]]
        loss -= log_softmax(context)[0]
    return loss


def ground_truth_permutations(labels):
    """All permutations that sort the labels, best first."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)[::-1]]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield np.array([document for part in parts for document in part])


def cross_entropy(scores, target):
    """KL divergence up to a constant; the target need not sum to 1."""
    return -float(np.sum(target * log_softmax(scores)))


def cosine(scores, gains, norm):
    return 0.5 * (1.0 - scores @ gains / (np.linalg.norm(scores) * norm))


def gradient(loss, scores, step=1e-5):
    """Central differences."""
    result = np.empty(len(scores))
    for i in range(len(scores)):
        move = np.zeros(len(scores))
        move[i] = step
        result[i] = (loss(scores + move) - loss(scores - move)) / (2 * step)
    return result


def curvature(loss, scores, step=1e-3):
    """Diagonal of the Hessian by central differences."""
    result = np.empty(len(scores))
    for i in range(len(scores)):
        move = np.zeros(len(scores))
        move[i] = step
        result[i] = (loss(scores + move) - 2 * loss(scores) + loss(scores - move)) / step**2
    return result


def centred_squared_error(scores, labels, weight):
    residual = scores - labels
    mean = np.average(residual, weights=weight)
    return 0.5 * float(np.sum(weight * (residual - mean) ** 2))


def logistic(scores, target, weight):
    return float(np.sum(weight * (np.logaddexp(0.0, scores) - target * scores)))


def query_cross_entropy(scores, target, weight, alpha):
    """Logistic loss, and the least one over shifts of the scores; 0 is its limit for one class."""
    shifted = 0.0
    if 0 < np.sum(weight * target) < np.sum(weight):
        best = scipy.optimize.brentq(
            lambda b: np.sum(weight * (scipy.special.expit(scores + b) - target)),
            -500,
            500,
            xtol=1e-14,
        )
        shifted = logistic(scores + best, target, weight)
    return (1 - alpha) * logistic(scores, target, weight) + alpha * shifted


def quantile_loss(target, scores, weight, alpha):
    error = target - scores
    return float(np.sum(weight * np.maximum(alpha * error, (alpha - 1) * error)))
