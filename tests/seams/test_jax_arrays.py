"""What JAX' arrays are given by `stratax.tf`, in processes that have nothing else imported."""

import operator
import os
import subprocess
import sys

import jax
import jax.numpy as jnp

import stratax.tf as tf
from stratax.tensorflow.ops.arrays import tensors

NAMES = "numpy", "get_shape", "set_shape", "ref", "consumers", "eval"


def has_methods(program):
    """Which kinds of arrays have the methods in a program: values, and what is traced."""
    end = f"""
import jax
x, found = jax.numpy.ones(3), []
jax.jit(lambda x: found.append(x) or x)(x)
print([all(hasattr(type(a) if a is x else a.aval, name) for name in {NAMES}) for a in (x, found[0])])
print(type(x.shape).__name__, type(found[0].shape).__name__)
"""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "STRATAX_SIMULATE": ""}
    done = subprocess.run(
        [sys.executable, "-c", program + end], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.split("\n")[:2]


def test_importing_stratax_leaves_jax_as_it_is():
    assert has_methods("import stratax, stratax.data, stratax.core") == ["[False, False]", "tuple tuple"]


def test_importing_stratax_tf_before_or_after_jax_gives_arrays_the_methods():
    expected = ["[True, True]", "TensorShape TensorShape"]
    assert [has_methods(f"import {first}") for first in ("stratax.tf", "stratax, jax, stratax.tf")] == [
        expected
    ] * 2


def test_nothing_that_jax_has_is_taken_from_it():
    program = f"""
import jax, jax._src.core as core
x = jax.numpy.ones(3)
print([name for name in {NAMES + tensors._METHODS} if hasattr(x, name) or hasattr(core.ShapedArray, name)])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_shapes_are_tuples_to_jax():
    x = jnp.ones((2, 3))
    assert isinstance(x.shape, tf.TensorShape)
    assert jax.tree.map(lambda size: size + 1, {"a": x.shape}) == {"a": (3, 4)}
    assert jax.jit(lambda shape, y: y + shape[0])(x.shape, 1) == 3
    assert jnp.zeros(x.shape).reshape(x.shape[::-1]).shape == [3, 2]
    assert jax.eval_shape(lambda y: y @ jnp.ones(y.shape[::-1]), x).shape == (2, 2)
    assert jax.vmap(lambda y: y.reshape((1, *y.shape)))(x).shape == (2, 1, 3)
    assert jax.jit(lambda y, shape: y.reshape(shape), static_argnums=1)(
        x, operator.add(x.shape[:0], (6,))
    ).shape == [6]


def test_keys_keep_what_they_are():
    key = jax.random.key(0)
    assert key.shape == ()
    assert jax.random.split(key).shape == [2]
