"""Weighted sums of features: what linear rankers optimise, and how."""
