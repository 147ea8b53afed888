"""Synthetic judgments and clicks of realistic shape, and loaders of public collections."""

from rankgrove.datasets.click_simulation import simulate_clicks
from rankgrove.datasets.collections import load_istella, load_letor, load_mslr, load_yahoo
from rankgrove.datasets.ranking import make_ranking

__all__ = [
    "load_istella",
    "load_letor",
    "load_mslr",
    "load_yahoo",
    "make_ranking",
    "simulate_clicks",
]
