"""Cutting planes: minimise half the squared norm of the weights plus a non-smooth convex loss.

(Joachims 2006; with the line search of Franc and Sonnenburg, "Optimized Cutting Plane Algorithm for
Support Vector Machines", 2008.) Each plane is a lower bound of the convex loss. The weights that
are best under all planes so far, and the best weights known, span a line; the best point on the
line is taken, and the loss just beyond it gives the next plane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rankgrove.linear.hinge import PairHingeLoss

Floats = npt.NDArray[np.float64]

# Tangent point of the next plane, between the best weights (0) and the planes' minimum (1).
_BEYOND = 0.1
_LINE_STEPS = 8
# Ridge that keeps the linear system of linearly dependent planes solvable.
_RIDGE = 1e-11
# Rounds for which a plane with multiplier 0 is kept.
_IDLE_ROUNDS = 30


@dataclass
class Planes:
    """Lower bounds ``slope @ weights + height`` of a loss that is never below 0.

    Attributes
    ----------
    slopes, heights : of each plane; the first is 0 everywhere
    products : Gram matrix of the slopes
    multipliers : dual variable of each plane, with sum 1; the weights are ``-multipliers @ slopes``
    idle : rounds since the multiplier of each plane was positive
    """

    slopes: Floats
    heights: Floats = field(default_factory=lambda: np.zeros(1))
    products: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    multipliers: Floats = field(default_factory=lambda: np.ones(1))
    idle: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def add(self, slope: Floats, height: float) -> None:
        """Add a plane."""
        row = self.slopes @ slope
        self.products = np.block([[self.products, row[:, None]], [row, slope @ slope]])
        self.slopes = np.vstack([self.slopes, slope])
        self.heights = np.r_[self.heights, height]
        self.multipliers = np.r_[self.multipliers, 0.0]
        self.idle = np.r_[self.idle, 0]

    def best_weights(self, tolerance: float) -> tuple[Floats, float]:
        """Return the minimum under the planes: the weights, and a lower bound of the optimum."""
        self._solve_dual(tolerance)
        self.idle = np.where(self.multipliers > 0, 0, self.idle + 1)
        self.idle[0] = 0
        kept = self.idle <= _IDLE_ROUNDS
        self.slopes, self.heights, self.multipliers = (
            part[kept] for part in (self.slopes, self.heights, self.multipliers)
        )
        self.products, self.idle = self.products[np.ix_(kept, kept)], self.idle[kept]
        weights = -self.multipliers @ self.slopes
        return weights, float(self.multipliers @ self.heights - 0.5 * weights @ weights)

    def _solve_dual(self, tolerance: float) -> None:
        """Maximise the dual by an active-set method: solve for the active planes, then add one."""
        ridge = _RIDGE * float(np.diag(self.products).max())
        for _ in range(20 * len(self.multipliers)):
            active = np.flatnonzero(self.multipliers > 0)
            solution = self._solve_active(active, ridge)
            if solution.min() > 0:
                self.multipliers[active] = solution
                gradient = self.products @ self.multipliers - self.heights
                newest = int(gradient.argmin())
                if gradient[active].max() - gradient[newest] <= tolerance:
                    return
                if self.multipliers[newest] == 0:
                    self.multipliers[newest] = 1e-300
                    continue
                return  # as good as rounding allows
            falling = solution < self.multipliers[active]
            ways = np.full(len(active), np.inf)
            now = self.multipliers[active]
            ways[falling] = now[falling] / (now[falling] - solution[falling])
            first = int(ways.argmin())
            self.multipliers[active] = now + min(ways[first], 1.0) * (solution - now)
            self.multipliers[active[first]] = 0.0
            positive = np.maximum(self.multipliers, 0.0)
            self.multipliers = positive / positive.sum()

    def _solve_active(self, active: npt.NDArray[np.int64], ridge: float) -> Floats:
        """Return the optimal multipliers of active planes; their sum is 1, some may be negative."""
        n = len(active)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = self.products[np.ix_(active, active)] + ridge * np.eye(n)
        system[n, n] = 0.0
        solution = np.linalg.solve(system, np.r_[self.heights[active], 1.0])
        return np.asarray(solution[:n], np.float64)


@dataclass(frozen=True)
class Point:
    """Weights, and the scores that they give."""

    weights: Floats
    scores: Floats

    def towards(self, other: Point, share: float) -> Point:
        """Interpolate linearly between this point (0) and another (1)."""
        return Point(
            self.weights + share * (other.weights - self.weights),
            self.scores + share * (other.scores - self.scores),
        )


def minimise_nonsmooth(
    loss: PairHingeLoss,
    n_features: int,
    *,
    max_iter: int,
    tolerance: float,
    on_step: Callable[[Floats], bool],
) -> float:
    """Minimise the loss plus half the squared norm of the weights, from 0.

    Returns the share by which the objective may lie above the optimum; 0 if ``on_step`` ended the
    search.

    Parameters
    ----------
    max_iter : planes at most
    tolerance : end where the objective is at most this share above the optimum
    on_step : called with the best weights after each step; True ends the search
    """
    features = loss.features
    start = np.zeros(n_features)
    best = Point(start, features.scores(start))
    planes = Planes(np.zeros((1, n_features)))
    touched = best
    gap = 0.0
    for _ in range(max_iter):
        value, by_score = loss.at_scores(touched.scores)
        slope = features.sums(by_score)
        if touched is best and not slope.any():  # no weight changes the loss
            return 0.0
        planes.add(slope, value - float(slope @ touched.weights))
        objective = _objective(loss, best)
        weights, bound = planes.best_weights(0.1 * tolerance * max(objective, 1e-300))
        lowest = Point(weights, features.scores(weights))
        best = best.towards(lowest, _best_share(loss, best, lowest))
        if on_step(best.weights):
            return 0.0
        objective = _objective(loss, best)
        gap = (objective - bound) / max(objective, 1e-300)
        if gap <= tolerance:
            return gap
        touched = best.towards(lowest, _BEYOND)
    return gap


def _objective(loss: PairHingeLoss, point: Point) -> float:
    return loss.at_scores(point.scores)[0] + 0.5 * float(point.weights @ point.weights)


def _best_share(loss: PairHingeLoss, first: Point, second: Point) -> float:
    """Return the minimiser of the objective between two points (0 to 1), by bisection."""
    move_weights, move_scores = second.weights - first.weights, second.scores - first.scores

    def slope(share: float) -> float:
        point = first.towards(second, share)
        _, by_score = loss.at_scores(point.scores)
        return float(by_score @ move_scores + point.weights @ move_weights)

    if slope(1.0) <= 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_LINE_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low
