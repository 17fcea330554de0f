"""Texts as ids of their terms, and as counts of these."""

import numpy as np

import stratax.tf as tf
from stratax.tensorflow.ops.text import vectorized

TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(["red", "sea", "red sea", ""], np.int64([2, 3, 4, -1])), 1
)
TEXTS = np.array([b"Red, sea!", b"sea sea blue red", b""], object)
STANDARD = "lower_and_strip_punctuation"


def test_ids_are_filled_up_or_cut():
    found = vectorized.text_ids(TEXTS, TABLE, STANDARD, "whitespace", length=3)
    assert found.tolist() == [[2, 3, 0], [3, 3, 1], [0, 0, 0]]
    longest = vectorized.text_ids(TEXTS[:, None], TABLE, STANDARD, "whitespace")
    assert longest.tolist() == [[2, 3, 0, 0], [3, 3, 1, 2], [0, 0, 0, 0]]


def test_terms_of_several_words_and_letters_are_found():
    assert vectorized.text_ids(TEXTS, TABLE, "lower", None).tolist() == [[1], [1], [-1]]
    found = vectorized.text_ids(TEXTS[:1], TABLE, STANDARD, "whitespace", ngrams=[1, 2])
    assert found.tolist() == [[2, 3, 4]]
    assert vectorized.text_ids(
        np.array(["a\u00e9"], object).astype(object), TABLE, None, "character"
    ).shape == (1, 2)


def test_counts_leave_out_what_has_no_place():
    arguments = (TABLE, STANDARD, "whitespace", None, 5)
    assert vectorized.text_ids(TEXTS, *arguments, "count").tolist() == [
        [0, 0, 1, 1, 0],
        [0, 1, 1, 2, 0],
        [0] * 5,
    ]
    assert vectorized.text_ids(TEXTS[1:2], *arguments, "multi_hot").tolist() == [[0, 1, 1, 1, 0]]
    assert vectorized.text_ids(TEXTS[2:], TABLE, None, None, None, 5, "count").tolist() == [[0] * 5]
