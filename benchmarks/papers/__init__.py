"""Parts of ``bench_papers.py``: data, measured cells, published figures, and a file per study."""
