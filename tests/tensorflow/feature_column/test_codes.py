"""What is made of each string once is what is made of all of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
from stratax import errors
from stratax.tensorflow.feature_column._codes import Codes
from stratax.tensorflow.ops.text.fingerprints import fingerprint64


def _strings(seed, shape=(10, 2)):
    numbers = np.random.default_rng(seed).integers(0, 100, shape)
    return np.array([b"%d" % number for number in numbers.reshape(-1)], object).reshape(shape)


def _lengths(strings):
    return np.array([len(each) for each in strings], np.int32)


def test_more_strings_than_are_kept_are_right_too():
    codes = Codes(most=30)
    for seed in range(20):
        strings = _strings(seed)
        coded = codes.of(strings)
        np.testing.assert_array_equal(coded.map_strings("lengths", _lengths), np.vectorize(len)(strings))
        expected = fingerprint64(strings.reshape(-1).tolist()).reshape(strings.shape)
        np.testing.assert_array_equal(coded.map_strings("words", fingerprint64), expected)
        assert len(codes._strings) <= 50


def test_each_string_is_computed_once():
    computed = []

    def compute(strings):
        computed.extend(strings)
        return _lengths(strings)

    codes = Codes()
    for seed in range(20):
        codes.of(_strings(seed)).map_strings("lengths", compute)
    assert len(computed) == len(set(computed)) > 90


def test_threads_may_ask_at_the_same_time():
    codes = Codes(most=30)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda seed: codes.of(_strings(seed)).map_strings("words", fingerprint64), range(200))
        )
    for seed, words in enumerate(found):
        assert words.reshape(-1).tolist() == fingerprint64(_strings(seed).reshape(-1).tolist()).tolist()


def test_columns_of_batches_that_follow_one_another_give_what_each_gives_alone():
    columns = [
        fc.categorical_column_with_vocabulary_list("w", [str(number) for number in range(50)]),
        fc.categorical_column_with_hash_bucket("v", 7),
        fc.crossed_column(["w", "v"], 1000),
        fc.crossed_column([fc.categorical_column_with_vocabulary_list("u", ["1", "2"]), "w"], 1000),
    ]
    known = fc.Transformation(columns)
    for seed in range(5):
        batch = {"w": _strings(seed, 6), "v": _strings(seed + 50, (6, 2)), "u": _strings(seed + 60, 6)}
        batch["w"][seed] = b""
        # As text and as a list of lists they are the same strings.
        batch["v"][0] = ["1", "x"]
        alone = fc.Transformation(columns).host_features(
            {key: value.tolist() for key, value in batch.items()}
        )
        for key, value in known.host_features(batch).items():
            np.testing.assert_array_equal(value, alone[key], err_msg=key)


def test_a_string_that_a_column_refuses_is_refused_each_time():
    wide = fc.categorical_column_with_vocabulary_list("w", ["a"], default_value=5)
    known = fc.Transformation([wide])
    assert known.host_features({"w": np.array([b"a"], object)})["w/ids"].tolist() == [[0]]
    for _ in range(2):
        with pytest.raises(errors.BadArgumentError, match="out of its range"):
            known.host_features({"w": np.array([b"a", b"b"], object)})
