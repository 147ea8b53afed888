"""Memory limits of this process (machine, container, rlimit), and release of freed memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rankgrove import _native

_UNLIMITED = 1 << 62


def memory_limit() -> int:
    """Return the smallest limit in bytes of the machine, the control groups and the process."""
    return min(_physical(), _control_groups(), _address_space())


def free_memory() -> int:
    """Return the number of bytes that this process can still allocate within all limits."""
    return min(_available(), memory_limit())


def release_memory() -> None:
    """Return freed memory that allocators keep for reuse to the operating system."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    _native.release_freed_memory()


def _available() -> int:
    """Return Linux's MemAvailable (memory without swapping); elsewhere no limit."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return _UNLIMITED
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return _UNLIMITED


def _physical() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _UNLIMITED


def _address_space() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return _UNLIMITED
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _control_groups(root: Path = Path("/sys/fs/cgroup"), own: str = "/proc/self/cgroup") -> int:
    """Read the limits of this process's control group and all above it (versions 1 and 2)."""
    smallest = _UNLIMITED
    try:
        lines = Path(own).read_text().splitlines()
    except OSError:
        return smallest
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            top, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = top / group.lstrip("/")
        # Inside a container, the path of the group may be invisible; its limit is then at the root.
        for place in (folder, *folder.parents):
            smallest = min(smallest, _limit(place / name))
            if place == top:
                break
    return smallest


def _limit(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # no such file, or the word "max"
        return _UNLIMITED
