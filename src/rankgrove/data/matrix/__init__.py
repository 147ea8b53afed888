"""Feature matrices (dense, sparse, caller memory, streamed) and conversion to them."""
