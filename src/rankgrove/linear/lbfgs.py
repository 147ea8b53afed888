"""scipy's L-BFGS with a callback after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]


def minimise(
    loss: Loss,
    scale: Floats,
    *,
    max_iter: int,
    tolerance: float,
    on_step: Callable[[Floats], bool],
) -> None:
    """Minimise a smooth loss of weights, from 0.

    Weights are searched in units of ``1 / scale``, so that features of different spread move alike;
    a weight of scale 0 stays 0.

    Parameters
    ----------
    loss : value and gradient at some weights
    scale : spread of each feature
    max_iter : steps at most
    tolerance : end where no entry of the gradient, in these units, exceeds this share of the
        largest at the start
    on_step : called with the weights after each step; True ends the search
    """
    unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)

    def in_units(z: Floats) -> tuple[float, Floats]:
        value, gradient = loss(unit * z)
        return value, unit * gradient

    def callback(intermediate_result: Any) -> None:
        if on_step(unit * intermediate_result.x):
            raise StopIteration

    start = np.zeros_like(scale)
    steepest = float(np.abs(in_units(start)[1]).max(initial=0.0))
    if steepest == 0.0:
        return
    minimize(
        in_units,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "maxcor": 20,
            "ftol": 0.0,
            "gtol": tolerance * steepest,
        },
    )
