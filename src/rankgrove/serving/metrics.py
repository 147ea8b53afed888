"""Counts and times of a server for Prometheus.

With several worker processes, ``PROMETHEUS_MULTIPROC_DIR`` names a folder through which
prometheus_client adds up what all of them saw.
"""

from __future__ import annotations

import functools
import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from rankgrove.serving.shared_metrics import VARIABLE

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rankgrove_requests",
            "Score requests that were answered, by model and HTTP status",
            ["model", "status"],
            registry=self.registry,
        )
        self.documents = Counter(
            "rankgrove_documents", "Documents that were scored", ["model"], registry=self.registry
        )
        self.unknown_categories = Counter(
            "rankgrove_unknown_categories",
            "Values of categorical columns that the model does not know, and takes for missing",
            ["model", "column"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "rankgrove_request_seconds",
            "From the first byte of a score request to its response",
            ["model"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            "rankgrove_queue_seconds",
            "The part of it in which the whole request waits for its turn",
            ["model"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.scoring_seconds = Histogram(
            "rankgrove_scoring_seconds",
            "The part of it in which the model scores",
            ["model"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.in_progress = Gauge(
            "rankgrove_requests_in_progress",
            "Score requests that wait for the model or are scored",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.reloads = Counter(
            "rankgrove_reloads",
            "Model files that were replaced, by whether they could be loaded",
            ["model", "outcome"],
            registry=self.registry,
        )

        self.of = functools.cache(functools.partial(ModelMetrics, self))

    def count_reload(self, name: str, loaded: bool) -> None:
        """Count a file that was replaced."""
        self.reloads.labels(name, "loaded" if loaded else "refused").inc()

    def text(self) -> bytes:
        """Return everything in Prometheus' text format, of all workers."""
        if VARIABLE not in os.environ:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class ModelMetrics:
    """The metrics with the label of one model, looked up once."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self.documents = metrics.documents.labels(name)
        self.request_seconds = metrics.request_seconds.labels(name)
        self.queue_seconds = metrics.queue_seconds.labels(name)
        self.scoring_seconds = metrics.scoring_seconds.labels(name)
        self.unknown_categories = functools.cache(
            lambda column: metrics.unknown_categories.labels(name, column)
        )
        self.requests = functools.cache(lambda status: metrics.requests.labels(name, str(status)))
