"""Fixtures that all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rankgrove.datasets import make_ranking

REPOSITORY = Path(__file__).resolve().parents[1]

# Machines vary and share their cores: examples are the same on each run and none is timed.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Background jobs of a shell ignore Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Commands that tests start in other folders must find the package as this process does.
if "PYTHONPATH" in os.environ:
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, entries))


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def letor_data() -> Path:
    """Folder of the real data sets (see the marker ``data``)."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no LETOR data at {folder}")
    return folder


@pytest.fixture(scope="session")
def small_data():
    """100 queries of about 20 documents, 20 features, grades 0 to 4."""
    return make_ranking(100, seed=7)


@pytest.fixture(scope="session")
def web_data():
    """60 queries of about 120 documents shaped like MSLR-WEB10K."""
    return make_ranking(60, preset="mslr", seed=7)
