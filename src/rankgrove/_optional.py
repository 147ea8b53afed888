"""Import of optional libraries, with an error that names the package to install."""

from __future__ import annotations

import importlib
from typing import Any

from rankgrove.errors import MissingDependencyError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import ``module``, or raise an error that names the extra of rankgrove that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs {package}: pip install 'rankgrove[{extra}]' or pip install {package}"
        ) from error
