"""What a fitted ranker is: models that score documents, one kind per file."""
