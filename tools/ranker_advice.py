"""When to choose each ranker: the sentences that its page and the guides show."""

from __future__ import annotations

WHEN = {
    "gbrt": "To reproduce papers that use it, or as the boosting part of iGBRT. For new work, "
    "[MART](mart.md) fits the same loss with current default settings.",
    "igbrt": "If a random forest is already strong and boosting should reduce the remaining error. "
    "It holds a forest and a boosted ensemble, so it is large and slow to score.",
    "mart": "For real-valued labels, for a quick first model, and as the pointwise baseline: "
    "squared error needs no pairs. Its scores estimate labels.",
    "lambdamart": "Try it first. It optimises the metric that you report (NDCG, MAP, ERR, MRR), "
    "and corrects the position bias of clicks.",
    "mcrank": "For grades that have a meaning of their own: it learns the probability of each "
    "grade. With five grades it grows five trees per iteration.",
    "plrank": "For a listwise likelihood loss with exact Newton steps in the leaves. It can "
    "complement LambdaMART in a [blend](../how-to/bagging-and-blending.md).",
    "cosmart": "To compare with the paper.",
    "klmart": "To compare with the paper, or if the gains of a list are shares of a total.",
    "xendcg": "For noisy labels and for speed: its cost grows with the number of documents of a "
    "query, not with the number of pairs.",
    "yetirank": "Try it beside LambdaMART, especially with few queries and many ties: it perturbs "
    "ranks at random, which regularises.",
    "queryrmse": "For real-valued labels whose level differs between queries (prices, counts): the "
    "mean of each query is subtracted.",
    "querysoftmax": "For one chosen document per query, such as the item that was bought.",
    "querycrossentropy": "For labels that are probabilities in [0, 1], such as click rates.",
    "listce": "For probabilities of relevance that also rank well: its scores are log-odds.",
    "pairlogit": "For the whole order rather than its top, and for real-valued labels: all pairs "
    "have equal weight.",
    "lambdaloss": "To compare with LambdaMART under a loss that bounds NDCG, or to minimise the "
    "average position of relevant documents (ARP).",
    "yetiloss": "For MAP, MRR or ERR as the metric, with few queries.",
    "stochasticrank": "To optimise a metric itself (NDCG, DCG, MAP, ERR or MRR), rather than a "
    "bound or pairs. More draws (`n_permutations`) make the gradient less noisy. NDCG@10 under "
    "comparable settings on the five folds of MQ2008 (784 queries; "
    "`benchmarks/results/quality-peers-stochastic.md`):\n\n"
    "| ranker | NDCG@10 |\n| --- | ---: |\n"
    "| StochasticRank, ten draws | 0.5076 |\n"
    "| StochasticRank, one draw | 0.5060 |\n"
    "| CatBoost's StochasticRank, one draw (its default) | 0.5009 |\n"
    "| YetiRank | 0.4996 |\n\n"
    "After Holm's correction, no difference from CatBoost is significant at 0.05.",
    "stochasticfilter": "If the order of a list is given (by time, by price, by another system), "
    "and the model should decide which documents are shown: those with a score of at least 0. The "
    "scores are not meant to rank documents, although good documents tend to have high scores. An "
    "[export](../how-to/exporting.md#search-engines) to Elasticsearch, OpenSearch or Solr adds a "
    "number to all scores and prints it: there, documents with a score of at least this number are "
    "shown.",
    "groupquantile": "For real-valued labels with outliers, if the level of the labels differs "
    "between queries. [QueryRMSE](queryrmse.md) has the square of the same residuals as loss.",
    "rcrank": "To compare with its paper. An oblivious tree is scored by one table look-up. "
    "`LambdaMART` has such trees, too, with Newton splits and `l2`; try it first.",
    "coordinate-ascent": "For an interpretable linear model of few features that optimises any "
    "metric, also one of your own. It is slow with hundreds of features.",
    "listmle": "For a quick linear listwise model; features should be on comparable scales "
    "(`normalisation`).",
    "ranksvm": "For the linear pairwise baseline of the literature.",
    "adarank": "For a very small model of few features that optimises a metric, and as a baseline.",
    "rankboost": "For the classical pairwise baseline on trees of one split; its models are "
    "additive in the features, so each feature's effect is one curve.",
    "single-feature": "As the baseline that every model must beat: one feature, such as BM25.",
    "random": "As the lower reference of a table: the NDCG of a random order of these data.",
    "broof": "If forests do well and labels are few. Boosting reduces the errors of the forests, "
    "by fitting their residuals (the default) or by weighting documents with large errors. Every "
    "iteration grows a forest, so training takes long.",
}
