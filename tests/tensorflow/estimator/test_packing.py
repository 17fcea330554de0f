"""Small arrays of a batch, packed and unpacked."""

import jax
import numpy as np
import pytest

from stratax import errors
from stratax.distribute.input import Padded
from stratax.tensorflow.estimator._packing import PackedBatch, Packing

RANDOM = np.random.default_rng(0)


def element(rows=4, widths=(1, 1, 1), steps=1):
    def array(*shape, dtype=np.float32):
        return RANDOM.integers(0, 100, (steps, rows, *shape)).astype(dtype)

    numbers = {"a": array(), "b": array(3), "c": array(2, 2), "large": array(100), "d": array(dtype=np.int32)}
    given = {str(i): Padded(array(width, dtype=np.int32), -1) for i, width in enumerate(widths)}
    return numbers, given | {"weights": Padded(array(2), 0.0)}


def packing_of(tree, *others, is_fixed=True):
    packing = Packing()
    packing.choose([packing.kinds(each, is_fixed=is_fixed) for each in (tree, *others)])
    return packing


def of_step(packed, step):
    """What one step gets of packed elements."""
    return jax.tree.map(lambda leaf: leaf[step], packed).unpack()


@pytest.mark.parametrize("steps", [1, 2])
def test_unpacking_gives_what_was_packed(steps):
    tree = element(steps=steps)
    packed = packing_of(tree).pack(tree)
    # Three of float32, three of one value, and by themselves: the large one, the only integer, the wider one.
    assert len(jax.tree.leaves(packed)) == 5
    for step in range(steps):
        numbers, given = of_step(packed, step)
        for name, expected in tree[0].items():
            np.testing.assert_array_equal(numbers[name], expected[step])
            assert numbers[name].dtype == expected.dtype
        for name, expected in tree[1].items():
            np.testing.assert_array_equal(given[name], expected.array[step])


def test_batches_that_are_as_wide_as_their_longest_example_keep_one_structure():
    def batch(width):
        return {name: RANDOM.normal(size=(1, 4, *shape)) for name, shape in shapes(width).items()}

    def shapes(width):
        numbers = {"length": (), "weight": (), "score": ()}
        return numbers | {"words": (width,), "letters": (width, 3), "tags": (width,)}

    packing = packing_of(batch(1), is_fixed=False)
    # What has no width goes together.
    structure = jax.tree.structure(packing.pack(batch(1)))
    assert structure.num_leaves == 4
    for width in (1, 3, 7, 1):
        tree = batch(width)
        packed = packing.pack(tree)
        assert jax.tree.structure(packed) == structure
        given = of_step(packed, 0)
        for name, shape in shapes(width).items():
            assert given[name].shape == (4, *shape)
            np.testing.assert_array_equal(given[name], tree[name][0])


def test_what_gets_wider_is_filled_up():
    packing = packing_of(element())
    first = packing.pack(element())
    later = element(rows=3, widths=(1, 3, 2))
    packed = packing.pack(later)
    assert jax.tree.structure(packed) == jax.tree.structure(first)
    _, given = of_step(packed, 0)
    for name, width in zip("012", (1, 3, 2), strict=True):
        np.testing.assert_array_equal(given[name][:, :width], later[1][name].array[0])
        np.testing.assert_array_equal(given[name][:, width:], -1)


def test_few_arrays_stay_as_they_are():
    tree = {"a": np.ones((1, 4)), "b": np.ones((1, 4, 2))}
    packed = packing_of(tree).pack(tree)
    assert isinstance(packed, PackedBatch)
    assert len(jax.tree.leaves(packed)) == 2
    np.testing.assert_array_equal(of_step(packed, 0)["b"], tree["b"][0])


def test_features_of_different_lengths_raise():
    tree = {name: np.ones((1, 4)) for name in "abc"}
    packing = packing_of(tree)
    packing.pack(tree)
    with pytest.raises(errors.DataError, match=r"same number of examples. Received: \[3, 5\]"):
        packing.pack({"a": np.ones((1, 3)), "b": np.ones((1, 3)), "c": np.ones((1, 5))})


def test_workers_whose_first_elements_differ_pack_the_same():
    one, other = element(), element(rows=2, widths=(1, 2, 1))
    packed = [packing_of(*trees).pack(trees[0]) for trees in ((one, other), (other, one))]
    assert jax.tree.structure(packed[0]) == jax.tree.structure(packed[1])
    # What is wider in one of them is by itself, and two are too few to be packed.
    assert len(jax.tree.leaves(packed[0])) == 7
    for step, (tree, each) in enumerate(zip((one, other), packed, strict=True)):
        np.testing.assert_array_equal(of_step(each, 0)[1]["1"], tree[1]["1"].array[0], err_msg=str(step))
