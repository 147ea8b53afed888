"""Gradient boosting over queries: objectives, row samples, the loop."""
