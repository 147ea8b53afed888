"""Queries that compute features in search engines, guessed from the names of the features.

A name with a word for a text match or for a field of text is a query of the user's words; any
other name is a field of numbers:

    title_bm25       -> match the words in the field "title"
    phrase_title     -> match them as a phrase
    popularity       -> the value of the field "popularity"
    title_length     -> the value of the field "title_length"

The guesses are a first version for the engineer, who knows the index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# Words of names, in lower case.
_MATCH = re.compile("bm25f?|tfidf|tf|idf|match(es)?|similarity")
_PHRASE = re.compile("phrases?")
_TEXT = re.compile(
    "abstract|anchor|author|body|brand|caption|category|content|description|head(ing|line)|"
    "keywords|name|overview|subtitle|summary|tags|text|title|url"
)
_NUMBER = re.compile(
    "age|average|avg|clicks|count|ctr|date|days|id|len(gth)?|number|popularity|price|rank|rat(e|ing|"
    "io)|sales|size|stock|time|views|votes|year"
)


@dataclass(frozen=True)
class FeatureTemplate:
    """How a search engine computes one feature.

    Attributes
    ----------
    feature : name of the feature
    field : field of the index
    kind : ``match``, ``phrase`` or ``number``
    """

    feature: str
    field: str
    kind: str

    def for_ltr_plugin(self) -> dict[str, Any]:
        """Return the feature as the plugins of Elasticsearch and OpenSearch store it.

        A document without the field does not match, so that the feature is absent there.
        """
        template: dict[str, Any]
        if self.kind == "number":
            template = {
                "function_score": {
                    "query": {"exists": {"field": self.field}},
                    "field_value_factor": {"field": self.field},
                    "boost_mode": "replace",
                }
            }
        else:
            query = "match_phrase" if self.kind == "phrase" else "match"
            template = {query: {self.field: "{{keywords}}"}}
        return {
            "name": self.feature,
            "params": [] if self.kind == "number" else ["keywords"],
            "template_language": "mustache",
            "template": template,
        }

    def for_solr(self, default: dict[str, Any]) -> dict[str, Any]:
        """Return the feature as Solr stores it; ``default`` goes to the values of fields."""
        if self.kind == "number":
            kind, params = "FieldValueFeature", {"field": self.field, **default}
        elif self.kind == "phrase":
            kind, params = "SolrFeature", {"q": f'{{!field f={self.field}}}"${{keywords}}"'}
        else:
            kind, params = "SolrFeature", {"q": f"{{!dismax qf={self.field}}}${{keywords}}"}
        return {
            "name": self.feature,
            "class": f"org.apache.solr.ltr.feature.{kind}",
            "params": params,
        }


def template_of(feature: str) -> FeatureTemplate:
    """Guess the query of a feature from its name."""
    words = [word for word in re.split(r"[^\w.]+|_", feature) if word]
    fields = [word for word in words if not (_is(_MATCH, word) or _is(_PHRASE, word))]
    if fields == words:
        texts = any(_is(_TEXT, word) for word in words)
        numbers = any(_is(_NUMBER, word) for word in words)
        kind = "match" if texts and not numbers else "number"
        return FeatureTemplate(feature, feature, kind)
    kind = "phrase" if any(_is(_PHRASE, word) for word in words) else "match"
    return FeatureTemplate(feature, "_".join(fields) or feature, kind)


def _is(words: re.Pattern[str], word: str) -> bool:
    return words.fullmatch(word.lower()) is not None
