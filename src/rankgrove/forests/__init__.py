"""Forests: growing, out-of-bag predictions, statistics, strength."""
