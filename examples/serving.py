"""Serving: a model behind HTTP, asked in the same process."""

import asyncio
import tempfile
from pathlib import Path

import httpx

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.serving import make_app

train, test = make_ranking(60, seed=1), make_ranking(5, seed=2)
ranker = rankgrove.LambdaMART(n_estimators=30, random_state=1).fit(train)
documents = test.X[test.qid == test.qid[0]]


async def ask(path: Path) -> dict[str, list[float]]:
    """Send one request to the application; `rankgrove serve web=web.rg` listens on a port."""
    transport = httpx.ASGITransport(app=make_app({"web": path}))
    async with httpx.AsyncClient(transport=transport, base_url="http://ranker") as client:
        return (await client.post("/score", json={"rows": documents.tolist()})).json()


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "web.rg"
    ranker.save(file)
    answer = asyncio.run(ask(file))
print("scores:", [round(score, 3) for score in answer["scores"]])
assert answer["scores"] == ranker.predict(documents).tolist()
