"""Programs of few runs have those convolutions rewritten that are worth it in them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import cpu

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")


def depthwise(x, kernel):
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=x.shape[-1]
    )


def has_convolution(examples):
    # A function of its own: JAX keeps what it lowered.
    lowered = jax.jit(lambda x, kernel: depthwise(x, kernel)).lower(
        jnp.ones((examples, 16, 16, 32)), jnp.ones((3, 3, 1, 32))
    )
    return "stablehlo.convolution" in lowered.as_text()


def test_small_convolutions_are_left_to_xla_in_programs_of_few_runs():
    # 74 thousand products for each example, and four million are worth it.
    with cpu.few_runs():
        assert has_convolution(32)
        assert not has_convolution(64)
    assert not has_convolution(32)


def test_both_programs_compute_the_same():
    random = np.random.default_rng(0)
    x, kernel = random.normal(size=(2, 8, 8, 4)).astype("f"), random.normal(size=(3, 3, 1, 4)).astype("f")
    with cpu.few_runs():
        few = jax.jit(lambda *given: depthwise(*given))(x, kernel)
    many = jax.jit(lambda *given: depthwise(*given))(x, kernel)
    np.testing.assert_allclose(few, many, rtol=1e-5, atol=1e-5)
