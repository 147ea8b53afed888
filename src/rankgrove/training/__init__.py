"""Parts of a fit that all rankers share: evaluation sets, the step loop, progress, journal."""
