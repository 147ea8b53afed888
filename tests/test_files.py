"""Files that appear whole or not at all, and what stands in their place already."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from rankgrove import _files
from rankgrove._files import replacing, require_place


def write(path, content=b"new"):
    with replacing(path) as stream:
        stream.write(content)


@pytest.fixture(params=[True, False], ids=["unnamed", "named"])
def folder(request, tmp_path, monkeypatch):
    """A folder on a system that can, or cannot, make files without a name."""
    if not request.param:
        monkeypatch.delattr(os, "O_TMPFILE")
    return tmp_path


def test_the_old_file_stays_until_the_new_one_is_complete(folder):
    (folder / "out").write_bytes(b"old")
    with replacing(folder / "out") as stream:
        stream.write(b"new")
        assert (folder / "out").read_bytes() == b"old"
    assert (folder / "out").read_bytes() == b"new"
    with pytest.raises(ZeroDivisionError), replacing(folder / "out") as stream:
        stream.write(b"half" * (1 // 0))
    assert (folder / "out").read_bytes() == b"new"
    assert os.listdir(folder) == ["out"]


def test_links_are_followed(folder):
    (folder / "real").write_bytes(b"old")
    (folder / "link").symlink_to("real")
    (folder / "dangling").symlink_to("made")
    write(folder / "link")
    write(folder / "dangling")
    assert (folder / "link").is_symlink()
    assert (folder / "real").read_bytes() == (folder / "made").read_bytes() == b"new"


def test_permissions_are_kept(folder):
    (folder / "secret").write_bytes(b"old")
    (folder / "secret").chmod(0o600)
    write(folder / "secret")
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    old = os.umask(0o027)
    try:
        write(folder / "new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640


def test_pipes_and_devices_are_written_to(folder):
    write("/dev/null")
    os.mkfifo(folder / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((folder / "pipe").read_bytes()))
    reader.start()
    write(folder / "pipe")
    reader.join()
    assert got == [b"new"]
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_names_of_any_allowed_length_work_and_longer_ones_are_refused_early(folder):
    write(folder / ("x" * 255))
    with pytest.raises(OSError, match="name of this file is too long"):
        require_place(folder / ("x" * 256))


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "model.rg"
    path.write_bytes(b"old")
    path.chmod(0o444)
    may = os.access
    if may(path, os.W_OK):  # the superuser may write everything
        monkeypatch.setattr(os, "access", lambda p, mode: p != path and may(p, mode))
    with pytest.raises(PermissionError, match="write-protected") as error:
        write(path)
    assert error.value.filename == str(path)
    assert path.read_bytes() == b"old"


def test_a_full_disk_names_the_file():
    with pytest.raises(OSError, match="No space left") as error:
        write("/dev/full")
    assert error.value.filename == "/dev/full"


KILLED = """
import sys, time
from rankgrove._files import replacing
if sys.argv[2] == "named":
    import os
    del os.O_TMPFILE
with replacing(sys.argv[1]) as stream:
    stream.write(b"x" * 100_000)
    stream.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.process
@pytest.mark.parametrize("way", ["unnamed", "named"])
def test_a_killed_process_leaves_nothing_that_stays(tmp_path, monkeypatch, way):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path / "out", way], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    monkeypatch.setattr(_files, "_STALE_SECONDS", 0.0)
    write(tmp_path / "other")
    during = len(os.listdir(tmp_path))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert during == (1 if way == "unnamed" else 2)  # what is being written is not stale
    time.sleep(0.01)
    write(tmp_path / "other")
    assert os.listdir(tmp_path) == ["other"]
