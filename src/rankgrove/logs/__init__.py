"""Search logs and judgment lists: readers of their formats, and the join of judgments and features.

A reader yields Arrow tables of one of four kinds: *judgments* (query, document, grade), *feature
logs* (query, document, one column per feature), *impressions* (query, document, position, clicked)
and *runs* (query, document, score). ``join`` makes training data of the first two.
"""

from rankgrove.logs.joining import Joined, join
from rankgrove.logs.reading import (
    LogFormat,
    LogTable,
    read_features,
    read_impressions,
    read_judgments,
    read_run,
    register_log_format,
)

__all__ = [
    "Joined",
    "LogFormat",
    "LogTable",
    "join",
    "read_features",
    "read_impressions",
    "read_judgments",
    "read_run",
    "register_log_format",
]
