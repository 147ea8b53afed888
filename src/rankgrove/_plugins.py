"""Entry points: modules of other packages that register rankers, metrics or criteria."""

from __future__ import annotations

from importlib.metadata import EntryPoint


def load_plugin(point: EntryPoint) -> None:
    """Load an entry point; any failure is a ValueError that names the plugin."""
    try:
        point.load()
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"the plugin {point.name} = {point.value} cannot be imported: {import_failure(error)}"
        ) from error


def import_failure(error: BaseException) -> str:
    """Return the reason why a module could not be imported, as a text."""
    if isinstance(error, SystemExit):
        return f"it calls sys.exit({'' if error.code is None else repr(error.code)})"
    return f"{type(error).__name__}: {error}"
