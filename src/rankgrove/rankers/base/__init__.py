"""Base classes of rankers, declaration of parameters, and the registry."""
