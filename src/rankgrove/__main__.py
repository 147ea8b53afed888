"""Entry point of ``python -m rankgrove``: the command line."""

import sys

from rankgrove.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
