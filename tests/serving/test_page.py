"""The request of the serving page, sent as it stands there to the model that the page makes."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import numpy as np

import rankgrove

PAGE = Path(__file__).parents[2] / "docs/how-to/serving.md"


def test_the_request_of_the_page_is_answered(start, tmp_path, monkeypatch):
    text = PAGE.read_text()
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "shop.rg" in b]
    command = re.search(r"^\$ (curl .*?)^(\{.*?)$", text, re.S | re.M)
    _, _, header, address, _, body = shlex.split(command[1])
    monkeypatch.chdir(tmp_path)
    exec(block, {"np": np, "rankgrove": rankgrove})
    server = start(tmp_path / "shop.rg")
    name, value = header.split(": ")
    answer = server.client.post(
        "/" + os.path.basename(address), content=body, headers={name: value}
    )
    assert answer.status_code == 200, answer.text
    assert command[2] == answer.text.replace(str(answer.json()["scores"]).replace(" ", ""), "[...]")
    assert len(answer.json()["scores"]) == 2
