"""Conditional random fields give TensorFlow's numbers, gradients and tags."""

import itertools

import numpy as np
import pytest

from stratax.tf.contrib import crf
from tests.tensorflow import recurrent


@pytest.mark.parametrize("name", recurrent.names_of_cases("crf"))
def test_a_field_is_that_of_tensorflow(name):
    recurrent.check("crf", name)


def test_the_best_tags_on_the_host_are_those_of_the_highest_score():
    generator = np.random.default_rng(3)
    scores, transitions = generator.normal(size=(4, 3)), generator.normal(size=(3, 3))

    def score(tags):
        pairs = itertools.pairwise(tags)
        return sum(scores[step, tag] for step, tag in enumerate(tags)) + sum(transitions[p] for p in pairs)

    tags, best = crf.viterbi_decode(scores, transitions)
    assert tuple(tags) == max(itertools.product(range(3), repeat=4), key=score)
    np.testing.assert_allclose(best, score(tags))
