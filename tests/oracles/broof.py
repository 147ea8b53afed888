"""Algorithm 1 of Generalized BROOF-L2R in plain loops, on scikit-learn's trees."""

from __future__ import annotations

import math

import numpy as np
from sklearn.tree import DecisionTreeRegressor


def median_errors(y, query, predicted, known):
    errors = np.zeros(len(y))
    for i in range(len(y)):
        if known[i]:
            same = [
                predicted[j]
                for j in range(len(y))
                if known[j] and query[j] == query[i] and y[j] == y[i]
            ]
            errors[i] = abs(predicted[i] - np.median(same))
    return errors


def height_errors(y, query, predicted, known, relevant_from=1.0):
    errors = np.zeros(len(y))
    for i in range(len(y)):
        if not known[i]:
            continue
        relevant = y[i] >= relevant_from
        wrong = most = 0.0
        for j in range(len(y)):
            if known[j] and query[j] == query[i] and (y[j] >= relevant_from) != relevant:
                most += 1
                lead = predicted[j] - predicted[i] if relevant else predicted[i] - predicted[j]
                wrong += 1.0 if lead > 0 else 0.5 if lead == 0 else 0.0
        errors[i] = wrong / most if most else 0.0
    return errors


def absolute_errors(y, query, predicted, known):
    return np.where(known, np.abs(y - predicted), 0.0)


ERRORS = {"absolute": absolute_errors, "median": median_errors, "height": height_errors}


def broof(X, y, query, preset, n_steps, n_trees, max_leaf_nodes, shrinkage, draw):
    """Return the scores of the training documents and the says of the forests.

    ``draw(tree_number, weights)`` gives the rows of a tree's bootstrap.
    """
    n = len(y)
    weights = np.full(n, 1.0 / n)
    targets = y.astype(float)
    total, says = np.zeros(n), []
    for step in range(n_steps):
        predictions, sums, counts = np.zeros(n), np.zeros(n), np.zeros(n)
        for number in range(n_trees):
            rows = draw(step * n_trees + number, weights)
            tree = DecisionTreeRegressor(max_leaf_nodes=max_leaf_nodes, random_state=number)
            tree.fit(X[rows], targets[rows])
            values = tree.predict(X)
            predictions += values / n_trees
            out = np.setdiff1d(np.arange(n), rows)
            sums[out] += values[out]
            counts[out] += 1
        known = counts > 0
        oob = np.where(known, sums / np.maximum(counts, 1), 0.0)
        if preset == "gradient":
            says.append(shrinkage)
            total += shrinkage * predictions
            targets = np.where(known, targets - shrinkage * oob, targets)
            continue
        errors = ERRORS[preset](y, query, oob, known)
        errors = errors / errors.max()
        epsilon = (errors * weights)[known].sum() / weights[known].sum()
        if epsilon >= 0.5 and says:
            break
        beta = shrinkage * epsilon / (1 - epsilon)
        say = math.log(1 / beta)
        says.append(say)
        total += say * predictions
        weights = np.where(known, weights * beta ** (1 - errors), weights)
        weights = weights / weights.sum()
    scores = total if preset == "gradient" else total / sum(says)
    return scores, np.array(says)
