"""The words that a report explains, with the texts of the glossary.

Rows of ``docs/reference/glossary.md`` have the same words and texts; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A word of the glossary.

    Attributes
    ----------
    word : the word as the glossary writes it
    forms : its spellings in a report, in lower case; those of metrics without ``@k``
    text : what it means
    """

    word: str
    forms: tuple[str, ...]
    text: str


TERMS = (
    Term(
        "NDCG",
        ("ndcg",),
        "DCG divided by the ideal DCG: 1 is the best order. NDCG@10 counts the first ten ranks",
    ),
    Term(
        "DCG", ("dcg",), "discounted cumulative gain: the sum of gain times discount over the ranks"
    ),
    Term(
        "AP, MAP",
        ("map",),
        "average precision: the mean of the precision at each relevant document; MAP is its mean "
        "over queries",
    ),
    Term(
        "RR, MRR",
        ("mrr",),
        "reciprocal rank: 1 / rank of the first relevant document; MRR is its mean over queries",
    ),
    Term(
        "ERR",
        ("err",),
        "expected reciprocal rank: that of the document at which a user who reads from the top "
        "stops",
    ),
    Term(
        "precision, P@k",
        ("p", "precision"),
        "the share of relevant documents among the first k",
    ),
    Term(
        "label, grade",
        ("grade", "grades"),
        "the judged relevance of a document for its query; larger is better (0 to 2 in LETOR 4.0, "
        "0 to 4 in MSLR)",
    ),
    Term(
        "fold",
        ("fold", "folds"),
        "one division of the queries into training, validation and test data; `kfold` makes "
        "several",
    ),
    Term(
        "tier",
        ("tier", "tiers"),
        "rankers that share a letter: no significant difference was found between them",
    ),
    Term(
        "steps",
        ("steps",),
        "the iterations of boosting, or the trees of a forest, that a model keeps; mean over folds",
    ),
    Term("fit s", ("fit s",), "seconds of one training, mean over folds"),
    Term(
        "µs/doc",
        ("µs/doc",),
        "microseconds to score one document on one thread, features in memory: the quickest of up "
        "to three runs over the test part",
    ),
    Term("MB", ("mb",), "largest memory of the process during a training, in MiB; mean over folds"),
)
