"""Entry point of ``rankgrove`` and ``python -m rankgrove``: the command line."""

import sys

from rankgrove.cli.interrupts import end_at_interrupts


def command() -> int:
    """Run the command line in a process of its own and return its exit code."""
    end_at_interrupts()  # before all other imports
    from rankgrove.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(command())
