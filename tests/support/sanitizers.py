"""Tests that cannot run under a sanitizer (``make sanitize``, ``make thread-sanitize``)."""

from __future__ import annotations

import os

import pytest

# A sanitizer keeps freed memory, shadows every byte of the rest, and cannot end in a MemoryError.
measures_memory = pytest.mark.skipif(
    any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan")),
    reason="the memory is the sanitizer's",
)
