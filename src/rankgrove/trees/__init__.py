"""The Python face of the native tree engine."""
