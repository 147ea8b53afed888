"""The workers of one fit: collective messages between them, and which rows each holds."""
