"""What a boosted ranker minimises: one file per objective, over native gradient kernels."""
