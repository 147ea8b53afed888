"""Ranking metrics and the conventions of the tools that people compare with."""
