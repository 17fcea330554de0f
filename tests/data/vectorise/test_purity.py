"""Which functions are known to be the same for a block of elements as for each of them."""

import functools
import itertools
import math
import random

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from numpy.random import rand

import stratax
import stratax.tf as tf
from stratax.data.vectorise._purity import is_pure

CONSTANT = np.ones(3)
FEATURES = {"a": stratax.data.FixedLenFeature([], "int64")}
MEAN = [0.1, 0.2]
LOG = []
COUNT = 0
NUMBERS = itertools.count()
RNG = np.random.default_rng(0)
SEEDS = keras.random.SeedGenerator(1)


class Scaler:
    factor = 3

    def scale(self, x):
        return x * self.factor

    def __call__(self, x):
        return x * self.factor


SCALER = Scaler()


def helper(x):
    return jnp.tanh(x) + 1


def noisy_helper(x):
    return x + random.random()


@jax.jit
def jitted(x):
    return jnp.sin(x)


@jax.jit
def printing(x):
    print(x)
    return x


def store_item(element):
    element["image"] = element["image"] / 255.0
    return element


def inner_function(x):
    offset = 1

    def add(y):
        return y + offset

    return add(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 255.0,
        lambda x: np.where(x > 0, x, CONSTANT),
        lambda x: (x - MEAN) / np.asarray(MEAN),
        lambda x, y: {"x": x.astype(np.float32), "y": y},
        lambda x: helper(x),
        lambda x: math.pi * sum([x, x]),
        lambda x: keras.ops.cast(x, "float32"),
        lambda x: keras.ops.image.resize(x, (2, 2)),
        lambda x: jax.nn.one_hot(x, 10),
        lambda x: tf.io.parse_example(x, FEATURES),
        lambda x: stratax.data.parse_example(x, {"a": FEATURES["a"]})["a"],
        lambda x: jnp.asarray(x, jnp.bfloat16),
        jitted,
        store_item,
        inner_function,
        np.sqrt,
        np.float32,
        jnp.float32,
        jax.nn.relu,
        functools.partial(np.multiply, 2),
    ],
)
def test_array_code_is_pure(function):
    assert is_pure(function)


def global_counter(x):
    global COUNT
    COUNT += 1
    return x


def closure_counter():
    count = 0

    def function(x):
        nonlocal count
        count += 1
        return x + count

    return function


def generator(x):
    yield x


def import_inside(x):
    import time

    return x + time.time()


def unbound_cell():
    def function(x):
        return x + later

    if CONSTANT is None:
        later = 1
    return function


def recursive(x):
    return recursive(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.rand(),
        lambda x: x + rand(),
        lambda x: x + RNG.normal(),
        lambda x: x + keras.random.uniform((), seed=SEEDS),
        lambda x: jax.random.uniform(jax.random.key(0)) + x,
        lambda x: noisy_helper(x),
        lambda x: x + next(NUMBERS),
        lambda x: LOG.append(x) or x,
        lambda x: print(x),
        lambda x: open(x),  # noqa: SIM115
        lambda x: CONSTANT.__setitem__(0, 1),
        lambda x: SCALER.factor * x,
        lambda x: x if isinstance(x, np.ndarray) else x + 1,
        lambda x, rng=RNG: x + 1,
        lambda x: UNKNOWN + x,  # noqa: F821
        lambda x: keras.layers.Rescaling(2.0)(x),
        np.frompyfunc(noisy_helper, 1, 1),
        functools.partial(noisy_helper),
        functools.partial(helper, x=SCALER),
        noisy_helper,
        global_counter,
        closure_counter(),
        unbound_cell(),
        generator,
        import_inside,
        recursive,
        printing,
        rand,
        RNG.normal,
        random.random,
        SCALER,
        SCALER.scale,
        keras.layers.Rescaling(2.0),
    ],
)
def test_state_effects_and_the_unknown_are_not(function):
    assert not is_pure(function)


def test_storing_items_next_to_a_reachable_list_is_not_pure():
    def write(x):
        MEAN[0] = 1
        return x

    def add(x):
        total = MEAN
        total += [x]
        return x

    assert not is_pure(write)
    assert not is_pure(add)
