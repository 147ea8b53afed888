"""The rankers of the papers, one file each, and the registry of their names."""
