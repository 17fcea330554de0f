"""Initializers and regularizers of TensorFlow 1."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import initializers
from tests.tensorflow.v1.steps import Step

SHAPE = (200, 300)
# What TensorFlow's documentation says of a variable of that shape: the largest absolute value (None: there is no
# end) and the standard deviation.
SPREADS = {
    "glorot_uniform": (initializers.glorot_uniform(), np.sqrt(6 / 500), np.sqrt(2 / 500)),
    "glorot_normal": (initializers.glorot_normal(), 2 * np.sqrt(2 / 500) / 0.87962566, np.sqrt(2 / 500)),
    "he_uniform": (initializers.he_uniform(), np.sqrt(6 / 200), np.sqrt(2 / 200)),
    "he_normal": (initializers.he_normal(), 2 * np.sqrt(2 / 200) / 0.87962566, np.sqrt(2 / 200)),
    "lecun_uniform": (initializers.lecun_uniform(), np.sqrt(3 / 200), np.sqrt(1 / 200)),
    "lecun_normal": (initializers.lecun_normal(), 2 * np.sqrt(1 / 200) / 0.87962566, np.sqrt(1 / 200)),
    "random_uniform": (initializers.random_uniform(-2, 2), 2, 2 / np.sqrt(3)),
    "random_normal": (initializers.random_normal(stddev=0.1), None, 0.1),
    "truncated_normal": (initializers.truncated_normal(stddev=0.1), 0.2, 0.0879626),
    "uniform_unit_scaling": (
        initializers.uniform_unit_scaling(1.5),
        1.5 * np.sqrt(3 / 200),
        1.5 / np.sqrt(200),
    ),
    "untruncated": (
        initializers.variance_scaling(3.0, "fan_out", "untruncated_normal"),
        None,
        np.sqrt(3 / 300),
    ),
    "normal is truncated": (
        initializers.variance_scaling(1.0, "fan_avg", "normal"),
        2 * np.sqrt(1 / 250) / 0.87962566,
        np.sqrt(1 / 250),
    ),
}


@pytest.mark.parametrize("name", SPREADS)
def test_random_numbers_have_the_spread_of_tensorflows(name):
    initializer, end, deviation = SPREADS[name]
    values = np.asarray(initializer(SHAPE))
    assert values.dtype == "float32"
    assert values.std() == pytest.approx(deviation, rel=0.02)
    assert abs(values.mean()) < 0.02 * deviation
    if end is not None:
        assert 0.98 * end < np.abs(values).max() <= end * 1.0001


def test_a_fraction_is_no_whole_number():
    for kind in ("int32", "bool"):
        for value in (1.5, [1.0, 2.0]):
            with pytest.raises(errors.BadTypeError, match=f"Fractions are no {kind}"):
                initializers.constant(value)((2,), dtype=kind)
    assert initializers.constant(np.array([1.5]))((1,), dtype="int32").tolist() == [1]


def test_constants():
    assert initializers.zeros()((2,)).tolist() == [0, 0]
    assert initializers.ones(dtype="int32")((2,)).dtype == "int32"
    assert initializers.ones()((2,), dtype="bfloat16").dtype == "bfloat16"
    assert initializers.constant(3)((2, 1)).tolist() == [[3], [3]]
    assert initializers.constant([1, 2, 3])((2, 2)).tolist() == [[1, 2], [3, 3]]
    assert initializers.constant(np.arange(6))((2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert initializers.identity(2.0)((2, 2)).tolist() == [[2, 0], [0, 2]]
    for wrong in (initializers.constant([1, 2, 3]), initializers.constant([1], verify_shape=True)):
        with pytest.raises(errors.BadArgumentError, match="does not fit a variable"):
            wrong((2,))


def test_orthogonal_matrices():
    for shape in ((5, 3), (3, 5), (2, 3, 4)):
        matrix = np.asarray(initializers.orthogonal(2.0)(shape)).reshape(-1, shape[-1])
        product = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_without_a_seed_every_call_gives_other_numbers_which_follow_from_the_models():
    unseeded, seeded = initializers.truncated_normal(), initializers.truncated_normal(seed=3)
    assert (np.asarray(unseeded((5,))) != unseeded((5,))).all()
    assert (np.asarray(seeded((5,))) == seeded((5,))).all()

    def body(scope, x):
        with v1.variable_scope("s", initializer=tf.random_normal_initializer(stddev=0.1)):
            v1.get_variable("a", (5,))
            v1.get_variable("b", (5,))
        tf.layers.dense(
            x, 3, kernel_initializer=tf.glorot_normal_initializer, bias_initializer=tf.ones_initializer()
        )
        return x

    def values(seed):
        step = Step(body, seed=seed)
        step(np.ones((2, 4), np.float32))
        assert step.value("dense/bias").tolist() == [1, 1, 1]
        return [step.value(name) for name in ("s/a", "s/b", "dense/kernel")]

    first, again, other = values(1), values(1), values(2)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert all((a != b).all() for a, b in zip(first, other, strict=True))
    assert (first[0] != first[1]).all()


def test_a_config_makes_the_same():
    for initializer in (
        initializers.random_uniform(0, 5, 7),
        initializers.he_normal(7),
        initializers.constant(4),
    ):
        again = type(initializer).from_config(initializer.get_config())
        assert (np.asarray(again((4, 4))) == initializer((4, 4))).all()


def test_whole_numbers_need_an_end_and_scaling_what_there_is():
    drawn = np.asarray(initializers.random_uniform(2, 5, dtype="int32")((100,)))
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    with pytest.raises(errors.BadArgumentError, match="need an upper end"):
        initializers.random_uniform(dtype="int32")((2,))
    for wrong in ({"scale": 0.0}, {"mode": "fan"}, {"distribution": "poisson"}):
        with pytest.raises(errors.BadArgumentError, match="needs a positive scale"):
            initializers.variance_scaling(**wrong)


def test_keras_takes_them():
    layer = keras.layers.Dense(
        2, kernel_initializer=tf.constant_initializer(2.0), bias_initializer=tf.ones_initializer
    )
    assert layer(np.ones((1, 3), np.float32)).tolist() == [[7, 7]]
