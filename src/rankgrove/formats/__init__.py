"""Import and export of models: rankgrove's model files, and one module per foreign format."""
