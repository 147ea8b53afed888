"""Readers, the Dataset, folds and missing-value policies."""
