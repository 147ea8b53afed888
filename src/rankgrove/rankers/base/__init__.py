"""What the rankers share: their bases, tables of parameters, the registry."""
