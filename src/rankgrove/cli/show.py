"""Show a tree of a model, as text or as a picture.

Below each condition come the branch where it is true and the branch where it is false; numbers in
brackets are the training documents of the node. The tree adds the value of a leaf to the score.
"""

from __future__ import annotations

import argparse

from rankgrove.cli.options import add_json_option
from rankgrove.cli.output import escape, print_json, show
from rankgrove.cli.paths import out_path

EXAMPLES = """\
  rankgrove show model.rg --tree 3
  rankgrove show model.rg --tree 1 --depth 3 --out tree.svg
  rankgrove show model.rg --tree 1 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("model", metavar="MODEL", help="the model file")
    parser.add_argument("--tree", type=int, default=1, metavar="N", help="its number, from 1")
    parser.add_argument(
        "--depth", type=int, default=5, metavar="N", help="levels to draw (default: 5)"
    )
    parser.add_argument(
        "--out", metavar="FILE", type=out_path, help="draw a picture: .svg or .html"
    )
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove import load_model
    from rankgrove._svg import check_picture_name
    from rankgrove.explain.tree_drawing import read_tree, tree_picture, tree_text

    if arguments.out is not None:
        check_picture_name(arguments.out)
    root = read_tree(load_model(arguments.model), arguments.tree, arguments.depth)
    if arguments.out is not None:
        tree_picture(root, f"tree {arguments.tree}").save(arguments.out)
    if arguments.json:
        print_json(root.to_dict())
    elif arguments.out is None:
        show(escape(tree_text(root)))
