"""Tables of data lakes as batches of rows: Delta tables, Iceberg tables, and pyarrow data sets.

Their own packages open them (with credentials, versions, filters); what they give is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath, printable
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Callable[[], Iterator["pa.Table"]]


def lake_batches(source: Any) -> Batches | None:
    """Return a function that reads a table batch by batch; None for anything else."""
    package = type(source).__module__.split(".")[0]
    if package == "deltalake" and hasattr(source, "to_pyarrow_dataset"):
        name = f"the Delta table {printable(source.table_uri)}"
        return lambda: _read(lambda: _by_file(source.to_pyarrow_dataset()), name)
    if package == "pyiceberg" and hasattr(source, "scan"):
        name = f"the Iceberg table {'.'.join(source.name())}"
        return lambda: _read(lambda: source.scan().to_arrow_batch_reader(), name)
    if package == "pyiceberg" and hasattr(source, "to_arrow_batch_reader"):
        return lambda: _read(source.to_arrow_batch_reader, "the scan of an Iceberg table")
    if package == "pyarrow" and hasattr(source, "get_fragments"):
        return lambda: _read(source.to_batches, "the pyarrow data set")
    return None


def _by_file(dataset: Any) -> Iterator[pa.RecordBatch]:
    """Read the files of a data set in order of their names: a log of changes keeps no order."""
    for fragment in sorted(dataset.get_fragments(), key=lambda fragment: str(fragment.path)):
        yield from fragment.to_batches(schema=dataset.schema)


def _read(batches: Callable[[], Iterable[pa.RecordBatch]], name: str) -> Iterator[pa.Table]:
    import pyarrow as pa

    try:
        for batch in batches():
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: {printable(str(error))}") from error


def lake_table(batches: Batches) -> pa.Table:
    """Read a table as a whole."""
    import pyarrow as pa

    parts = list(batches())
    if not parts:
        raise DataError("the table has no rows")
    return pa.concat_tables(parts)


def refuse_lake_folder(folder: FilePath) -> None:
    """Refuse the folder of a table that also holds files of other versions of it."""
    if (folder / "_delta_log").is_dir():
        raise DataError(
            f"{folder}: this is a Delta table, whose folder may hold files of other versions: give "
            "deltalake.DeltaTable(...) in place of the folder (on a cluster: what the engine reads "
            "it into, such as a Spark DataFrame)"
        )
    if (folder / "metadata").is_dir() and (folder / "data").is_dir():
        raise DataError(
            f"{folder}: this is an Iceberg table: load it from its catalog by pyiceberg, and give "
            "that table in place of the folder (on a cluster: what the engine reads it into)"
        )
