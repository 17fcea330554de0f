"""Results that are parts of one array are cut out by as many loops as they have sizes."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import cpu, jaxprs

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")

SHAPES = [(3,), (2, 3), (3,), (6,), (3,), (3, 1), (6,)]


def cut_one_by_one(whole):
    parts, start = [], 0
    for shape in SHAPES:
        size = int(np.prod(shape))
        parts.append(whole[start : start + size].reshape(shape))
        start += size
    return parts


def made(function, *arguments):
    closed = jax.make_jaxpr(function)(*arguments)
    return cpu.join_small(closed, range(len(closed.out_avals)))


def run(closed, *arguments):
    return jax.jit(lambda *given: jaxprs.lift_inputs(closed, 0)(*given))(*arguments)


def operations(closed):
    return [each for each in jaxprs.walk_nested(closed.jaxpr) if each.primitive.name == "stratax_cut"]


def test_parts_are_what_they_were():
    whole = jnp.arange(40.0)
    closed = made(cut_one_by_one, whole)
    assert len(operations(closed)) == 1
    for part, plain in zip(run(closed, whole), cut_one_by_one(whole), strict=True):
        assert part.shape == plain.shape
        np.testing.assert_array_equal(part, plain)


def test_parts_of_one_size_have_one_loop():
    whole = jnp.arange(40.0)
    closed = made(cut_one_by_one, whole)
    lowered = jax.jit(lambda *given: jaxprs.lift_inputs(closed, 0)(*given)).lower(whole)
    text = lowered.compile().as_text()
    # Loops that differ in nothing are compiled once, and a place that stands in one would be a difference.
    loops = re.findall(r"(f32\[\d+\])\S* dynamic-slice\(%(\w+?)[.\d]*, %(\w+?)[.\d]*\)", text)
    assert {size for size, _, _ in loops} == {"f32[3]", "f32[6]"}
    assert not any("constant" in place for _, _, place in loops)
    assert " slice(" not in text


def test_other_devices_get_slices():
    whole = jnp.arange(40.0)
    closed = made(cut_one_by_one, whole)
    traced = jax.jit(lambda *given: jaxprs.lift_inputs(closed, 0)(*given)).trace(whole)
    assert "dynamic_slice" not in traced.lower(lowering_platforms=("tpu",)).as_text()


def test_few_parts_and_parts_with_steps_are_left_alone():
    whole = jnp.arange(40.0)
    assert not operations(made(lambda x: [x[:3], x[3:6], x[6:9]], whole))
    assert not operations(made(lambda x: [x[at : at + 9 : 2] for at in range(9)], whole))


def test_a_part_that_is_used_besides_stays():
    whole = jnp.arange(40.0)

    def compute(x):
        parts = cut_one_by_one(x)
        return [*parts, parts[0] * parts[2]]

    closed = made(compute, whole)
    assert operations(closed)
    np.testing.assert_array_equal(run(closed, whole)[-1], whole[:3] * whole[9:12])
