"""Groups of tests that one process of pytest-xdist runs, one after the other.

pytest-xdist (3.8) marks groups in the ids of tests, which pytest from 9.2 on does not let it
change: ``--dist loadgroup`` then forms no groups. Here the file of a test decides.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

# One cluster at a time, one build folder.
GROUPS = ("cluster", "packaging")


def group_of(nodeid: str) -> str | None:
    """Return the group of a test: a marker that its file uses."""
    return _group_of_file(nodeid.split("::")[0])


@cache
def _group_of_file(name: str) -> str | None:
    text = (Path(__file__).resolve().parents[2] / name).read_text("utf-8")
    return next((group for group in GROUPS if f"pytest.mark.{group}" in text), None)


def group_scheduler(config: Any, log: Any) -> Any:
    """Return a scheduler of pytest-xdist that keeps the tests of a group together."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid) or nodeid

    return GroupScheduling(config, log)
