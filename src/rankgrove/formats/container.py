"""rankgrove's own model files: a JSON header and raw arrays (docs/reference/model-format.md).

Nothing in a file is trusted: lengths, checksums, layout, types and everything that scoring relies
on are checked before a model comes out, and nothing in it is ever executed.
"""

from __future__ import annotations

import io
import json
import math
import mmap as mmap_module
import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import Address, file_path, printable
from rankgrove._files import reason, replacing
from rankgrove.errors import ModelError
from rankgrove.formats.old_versions import upgraded
from rankgrove.formats.ranker_state import pack, unpack

FORMAT_VERSION = 4  # old_versions.py describes the older versions
_WITHOUT_CATEGORIES = 3  # written for models that older readers understand

MAGIC = b"RGROVE\r\n"  # the line end reveals a transfer in text mode
PRELUDE = struct.Struct("<8sIIII")  # magic, format version, header length, header CRC-32, zero
ALIGNMENT = 64
MAX_HEADER = 1 << 28
DTYPES = frozenset({"|u1", "<u2", "<u4", "<i2", "<i4", "<i8", "<f4", "<f8"})

# File suffixes of other libraries' models, and of compressed files.
FOREIGN_SUFFIXES = frozenset(
    {".onnx", ".json", ".ubj", ".txt", ".xml", ".pmml", ".cbm", ".bin", ".model", ".pkl", ".pickle"}
    | {".joblib", ".h5", ".pt", ".c", ".h", ".npz", ".parquet", ".csv"}
    | {".gz", ".bz2", ".xz", ".zst", ".zip", ".tar"}
)

# Exceptions that values of a wrong type raise while a file is read.
_NONSENSE = (
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RecursionError,
)

Arrays = dict[str, npt.NDArray[Any]]


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker to a model file; the same model gives the same bytes."""
    refuse_foreign_suffix(path)
    state, arrays = pack(model)
    with replacing(path) as stream:
        write_container(stream, state, arrays)


def refuse_foreign_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse to write a model file under the suffix of another format."""
    suffix = file_path(path).suffix.lower()
    if suffix in FOREIGN_SUFFIXES:
        raise ModelError(
            f"{printable(str(path))}: save writes rankgrove's own format, whose files end in .rg, "
            f"not {suffix}"
        )


def load_model(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Read a ranker from a model file.

    Parameters
    ----------
    path : a file written by ``save``, or its address (``s3://...``, or another of fsspec)
    mmap : map the file instead of reading it, so that processes share one copy of the trees; the
        file must then not be changed in place while the model lives (``save`` never does that)

    Returns
    -------
    The fitted ranker, of the class that was saved

    Raises
    ------
    ModelError : the file is damaged, of a newer format, or not a model; nothing was loaded
    """
    place = file_path(path)
    source = printable(str(path))
    if mmap and isinstance(place, Address):
        raise ModelError(f"{source}: only a local file can be mapped: leave out mmap=True")
    try:
        with place.open("rb") as stream:
            if mmap and os.fstat(stream.fileno()).st_size > 0:
                data: Any = mmap_module.mmap(stream.fileno(), 0, access=mmap_module.ACCESS_READ)
            else:
                head = stream.read(PRELUDE.size)
                _check_magic(head, source)  # before reading the rest of a file of any kind and size
                data = head + stream.read()
    except OSError as error:
        raise ModelError(f"{source}: {reason(error)}") from error
    state, arrays = read_container(data, source)
    try:
        return unpack(state, arrays)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except KeyError as error:
        raise ModelError(f"{source}: the model lacks {error}") from error
    except _NONSENSE as error:
        raise ModelError(f"{source}: the model makes no sense: {error}") from error


def to_bytes(model: Any, *, named: bool = True) -> bytes:
    """Return the model file as bytes: used by pickling, also of unregistered classes."""
    stream = io.BytesIO()
    write_container(stream, *pack(model, named=named))
    return stream.getvalue()


def write_container(stream: BinaryIO, state: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a container file of a JSON-able state and arrays."""
    blobs = {name: _little_endian(name, arrays[name]) for name in sorted(arrays)}
    table = []
    offset = 0
    for name, blob in blobs.items():
        table.append(
            {
                "name": name,
                "dtype": blob.dtype.str,
                "shape": list(blob.shape),
                "offset": offset,
                "crc32": zlib.crc32(_raw(blob)),
            }
        )
        offset = _aligned(offset + blob.nbytes)
    try:
        text = json.dumps(
            {**state, "arrays": table}, sort_keys=True, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError) as error:
        raise ModelError(f"this model cannot be saved: {error}") from error
    header = text.encode("ascii")
    header += b" " * (_aligned(PRELUDE.size + len(header)) - PRELUDE.size - len(header))
    version = FORMAT_VERSION if _has_categories(state.get("model")) else _WITHOUT_CATEGORIES
    stream.write(PRELUDE.pack(MAGIC, version, len(header), zlib.crc32(header), 0))
    stream.write(header)
    for blob in blobs.values():
        stream.write(_raw(blob))
        stream.write(bytes(_aligned(blob.nbytes) - blob.nbytes))


def read_container(data: Any, source: str) -> tuple[dict[str, Any], Arrays]:
    """Read what ``write_container`` wrote; the arrays are read-only views of ``data``.

    The state of older versions comes back as this version would have written it.
    """
    state, begin, version = _read_header(data, source)
    table = state.pop("arrays", None)
    if not isinstance(table, list):
        raise ModelError(f"{source}: the header has no list of arrays")
    if not isinstance(state.get("ranker"), str):
        raise ModelError(f"{source}: the header does not name a ranker")
    arrays: Arrays = {}
    offset = 0
    for entry in table:
        name, array = _read_array(data, begin, offset, entry, source)
        if name in arrays:
            raise ModelError(f"{source}: array {name!r} is there twice")
        arrays[name] = array
        offset = _aligned(offset + array.nbytes)
    if begin + offset != len(data):
        raise ModelError(
            f"{source}: the arrays end at byte {begin + offset} but the file has {len(data)} bytes"
        )
    try:
        return upgraded(state, arrays, version)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    except KeyError as error:
        raise ModelError(f"{source}: the model lacks {error}") from error
    except _NONSENSE as error:
        raise ModelError(f"{source}: the model makes no sense: {error}") from error


def _has_categories(model: Any) -> bool:
    """Return whether a packed model, or a part of it, has categorical columns."""
    if not isinstance(model, Mapping):
        return False
    return bool(model.get("categories")) or any(map(_has_categories, model.get("parts", ())))


def _check_magic(head: Any, source: str) -> None:
    if len(head) < PRELUDE.size:
        raise ModelError(f"{source}: {len(head)} bytes are too few for a rankgrove model file")
    magic = bytes(head[: len(MAGIC)])
    if magic != MAGIC:
        others = {b"tree\n": "from_lightgbm", b"{": "from_xgboost"}
        reads = next((name for start, name in others.items() if magic.startswith(start)), None)
        hint = "" if reads is None else f": perhaps rankgrove.{reads} reads it"
        raise ModelError(f"{source}: not a rankgrove model file (it starts with {magic!r}){hint}")


def _read_header(data: Any, source: str) -> tuple[dict[str, Any], int, int]:
    _check_magic(data, source)
    _, version, length, checksum, zero = PRELUDE.unpack_from(data, 0)
    if not 1 <= version <= FORMAT_VERSION:
        raise ModelError(
            f"{source}: format version {version} is unknown to this rankgrove, which reads "
            f"versions up to {FORMAT_VERSION}: update rankgrove"
        )
    begin = PRELUDE.size + length
    if zero or length > MAX_HEADER or begin > len(data) or begin % ALIGNMENT:
        raise ModelError(f"{source}: the header length {length} does not fit the file")
    header = bytes(data[PRELUDE.size : begin])
    if zlib.crc32(header) != checksum:
        raise ModelError(f"{source}: the header is damaged (wrong checksum)")
    try:
        state = json.loads(header, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: the header is not JSON: {error}") from error
    if not isinstance(state, dict):
        raise ModelError(f"{source}: the header is not a JSON object")
    return state, begin, version


def _read_array(
    data: Any, begin: int, offset: int, entry: Any, source: str
) -> tuple[str, npt.NDArray[Any]]:
    keys = {"name", "dtype", "shape", "offset", "crc32"}
    if not isinstance(entry, dict) or set(entry) != keys or not isinstance(entry["name"], str):
        raise ModelError(f"{source}: the header describes an array by {entry!r:.200}")
    name, shape, dtype = entry["name"], entry["shape"], entry["dtype"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelError(f"{source}: array {name!r} has the unknown type {dtype!r}")
    if (
        not isinstance(shape, list)
        or len(shape) not in (1, 2)
        or not all(type(size) is int and 0 <= size < 2**48 for size in shape)
    ):
        raise ModelError(f"{source}: array {name!r} has the shape {shape!r:.200}")
    start = begin + offset
    end = start + math.prod(shape) * np.dtype(dtype).itemsize
    if entry["offset"] != offset or end > len(data):
        raise ModelError(
            f"{source}: array {name!r} at offset {entry['offset']!r} with shape {shape} does not "
            f"fit the file of {len(data)} bytes: a copy that was cut short? Copy it again"
        )
    view = memoryview(data)[start:end]
    if zlib.crc32(view) != entry["crc32"]:
        raise ModelError(f"{source}: array {name!r} is damaged (wrong checksum)")
    array = np.frombuffer(view, dtype).reshape(shape)
    array.flags.writeable = False
    return name, array


def _little_endian(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    blob = np.ascontiguousarray(array)
    blob = blob.astype(blob.dtype.newbyteorder("<"), copy=False)
    if blob.dtype.str not in DTYPES or blob.ndim not in (1, 2):
        raise ModelError(
            f"array {name!r} of type {blob.dtype} with {blob.ndim} dimensions cannot be saved"
        )
    return blob


def _raw(blob: npt.NDArray[Any]) -> memoryview:
    return blob.reshape(-1).view(np.uint8).data


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
