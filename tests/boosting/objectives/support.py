"""Small training sets, and gradients in one call."""

import numpy as np

from rankgrove.boosting.objectives.base import TrainingData


def training_data(
    sizes, n_grades=5, seed=0, weight=None, n_threads=1, zero_share=0.5, query_ids=None
):
    random = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    y = random.integers(0, n_grades, n) * (random.random(n) >= zero_share)
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    return TrainingData(y.astype(float), offsets, weight, n_threads, seed, query_ids)


def run(objective, scores, iteration=0):
    """Return gradients and Hessians as float64, constant Hessians as ones, shaped as scores."""
    outputs = np.atleast_2d(scores)
    gradients = np.full(outputs.shape, np.nan, np.float32)
    hessians = None if objective.constant_hessian else np.full(outputs.shape, np.nan, np.float32)
    objective.gradients(outputs, gradients, hessians, iteration)
    found = gradients, np.ones(outputs.shape) if hessians is None else hessians
    return tuple(array.astype(float).reshape(scores.shape) for array in found)


def per_query(data, function, *arrays):
    """Concatenate what function returns for the slices of each query."""
    parts = [
        function(*(array[begin:end] for array in arrays))
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True)
        if end > begin
    ]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
