"""Members of a bag: fits on samples of the queries or with other seeds, side by side.

Life of a bag's fit:

1. ``MemberFits`` prepares one ``Fit`` per member: its sample, its seed, what it is validated on.
2. ``run`` fits them on several threads. Models that an earlier attempt kept are not fitted again.
3. Ctrl-C drops what is not finished; the finished members are the result.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rankgrove._background_call import BackgroundCall
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.metrics.metric import Metric
from rankgrove.models.model import Model
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.member_records import MemberRecords
from rankgrove.rankers.base.query_samples import bootstrap_queries, others, query_sample
from rankgrove.training.fit_evaluation import FitEvaluation, held_out_set
from rankgrove.training.journal import Journal
from rankgrove.training.progress import Callback, FitProgress, progress_bar
from rankgrove.trees.bin_cache import bin_cache, bins_of_samples
from rankgrove.workers.row_shard import RowShard

Integers = npt.NDArray[np.int64]


@dataclass
class MemberFits:
    """The fits of all members of a bag.

    Attributes
    ----------
    owner : the bag, for progress
    make : makes a member by its seed
    fit : the fit of the bag
    n_members : how many
    sampled : whether each member learns from a bootstrap sample of the queries, or from all
    metric : decides where a member ends on the queries that its sample left out
    records : models of an earlier attempt
    """

    owner: BaseRanker
    make: Callable[[int], BaseRanker]
    fit: Fit
    n_members: int
    sampled: bool
    metric: Metric
    records: MemberRecords
    models: dict[int, Model] = field(default_factory=dict)
    interrupted: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)

    def left_out(self, number: int) -> Integers:
        """Return the queries that a member has not seen."""
        if not self.sampled:
            return np.empty(0, np.int64)
        n_queries = self.fit.data.groups.n_queries
        return others(bootstrap_queries(n_queries, self.fit.seed, number), n_queries)

    def run(self) -> list[int]:
        """Fit the members; return the numbers of those that are finished, in order."""
        n_threads = resolve_n_jobs(self.owner.n_jobs)
        n_side_by_side = min(n_threads, self.n_members)
        numbers = iter(range(self.n_members))  # one for all threads
        progress = FitProgress(self.owner, self.n_members)
        with self._bins(), progress_bar(self.owner.ranker_name, self.owner.verbose) as draw:

            def work() -> None:
                for number in numbers:
                    if self._stop.is_set():
                        return
                    self._fit_one(number, max(1, n_threads // n_side_by_side))
                    progress.iteration = len(self.models)
                    draw(progress)

            helpers = [
                BackgroundCall(_stopping(self._stop, contextvars.copy_context(), work))
                for _ in range(n_side_by_side - 1)
            ]
            try:
                work()
            except KeyboardInterrupt:
                self.interrupted = True
                self._stop.set()
            except BaseException:
                self._stop.set()
                for helper in helpers:
                    helper.drop()
                raise
            for helper in helpers:
                helper.result()
        if self.interrupted and not self.models:
            raise KeyboardInterrupt
        return sorted(self.models)

    def _bins(self) -> AbstractContextManager[None]:
        """Context in which members share bins, and codes where they have the same documents."""
        return bins_of_samples() if self.sampled else bin_cache()

    def _fit_one(self, number: int, n_jobs: int) -> None:
        seed = int(np.random.default_rng([self.fit.seed, number, 1]).integers(2**31 - 1))
        member = self.make(seed)
        member.set_params(n_jobs=n_jobs, verbose=0)
        kept = self.records.read(number)
        if kept is not None:
            self.models[number] = kept
            return
        data = self.fit.data
        if self.sampled:
            n_queries = data.groups.n_queries
            data = query_sample(data, bootstrap_queries(n_queries, self.fit.seed, number))
        callbacks = [lambda _: self._stop.is_set()] if member.learns_in_steps else ()
        model = learnt_member(member, self.fit, data, self._evaluation(number), callbacks)
        if self._stop.is_set():
            return
        self.records.write(number, model)
        self.models[number] = model

    def _evaluation(self, number: int) -> FitEvaluation:
        """Return what a member is validated on: the given sets, else the queries it left out."""
        given = self.fit.evaluation
        if given.held_out:  # what a member learns from is a sample, not the evaluated training data
            return given.restarted(given.held_out, given.greater_is_better)
        queries = self.left_out(number)
        if not len(queries) or not self.fit.data.groups.sizes[queries].any():
            return FitEvaluation([], True, None)  # all steps are kept
        unseen = query_sample(self.fit.data, queries)
        sets = [held_out_set("out-of-bag", unseen, self.metric, self.owner.n_jobs)]
        return given.restarted(sets, self.metric.greater_is_better)


def learnt_member(
    member: BaseRanker,
    fit: Fit,
    data: RankingInput,
    evaluation: FitEvaluation,
    callbacks: Sequence[Callback] = (),
) -> Model:
    """Fit a ranker to a sample of the data of another ranker's fit.

    Fill values are those of all the data, so that samples share bins.
    """
    member._check_categories(data)
    learnt = member._learn_derived(
        replace(
            fit,
            data=data,
            shard=RowShard.of(data.groups.offsets, None),
            fill=member._fill(fit.data, fit.shard),
            init_model=None,
            seed=member.draw_seed(),
            evaluation=evaluation,
            callbacks=callbacks,
            journal=Journal(),
        )
    )
    if learnt.interrupted:
        raise KeyboardInterrupt
    return learnt.model


def _stopping(
    stop: threading.Event, context: contextvars.Context, work: Callable[[], None]
) -> Callable[[], None]:
    """Return the work, in the caller's context, such that its failure ends the others' work."""

    def run() -> None:
        try:
            context.run(work)
        except BaseException:
            stop.set()
            raise

    return run
