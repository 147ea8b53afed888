"""Model files: our own, and one file per foreign format."""
