"""Click models by enumeration of what is hidden, one session at a time."""

from __future__ import annotations

import itertools
import math


def dbn_joint(clicks, a, s, gamma):
    """Yield (examined, satisfied, probability) of every hidden path of the DBN."""
    n = len(clicks)
    for examined in itertools.product((0, 1), repeat=n):
        for satisfied in itertools.product((0, 1), repeat=n):
            probability = 1.0
            for k in range(n):
                if k == 0:
                    reached = 1.0
                elif not examined[k - 1] or satisfied[k - 1]:
                    reached = 0.0
                else:
                    reached = gamma
                probability *= reached if examined[k] else 1 - reached
                attracted = a[k] if examined[k] else 0.0
                probability *= attracted if clicks[k] else 1 - attracted
                pleased = s[k] if clicks[k] else 0.0
                probability *= pleased if satisfied[k] else 1 - pleased
            if probability > 0:
                yield examined, satisfied, probability


def dbn_posterior(clicks, a, s, gamma):
    """Return P(examined), P(satisfied) by row, and the log-likelihood."""
    paths = list(dbn_joint(clicks, a, s, gamma))
    total = sum(p for _, _, p in paths)
    n = len(clicks)
    examined = [sum(p for e, _, p in paths if e[k]) / total for k in range(n)]
    satisfied = [sum(p for _, z, p in paths if z[k]) / total for k in range(n)]
    return examined, satisfied, math.log(total)


def dbn_conditional(clicks, a, s, gamma):
    """Return the log-likelihood by the chances of a click given the clicks above (PyClick's)."""
    examined, total = 1.0, 0.0
    for click, attraction, satisfaction in zip(clicks, a, s, strict=True):
        if click:
            total += math.log(attraction * examined)
            examined = gamma * (1 - satisfaction)
        else:
            none = 1 - attraction * examined
            total += math.log(none)
            examined *= gamma * (1 - attraction) / none
    return total


def examination_model(sessions, context, n_iterations, prior):
    """Return relevance by document and examination by context after some iterations of EM.

    ``context(shown, k)`` is what the examination of rank k depends on. The update of a parameter is
    PyClick's, the prior is a Beta distribution with ``prior`` pseudo-observations.
    """
    relevance: dict = {}
    examination: dict = {}
    for _ in range(n_iterations):
        sums: dict = {}
        for shown in sessions:
            for k, (document, click) in enumerate(shown):
                keys = ("relevance", document), ("examination", context(shown, k))
                r, e = relevance.get(document, 0.5), examination.get(keys[1][1], 0.5)
                hidden = (1 - e) * r / (1 - e * r), (1 - r) * e / (1 - e * r)
                for key, value in zip(keys, hidden, strict=True):
                    successes, trials = sums.get(key, (prior / 2, prior))
                    sums[key] = successes + (1 if click else value), trials + 1
        values = {key: successes / trials for key, (successes, trials) in sums.items()}
        relevance = {key: value for (kind, key), value in values.items() if kind == "relevance"}
        examination = {key: value for (kind, key), value in values.items() if kind != "relevance"}
    return relevance, examination


def sdbn(sessions):
    """Return attractiveness and satisfaction counts by document, by loops over sessions.

    As in PyClick, all documents of a session without a click count as examined.
    """
    counts: dict = {}
    for shown in sessions:  # (document, clicked) from the top
        clicked = [k for k, (_, click) in enumerate(shown) if click]
        for k, (document, click) in enumerate(shown):
            seen = counts.setdefault(document, [0, 0, 0])  # examined, clicks, last clicks
            if not clicked or k <= clicked[-1]:
                seen[0] += 1
                seen[1] += click
                seen[2] += bool(clicked) and k == clicked[-1]
    return counts
