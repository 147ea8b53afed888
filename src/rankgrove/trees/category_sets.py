"""Sets of categories: the conditions of splits on categorical features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import ModelError

# Arrays of the sets, and their dtypes.
SET_TYPES: dict[str, type[np.generic]] = {
    "of_node": np.int32,
    "offsets": np.int64,
    "words": np.uint32,
}


@dataclass(frozen=True, eq=False)
class CategorySets:
    """The sets of categories that splits send left, as bits.

    Category c is in set s if bit ``c % 32`` of ``words[offsets[s] + c // 32]`` is 1; categories
    beyond the words of a set are not in it.

    Attributes
    ----------
    of_node : the number of each node's set; -1 at leaves and where a threshold decides
    offsets : where each set's words begin, and where the last one's end
    words : the bits of all sets
    """

    of_node: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint32]

    @classmethod
    def of_codes(cls, codes: Sequence[Iterable[int] | None]) -> CategorySets:
        """Make the sets of nodes from the codes that each sends left; None: it has no set."""
        of_node = np.full(len(codes), -1, np.int32)
        given = [node for node, found in enumerate(codes) if found is not None]
        of_node[given] = np.arange(len(given))
        sets = [_words(codes[node] or ()) for node in given]
        offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        return cls(of_node, offsets, np.concatenate([np.empty(0, np.uint32), *sets]))

    @classmethod
    def joined(cls, parts: Iterable[tuple[int, CategorySets | None]]) -> CategorySets | None:
        """Concatenate the sets of several ensembles, given with the number of their nodes."""
        listed = list(parts)
        known = [found for _, found in listed if found is not None]
        if not known:
            return None
        of_node, n_sets = [], 0
        for n_nodes, found in listed:
            if found is None:
                of_node.append(np.full(n_nodes, -1, np.int32))
                continue
            of_node.append(np.where(found.of_node >= 0, found.of_node + n_sets, -1))
            n_sets += len(found.offsets) - 1
        starts = np.cumsum([0, *(len(found.words) for found in known[:-1])])
        offsets = [found.offsets[1:] + start for found, start in zip(known, starts, strict=True)]
        return cls(
            np.concatenate(of_node).astype(np.int32),
            np.concatenate([[0], *offsets]).astype(np.int64),
            np.concatenate([found.words for found in known]),
        )

    def take(self, nodes: slice) -> CategorySets | None:
        """Return the sets of some nodes, as views; None if these have none."""
        of_node = self.of_node[nodes]
        return replace(self, of_node=of_node) if (of_node >= 0).any() else None

    def without_unused(self) -> CategorySets:
        """Return the same sets without those that no node has, in the order of their nodes."""
        used, first = np.unique(self.of_node[self.of_node >= 0], return_index=True)
        order = used[np.argsort(first)]
        if np.array_equal(order, np.arange(len(self.offsets) - 1)):
            return self
        new = np.full(len(self.offsets), -1, np.int32)
        new[order] = np.arange(len(order))
        sets = [self.words[self.offsets[s] : self.offsets[s + 1]] for s in order]
        return CategorySets(
            new[self.of_node],  # the last entry is that of -1
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
            np.concatenate([np.empty(0, np.uint32), *sets]),
        )

    def codes(self, node: int) -> npt.NDArray[np.int64] | None:
        """Return the categories that a node sends left, ascending; None if it has no set."""
        number = self.of_node[node]
        if number < 0:
            return None
        words = self.words[self.offsets[number] : self.offsets[number + 1]]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def members(self, nodes: npt.NDArray[Any], n_codes: int) -> npt.NDArray[np.bool_]:
        """Return which of the first ``n_codes`` codes each of some nodes, with sets, sends left."""
        numbers = self.of_node[nodes].astype(np.int64)
        places = self.offsets[numbers][:, None] + np.arange(-(-n_codes // 32))
        beyond = places >= self.offsets[numbers + 1][:, None]
        words = np.append(self.words, np.uint32(0))[np.where(beyond, len(self.words), places)]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
        return bits[:, :n_codes].astype(bool)

    @classmethod
    def of_members(
        cls, n_nodes: int, parts: Iterable[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]
    ) -> CategorySets | None:
        """Make the sets of some nodes from the codes that they send left; the others have none.

        ``parts`` are nodes, and for each a row of truths, one per code.
        """
        of_node = np.full(n_nodes, -1, np.int32)
        words, sizes, n_sets = [], [np.zeros(1, np.int64)], 0
        for nodes, members in parts:
            of_node[nodes] = np.arange(n_sets, n_sets + len(nodes))
            n_sets += len(nodes)
            padded = np.pad(members, ((0, 0), (0, -members.shape[1] % 32)))
            bits = np.packbits(padded, axis=1, bitorder="little")
            packed = np.ascontiguousarray(bits).view("<u4")
            ends = np.where(packed != 0, np.arange(1, packed.shape[1] + 1), 0).max(1, initial=0)
            sizes.append(ends)
            words.append(packed[np.arange(packed.shape[1]) < ends[:, None]].astype(np.uint32))
        if n_sets == 0:
            return None
        offsets = np.cumsum(np.concatenate(sizes)).astype(np.int64)
        found = cls(of_node, offsets, np.concatenate([np.empty(0, np.uint32), *words]))
        return found.without_unused()

    def check(self, n_nodes: int) -> None:
        """Raise ModelError unless the arrays have the right types and lengths."""
        for name, dtype in SET_TYPES.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != dtype:
                raise ModelError(
                    f"{name} of the sets of categories are not {np.dtype(dtype).name} numbers"
                )
        if len(self.of_node) != n_nodes:
            raise ModelError(f"{len(self.of_node)} nodes of {n_nodes} tell their set of categories")

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {name: getattr(self, name) for name in SET_TYPES}


def _words(codes: Iterable[int]) -> npt.NDArray[np.uint32]:
    listed = np.fromiter(codes, np.int64)
    words = np.zeros(int(listed.max(initial=-1)) // 32 + 1, np.uint32)
    np.bitwise_or.at(words, listed // 32, (1 << listed % 32).astype(np.uint32))
    return words
