"""Fixtures that all tests share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from rankgrove import ranker_names
from rankgrove.datasets import make_ranking
from support.rankers import FAMILIES
from support.xdist_groups import group_scheduler

REPOSITORY = Path(__file__).resolve().parents[1]

# Machines vary and share their cores: examples are the same on each run and none is timed.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Background jobs of a shell ignore Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Commands that tests start in other folders must find the package as this process does.
if "PYTHONPATH" in os.environ:
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, entries))


# Model files of `rankgrove train` hold the date; tests that compare their bytes need one date.
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"


# Markers of tests that the quick tier (``--quick``, ``make check``) leaves out.
SLOW = {"cluster", "process", "docs", "packaging", "slow"}
# Fixtures that start processes: tests that use them are marked by it.
PROCESS_FIXTURES = {"rankgrove", "start", "server", "impatient_server", "fleet"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="one ranker per family; no clusters, processes, docs, packaging or slow tests",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")
        sys.addaudithook(refuse_processes)


def refuse_processes(event: str, _: object) -> None:
    """Fail a test of the quick tier that starts a process."""
    started = event in ("subprocess.Popen", "os.fork", "os.posix_spawn")
    if started and "PYTEST_CURRENT_TEST" in os.environ:
        raise AssertionError("this test starts a process: mark it with pytest.mark.process")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a group in one process of ``-n``."""
    return group_scheduler(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if PROCESS_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("process")
        if item.path.parent.name in ("cli", "experiments"):  # commands print warnings about data
            printed = pytest.mark.filterwarnings("default::rankgrove.errors.DataWarning")
            item.add_marker(printed, append=False)  # a test's own filters come after it
    if config.getoption("--quick"):
        dropped = [item for item in items if is_slow(item)]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not is_slow(item)]


def is_slow(item: pytest.Item) -> bool:
    """Return whether the quick tier leaves a test out."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    rankers = {value for value in params.values() if isinstance(value, str)} & OTHER_RANKERS
    return bool(rankers) or any(mark.name in SLOW for mark in item.iter_markers())


OTHER_RANKERS = set(ranker_names()) - set(FAMILIES)


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


@pytest.fixture(scope="module")
def object_store_server():
    """An object store, and the settings of its clients, for one module."""
    for name in ("moto", "s3fs", "flask"):
        pytest.importorskip(name, reason="make test installs the object store of the tests")
    import fsspec

    from support.object_store import ObjectStore

    found = ObjectStore()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", found.url)
        patch.setenv("AWS_ACCESS_KEY_ID", "key-of-the-test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        quick = {"config_kwargs": {"read_timeout": 1, "retries": {"max_attempts": 0}}}
        patch.setitem(fsspec.config.conf, "s3", quick)
        found.connect()
        yield found
        fsspec.get_filesystem_class("s3").clear_instance_cache()
    found.close()


@pytest.fixture
def store(object_store_server):
    yield object_store_server
    object_store_server.heal()
