"""Stateless random operations are functions of their seed."""

import jax
import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError, BadTypeError

pytestmark = pytest.mark.usefixtures("_loops")

FLOATS = np.random.default_rng(0).random((6, 7, 3), np.float32)
OPERATIONS = {
    "flip_left_right": (),
    "flip_up_down": (),
    "brightness": (0.3,),
    "contrast": (0.5, 1.5),
    "saturation": (0.5, 1.5),
    "hue": (0.3,),
    "crop": ((4, 5, 3),),
}


def drawn(name, photo, seed):
    return getattr(image, f"stateless_random_{name}")(photo, *OPERATIONS[name], seed=seed)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("library", [np.asarray, jax.numpy.asarray], ids=["numpy", "jax"])
def test_the_same_seed_gives_the_same(name, library):
    photo = library(FLOATS)
    first = drawn(name, photo, (1, 2))
    np.random.default_rng().random()
    np.testing.assert_array_equal(first, drawn(name, photo, np.array([1, 2])))
    seeds = [(0, n) for n in range(8)] + [(n, 0) for n in range(1, 8)]
    assert len({np.asarray(drawn(name, photo, seed)).tobytes() for seed in seeds}) > 1
    assert isinstance(first, type(photo))


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_compiled_program_may_compute_the_seed(name):
    compiled = jax.jit(lambda photo, seed: drawn(name, photo, seed + 1))
    wanted = drawn(name, jax.numpy.asarray(FLOATS), (1, 2))
    np.testing.assert_allclose(compiled(FLOATS, np.array([0, 1])), wanted, atol=1e-6)


def test_mapped_over_a_batch_every_image_has_its_own_draw():
    photos, seeds = np.stack([FLOATS] * 8), np.stack([np.zeros(8, int), np.arange(8)], 1)
    results = jax.vmap(lambda photo, seed: drawn("crop", photo, seed))(photos, seeds)
    one_by_one = [drawn("crop", jax.numpy.asarray(FLOATS), (0, n)) for n in range(8)]
    np.testing.assert_array_equal(results, one_by_one)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_seed_has_two_numbers(name):
    for seed in (3, (1,), (1, 2, 3), None):
        with pytest.raises(BadArgumentError, match="The seed of a stateless operation is two integers"):
            drawn(name, FLOATS, seed)
    with pytest.raises(BadTypeError, match="A seed is an integer. Received: seed=1.5"):
        drawn(name, FLOATS, (1.5, 2))
