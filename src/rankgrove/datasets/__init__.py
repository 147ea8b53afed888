"""Synthetic judgments of realistic shape, for trials, tests and benchmarks."""

from rankgrove.datasets.ranking import make_ranking

__all__ = ["make_ranking"]
