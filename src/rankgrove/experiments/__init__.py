"""Comparisons, curves, tables, plots and reports."""
