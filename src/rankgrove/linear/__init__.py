"""Objectives and optimisers of linear rankers."""
