"""Objectives of boosted rankers, one per file, over native gradient kernels."""
