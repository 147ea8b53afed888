"""Numpy .npz archives: ``X``, ``y``, and ``qid`` or ``group_sizes``."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankgrove._addresses import FilePath
from rankgrove._memory import memory_limit
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.arrays import read_arrays
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.data.reading.paths import readable, require_file
from rankgrove.errors import DataError

ACCEPTS = accepted_by("matrix")
_KEYS = {
    "X": ("X", "x", "features", "data"),
    "y": ("y", "label", "labels", "relevance"),
    "qid": ("qid", "query_id", "queries"),
    "group_sizes": ("group_sizes", "group", "groups"),
    "sample_weight": ("sample_weight", "weight"),
    "feature_names": ("feature_names",),
    "doc_ids": ("doc_ids", "doc_id"),
}


def read_npz(path: FilePath, options: LoadOptions) -> Dataset:
    """Read the arrays of an archive; those given to ``load`` take precedence."""
    require_file(path)
    try:
        with readable(path) as file:
            _check_size(file)
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError("this is one array, not an .npz archive")
            with archive:
                found = {name: _find(archive, keys) for name, keys in _KEYS.items()}
        X = found.pop("X")
        if X is None:
            raise DataError(f"no array X among {', '.join(map(repr, archive.files))}")
        if options.qid is not None or options.group_sizes is not None:
            found["qid"] = found["group_sizes"] = None
        changes: dict[str, Any] = {
            name: value
            for name, value in found.items()
            if value is not None and getattr(options, name) is None
        }
        return read_arrays(X, replace(options, **changes), str(path))
    except OSError as error:
        named = error.filename == str(path)
        raise DataError(f"{path}: {error.strerror if named else error}") from None
    except (DataError, ValueError, EOFError, KeyError, MemoryError) as error:
        raise DataError(f"{path}: {error}") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, SyntaxError) as error:
        raise DataError(f"{path}: damaged archive: {error}") from None


def _check_size(file: Any) -> None:
    """Refuse an archive that unpacks to more than the free memory."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if not isinstance(file, Path):
            file.seek(0)
        if size > memory_limit():
            raise DataError(f"the arrays take {size >> 20} MB and do not fit into memory")


def _find(archive: Any, keys: tuple[str, ...]) -> Any:
    return next((archive[key] for key in keys if key in archive.files), None)
