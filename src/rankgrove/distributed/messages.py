"""Messages between the driver and the workers of a cluster fit: JSON and bytes, never pickles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class MessageKind(str, Enum):
    """Kind of a message; its value is sent, so both sides must have the same enumeration."""

    # From a worker to the driver.
    JOINED = "joined"  # host, process
    ALIVE = "alive"  # a heartbeat
    READ = "read"  # a partition has been read
    READY = "ready"  # all partitions have been read; worker 0 adds its address
    STEP = "step"  # a record of a finished step as payload; step, planned, metrics
    WARNING = "warning"  # category, text
    MODEL = "model"  # the model file as payload
    DONE = "done"
    ERROR = "error"  # error (name of the class), text, about (rank of the worker it names)
    # From the driver to the workers.
    BEGIN = "begin"  # address of worker 0
    STOP = "stop"  # end after the step that is running
    # Made by the driver's hub when the connection of a worker has ended.
    GONE = "gone"


@dataclass(frozen=True)
class Message:
    """One message: its kind, values that JSON can hold, and bytes.

    ``rank`` is the worker that sent it.
    """

    kind: MessageKind
    values: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    rank: int = -1

    def packed(self) -> bytes:
        """Return the message as bytes."""
        head = json.dumps({"kind": self.kind.value, **self.values}).encode()
        return len(head).to_bytes(8, "little") + head + self.payload

    @classmethod
    def unpacked(cls, data: bytes, rank: int = -1) -> Message:
        """Read a message from bytes."""
        end = 8 + int.from_bytes(data[:8], "little")
        values = json.loads(data[8:end])
        return cls(MessageKind(values.pop("kind")), values, data[end:], rank)
