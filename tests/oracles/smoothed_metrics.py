"""Metrics of randomly perturbed or filtered lists of one query, and their derivatives, slowly."""

import itertools

import numpy as np
import scipy.stats


def metric_of_list(name, values, k=None):
    """Metric of document values in ranked order; NDCG is DCG of gains over the ideal one."""
    ranks = range(min(len(values), k or len(values)))
    if name in ("ndcg", "dcg"):
        return sum(values[r] / np.log2(r + 2) for r in ranks)
    if name == "map":
        precisions = [np.mean(values[: r + 1]) for r in ranks if values[r]]
        return sum(precisions) / max(np.sum(values), 1)
    value, unsatisfied = 0.0, 1.0
    for r in ranks:  # err, and mrr with probabilities 0 and 1
        value += unsatisfied * values[r] / (r + 1)
        unsatisfied *= 1 - values[r]
    return value


def conditional_expectation(name, values, k, others, j, mean, deviation):
    """Expected metric if the score of document j is normal and those of the others are given."""
    order = [int(i) for i in np.argsort(-others) if i != j]
    above = scipy.stats.norm.sf(others[order], mean, deviation)  # P(j above its neighbour)
    reached = np.r_[0.0, above, 1.0]
    return sum(
        (reached[slot + 1] - reached[slot])
        * metric_of_list(name, values[[*order[:slot], j, *order[slot:]]], k)
        for slot in range(len(order) + 1)
    )


def sampled_gradient(name, values, k, scores, noise, sigma, step=1e-4):
    """Derivative of the metric by each score, given the noise of the other documents."""
    n = len(scores)
    perturbed = scores + sigma * noise
    deviation = sigma * np.sqrt(n / (n - 1))
    result = np.empty(n)
    for j in range(n):
        mean = scores[j] + sigma * np.delete(noise, j).mean()
        ends = [
            conditional_expectation(name, values, k, perturbed, j, mean + move, deviation)
            for move in (step, -step)
        ]
        result[j] = (ends[0] - ends[1]) / (2 * step)
    return result


def projected(gradient, scores, nu, sfa):
    """A gradient without its mean and without a share of its part along the centred scores."""
    gradient = gradient - gradient.mean()
    if len(scores) <= 2:
        return gradient
    centred = scores - scores.mean()
    return gradient - sfa * (gradient @ centred) / (np.linalg.norm(centred) + nu) ** 2 * centred


def expected_metric_of_three(name, values, k, scores, sigma):
    """Expected metric of three documents whose scores have independent normal noise."""
    value = 0.0
    for order in itertools.permutations(range(3)):
        a, b, c = order
        gaps = np.array([scores[a] - scores[b], scores[b] - scores[c]])
        covariance = sigma**2 * np.array([[2.0, -1.0], [-1.0, 2.0]])
        chance = scipy.stats.multivariate_normal.cdf(gaps, cov=covariance, abseps=1e-10)
        value += chance * metric_of_list(name, values[list(order)], k)
    return value


def filtered_dcg(labels, stays):
    """Sum of label / position over the documents that stay."""
    return sum(y / (position + 1) for position, y in enumerate(labels[stays]))


def expected_filtered_dcg(scores, labels, sigma):
    """Expectation over all subsets of the documents."""
    p = 1 / (1 + np.exp(-sigma * scores))
    value = 0.0
    for bits in itertools.product([False, True], repeat=len(scores)):
        stays = np.array(bits)
        value += np.prod(np.where(stays, p, 1 - p)) * filtered_dcg(labels, stays)
    return value
