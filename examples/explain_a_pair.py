"""SHAP values of a pair: why is one document above another?"""

import rankgrove
from rankgrove.datasets import make_ranking

train, test = make_ranking(60, seed=1), make_ranking(20, seed=2)
ranker = rankgrove.LambdaMART(n_estimators=50, random_state=1).fit(train)

explanation = ranker.explain(test)
first, second = (explanation.row_of(place, query=3) for place in ("@1", "@2"))
comparison = explanation.compare(first, second)
print("query 3: what puts the first document above the second")
for part in comparison.differences[:5]:
    print(f"{part.feature:<24} {part.first:8.3f} {part.second:8.3f}   effect {part.effect:+.3f}")
comparison.plot().save("explain_a_pair.svg")
