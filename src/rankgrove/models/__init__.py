"""Models: the fitted part of a ranker, which scores documents; one kind per file."""
