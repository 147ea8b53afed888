"""Out-of-core data: scans that are read batch by batch."""
