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


def sdbn(sessions):
    """Return attractiveness and satisfaction counts by document, by loops over sessions."""
    counts: dict = {}
    for shown in sessions:  # (document, clicked) from the top
        clicked = [k for k, (_, click) in enumerate(shown) if click]
        for k, (document, click) in enumerate(shown):
            seen = counts.setdefault(document, [0, 0, 0])  # examined, clicks, last clicks
            if clicked and k <= clicked[-1]:
                seen[0] += 1
                seen[1] += click
                seen[2] += k == clicked[-1]
    return counts
