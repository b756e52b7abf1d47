"""An adaptation is named by what is trained."""

from studies.papers.adaptation import Adaptation
from vocab_lit.models.madx import AdapterConfig
from vocab_lit.study.study_file import KNOW_SOURCE, SIZES, VOCABULARIES


def test_an_adaptation_is_named_by_what_is_trained():
    shape = AdapterConfig(2, "gelu", 2, (-1,))
    adaptations = [
        Adaptation(language="sw"),
        Adaptation("new", "focus", language="sw"),
        Adaptation("keep", adapter=shape, language="sw", steps=500),
        Adaptation("new", "mf10-kmeans-lex", adapter=shape, components=300, language="am"),
    ]
    assert [one.name for one in adaptations] == [
        "sw-whole-model",
        "sw-focus",
        "sw-language-adapter-invertible-gelu-last-layer-left-out-500steps",
        "am-language-adapter-invertible-gelu-last-layer-left-out-mf10-kmeans-lex-of-300",
    ]
    assert [one.whole for one in adaptations] == [True, False, False, False]
    assert adaptations[3].factoring.components == 300 and adaptations[1].factoring is None
    assert len({*adaptations, Adaptation(language="sw")}) == 4  # they can be told apart, and each is made once
    assert set(SIZES) <= set(VOCABULARIES) >= set(KNOW_SOURCE)
