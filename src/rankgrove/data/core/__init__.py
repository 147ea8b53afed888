"""Dataset, queries and columns, and what is derived from them."""
