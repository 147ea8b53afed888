"""Checks that the workers of a fit have the same settings and disjoint queries."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from rankgrove import __version__
from rankgrove._build import build_digest
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.scanning.scan import Scan
from rankgrove.distributed.arrow_bytes import from_frames, to_frames
from rankgrove.distributed.shard import Shard
from rankgrove.errors import DataError
from rankgrove.workers.communicator import Communicator, reading_message


def refuse_other_builds(communicator: Communicator) -> None:
    """Refuse workers of another version or build of rankgrove, whose bits could differ."""
    refuse_differences(communicator, {"rankgrove": f"{__version__} (build {build_digest()})"})


def refuse_differences(communicator: Communicator, own: Mapping[str, Any]) -> None:
    """Refuse workers whose settings of the same name differ."""
    said = []
    for rank, part in enumerate(communicator.gather(json.dumps(own).encode())):
        with reading_message(rank):
            said.append(dict(json.loads(part)))
    for rank, other in enumerate(said):
        for name, value in said[0].items():
            if other.get(name) != value:
                raise DataError(
                    f"the workers do not fit the same: {name} is {value!r:.200} for worker 0, but "
                    f"{other.get(name)!r:.200} for worker {rank}"
                )


def refuse_shared_queries(communicator: Communicator, shard: Shard) -> None:
    """Refuse a query that is in several shards: its documents would be ranked apart.

    Each id is sent to the worker that its hash selects. Queries given by their sizes have no ids.
    """
    parts: list[list[bytes]] = [[] for _ in range(communicator.size)]
    for name in _query_names(shard):
        parts[zlib.crc32(name) % communicator.size].append(name)
    owner: dict[bytes, int] = {}
    shared = ""
    for rank, part in enumerate(communicator.exchange([to_frames(part) for part in parts])):
        for name in from_frames(part):
            if owner.setdefault(name, rank) != rank:
                workers = f"workers {owner[name]} and {rank}"
                shared = f"query {name.decode()} is in the shards of {workers}"
    found = [text for text in communicator.gather(shared.encode()) if text]
    if found:
        raise DataError(f"{found[0].decode()}: all documents of a query belong into one shard")


def _query_names(shard: Shard) -> list[bytes]:
    if isinstance(shard.X, Dataset | Scan):
        ids = shard.X.groups.ids
    elif shard.qid is not None:
        ids = QueryGroups.from_qid(shard.qid).ids
    else:
        return []
    whole = ids.dtype.kind == "f" and (ids == ids.round()).all()
    names: list[Any] = (ids.astype("int64") if whole else ids).tolist()
    return [str(name).encode() for name in names]
