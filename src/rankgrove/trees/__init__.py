"""Binning, tree growing and scoring: the Python interface of the native tree engine."""
