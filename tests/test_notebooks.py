"""A tutorial page is turned into a notebook, and its outputs into the page."""

from __future__ import annotations

import importlib

import pytest

PAGE = """# Title

Words.

```python
print(1)
```

```python own.py
x = 2
```

```bash
rankgrove info a.txt
```

```text
not run
```
"""


@pytest.fixture
def notebooks(repository, monkeypatch):
    for name in ("nbformat", "nbclient"):
        pytest.importorskip(name, reason="make docs installs what builds the site")
    monkeypatch.syspath_prepend(str(repository / "tools"))
    return importlib.import_module("notebooks")


def test_blocks_become_cells(notebooks):
    cells = notebooks.notebook_of(PAGE).cells
    assert [(cell["cell_type"], cell["source"]) for cell in cells] == [
        ("markdown", "# Title\n\nWords."),
        ("code", "print(1)"),
        ("code", "%%writefile own.py\nx = 2"),
        ("code", "%%bash\nrankgrove info a.txt"),
        ("markdown", "```text\nnot run\n```"),
    ]


def test_the_same_page_gives_the_same_notebook(notebooks):
    assert notebooks.notebook_of(PAGE) == notebooks.notebook_of(PAGE)


def test_outputs_stand_below_their_blocks(notebooks):
    notebook = notebooks.notebook_of(PAGE)
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    code[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    code[2]["outputs"] = [{"output_type": "stream", "name": "stderr", "text": "noise"}]
    page = notebooks.page_with_outputs(PAGE, notebook)
    assert "print(1)\n```\n\n```{code-block} text\n:class: output\n\n1\n```\n" in page
    assert "noise" not in page
    assert "```text\nnot run\n```" in page


def test_colours_and_overwritten_lines_are_left_out(notebooks):
    assert notebooks.plain("\x1b[1mbold\x1b[0m\n10 %\r100 %\n") == "bold\n100 %\n"
