"""Readers of files, tables and arrays: one module per format."""
