"""Dask: a fit on two workers gives the bytes of a fit on one machine."""

import dask.dataframe
from dask.distributed import Client, LocalCluster

import rankgrove
from rankgrove import to_arrow
from rankgrove.datasets import make_ranking

data = make_ranking(60, seed=1)
frame = dask.dataframe.from_pandas(to_arrow(data).to_pandas(), npartitions=4, sort=False)
here = rankgrove.LambdaMART(n_estimators=20, random_state=7).fit(data)
there = rankgrove.LambdaMART(n_estimators=20, random_state=7)
cluster = LocalCluster(n_workers=2, processes=False, dashboard_address=None)
with cluster, Client(cluster) as client:
    rankgrove.distributed.fit(there, frame, on=client)
same = (there.predict(data) == here.predict(data)).all()
print(f"{frame.npartitions} partitions on 2 workers: the same scores: {same}")
assert same
