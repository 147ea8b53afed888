"""When to choose each ranker: the sentences that its page and the guides show."""

from __future__ import annotations

WHEN = {
    "gbrt": "To reproduce the papers that start from it, or as the boosting half of iGBRT. For new "
    "work [MART](mart.md) fits the same loss with the settings of today.",
    "igbrt": "Where a random forest is strong already and you want boosting to reduce the "
    "remaining error. It holds a forest and a boosted ensemble, so it is large and slow to score.",
    "mart": "For real-valued labels, for a quick first model, and as the pointwise baseline: "
    "squared error needs no pairs. Its scores estimate labels.",
    "lambdamart": "Try it first. It optimises the metric that you report (NDCG, MAP, ERR, MRR), "
    "and takes clicks with position bias.",
    "mcrank": "For grades that mean something by themselves: it learns the probability of each "
    "grade. With five grades it grows five trees per iteration.",
    "plrank": "For a listwise likelihood of the best orders with exact leaf steps; a good second "
    "opinion beside LambdaMART in a [blend](../how-to/bagging-and-blending.md).",
    "cosmart": "To compare with the paper.",
    "klmart": "To compare with the paper, or where the gains of a list are shares of a whole.",
    "xendcg": "For noisy labels and for speed: its cost grows with the documents of a query, not "
    "with their pairs.",
    "yetirank": "Try it beside LambdaMART, above all with few queries and many ties: ranks are "
    "perturbed at random, which regularises.",
    "queryrmse": "For real-valued labels whose level differs between queries (prices, counts): the "
    "mean of each query is taken out.",
    "querysoftmax": "For one chosen document per query, such as the item that was bought.",
    "querycrossentropy": "For labels that are probabilities in [0, 1], such as click rates.",
    "listce": "For probabilities of relevance that also rank well: its scores are log-odds.",
    "pairlogit": "For the whole order rather than its top, and for real-valued labels: all pairs "
    "count alike.",
    "lambdaloss": "To compare with LambdaMART under a loss that bounds NDCG, or to minimise the "
    "average position of relevant documents (ARP).",
    "yetiloss": "For MAP, MRR or ERR as the metric, with few queries.",
    "stochasticrank": "Where the metric itself should be optimised, rather than a bound or pairs: "
    "NDCG, DCG, MAP, ERR or MRR. More draws (`n_permutations`) make the gradient less noisy. "
    "Beside CatBoost's loss of this name under comparable settings "
    "(`benchmarks/results/quality-peers-stochastic.md`: the five folds of MQ2008, 784 queries, "
    "NDCG@10), StochasticRank reached 0.5076 with ten draws and 0.5060 with one, CatBoost 0.5009 "
    "with one, its default, and YetiRank 0.4996; after Holm's correction, no difference from "
    "CatBoost is significant at 0.05.",
    "stochasticfilter": "Where a list has its order already (by time, by price, by another system) "
    "and you decide which documents stay: those with a score of at least 0. Its scores are no "
    "ranking of their own, although good documents tend to have high ones.",
    "groupquantile": "For real-valued labels with outliers whose level differs between queries: "
    "errors count by their size, where [QueryRMSE](queryrmse.md) squares them.",
    "rcrank": "To compare with its paper. An oblivious tree is scored by one table look-up; "
    "`LambdaMART` has such trees, too, with Newton splits and `l2`: try it first.",
    "coordinate-ascent": "For a linear model of few features that optimises any metric, also one "
    "of your own, and that people can read. It is slow with hundreds of features.",
    "listmle": "For a quick linear listwise model; features should be on comparable scales "
    "(`normalisation`).",
    "ranksvm": "For the linear pairwise baseline of the literature.",
    "adarank": "For a very small model of few features that optimises a metric, and as a baseline.",
    "rankboost": "For the classical pairwise baseline on trees of one split; its models are "
    "additive in the features, so each feature's effect is one curve.",
    "single-feature": "As the baseline that every model must beat: one feature, such as BM25.",
    "random": "As the floor of a table: what NDCG chance reaches on these data.",
    "broof": "Where forests do well and labels are few: boosting weighs the documents that the "
    "forest gets wrong. Every iteration grows a forest, so training takes long.",
}
