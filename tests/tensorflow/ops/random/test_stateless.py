"""Random numbers of a seed, and generators with a state."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

random = tf.random
DRAWS = {
    "uniform": lambda seed: random.stateless_uniform([1000], seed, 2.0, 4.0),
    "whole": lambda seed: random.stateless_uniform([1000], seed, 2, 4, tf.int32),
    "normal": lambda seed: random.stateless_normal([1000], seed, 3.0, 0.5),
    "truncated": lambda seed: random.stateless_truncated_normal([1000], seed, 3.0, 0.5),
    "within": lambda seed: random.stateless_parameterized_truncated_normal([1000], seed, 3.0, 1.0, 2.5, 3.5),
    "gamma": lambda seed: random.stateless_gamma([1000], seed, 6.0, 2.0),
    "poisson": lambda seed: random.stateless_poisson([1000], seed, 3.0),
    "binomial": lambda seed: random.stateless_binomial([1000], seed, 6.0, 0.5),
    "classes": lambda seed: random.stateless_categorical([[-50.0, -50.0, 0.0, 0.0, 0.0]], 1000, seed),
}
MEANS = dict.fromkeys(DRAWS, 3.0) | {"whole": 2.5}
LIMITS = {"uniform": (2, 4), "whole": (2, 3), "truncated": (2, 4), "within": (2.5, 3.5), "classes": (2, 4)}


def check(name, drawn):
    assert abs(np.mean(drawn) - MEANS[name]) < 0.15
    low, high = LIMITS.get(name, (-np.inf, np.inf))
    assert np.min(drawn) >= low
    assert np.max(drawn) <= high


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_again_and_another_one_others(name):
    drawn, again, others = (np.asarray(DRAWS[name](seed)) for seed in ([1, 2], (1, 2), [1, 3]))
    check(name, drawn)
    np.testing.assert_array_equal(drawn, again)
    assert (drawn != others).any()


def test_the_functions_of_a_dataset_draw_on_the_host():
    def draw(number):
        return {name: function([1, 2]) for name, function in DRAWS.items()}

    (first, second) = sx.data.Dataset.range(2).map(draw).as_numpy_iterator()
    for name in DRAWS:
        check(name, first[name])
        np.testing.assert_array_equal(first[name], second[name])
    (seeds,) = sx.data.Dataset.range(1).map(lambda number: tf.random.split((3, 4), 2)).as_numpy_iterator()
    assert seeds.shape == (2, 2)
    assert seeds.dtype == np.int32


def test_seeds_are_split_and_folded():
    seeds = random.split([1, 2], 3)
    assert seeds.shape == (3, 2)
    assert seeds.dtype == tf.int32
    assert len({*map(tuple, seeds.tolist())}) == 3
    assert random.fold_in([1, 2], 5).tolist() == random.experimental.stateless_fold_in([1, 2], 5).tolist()
    assert random.fold_in([1, 2], 5).tolist() != random.fold_in([1, 2], 6).tolist()
    order = random.experimental.stateless_shuffle(tf.constant([1, 2, 3, 4]), [1, 2])
    assert sorted(order.tolist()) == [1, 2, 3, 4]
    assert sorted(random.experimental.index_shuffle(tf.constant(range(5)), [1, 2], 4).tolist()) == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_whole_numbers_of_all_that_the_dtype_has():
    drawn = random.stateless_uniform([100], [1, 2], None, None, tf.int32)
    assert drawn.dtype == tf.int32
    assert min(drawn.tolist()) < -(2**29)
    assert max(drawn.tolist()) > 2**29
    with pytest.raises(BadArgumentError, match="need an upper end"):
        random.stateless_uniform([2], [1, 2], dtype=tf.int32)


@pytest.mark.parametrize("seed", [1, [1], [1, 2, 3]])
def test_a_seed_is_two_numbers(seed):
    with pytest.raises(BadArgumentError, match="A seed is two whole numbers"):
        random.stateless_normal([2], seed)


def test_a_seed_is_of_whole_numbers():
    with pytest.raises(BadTypeError, match="A seed is two whole numbers"):
        random.stateless_normal([2], [0.5, 1.0])


def test_a_gamma_of_several_distributions_has_their_shape_behind_its_own():
    tf.random.set_seed(3)
    assert random.gamma([4], [[1.0], [2.0]], beta=[3.0, 4.0, 5.0]).shape == (4, 2, 3)
    assert random.poisson([4], [1.0, 2.0]).shape == (4, 2)
    # A seed begins a sequence.
    assert random.gamma([3], 2.0, seed=7).tolist() != random.gamma([3], 2.0, seed=7).tolist()


def test_a_gammas_gradient_passes_to_its_parameters():
    alpha = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(alpha)
        drawn = random.stateless_gamma([5], [1, 2], alpha)
    assert np.isfinite(tape.gradient(drawn, alpha))


def test_every_element_of_a_dataset_can_bring_its_seed():
    seeds = sx.data.Dataset.from_tensor_slices(np.array([[1, 2], [1, 3], [1, 2]]))
    drawn = list(seeds.map(lambda seed: random.stateless_uniform([2], seed)).as_numpy_iterator())
    assert drawn[0].tolist() == drawn[2].tolist() != drawn[1].tolist()
