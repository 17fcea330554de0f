"""Sizes of the blank examples: each that is not known has two of its own."""

import itertools

import jax
import numpy as np
import pytest
from jax import export

from stratax.errors import BadTypeError
from stratax.tensorflow.exports.host import HostArguments, HostRecorder

BATCH = "batch"


def _sizes(prefix=""):
    return HostRecorder(HostArguments(None, None, None), prefix=prefix).sizes


def _blanks(first, second):
    return np.zeros(first), np.zeros(second)


def test_sizes_that_agree_are_known_and_the_batch_is_known_by_its_own():
    sizes = _sizes()
    assert sizes.dims_of("v", _blanks((5, 3), (7, 3))) == (BATCH, 3)
    assert sizes.pair_of(BATCH) == (5, 7)
    assert sizes.pair_of(3) == (3, 3)


def test_a_size_that_is_not_known_has_one_name_and_one_pair():
    sizes = _sizes()
    pair = sizes.new()
    dims = sizes.dims_of("v", _blanks((pair[0],), (pair[1],)))
    assert dims == sizes.dims_of("w", _blanks((pair[0],), (pair[1],)))
    assert sizes.pair_of(dims[0]) == pair
    assert sizes.pair_of("another") not in (pair, sizes.new())


def test_sums_and_ratios_of_sizes_differ_in_both_examples():
    sizes = _sizes()
    pairs = [sizes.new() for _ in range(20)]
    for which in (0, 1):
        own = [pair[which] for pair in pairs]
        assert len(set(own)) == len(own)
    ratios = {(a[0] * b[1] == a[1] * b[0]) for a, b in itertools.pairwise(pairs)}
    assert ratios == {False}


def test_rows_share_sizes_and_name_new_ones_by_themselves():
    sizes = _sizes("p/")
    inner = sizes.of_rows("p/1/")
    pair = inner.new()
    assert inner.dims_of("v", _blanks((pair[0],), (pair[1],))) == ("p/1/d1",)
    assert sizes.dims_of("v", _blanks((pair[0],), (pair[1],))) == ("p/1/d1",)
    assert sizes.new() != pair


def test_another_number_of_dimensions_is_refused():
    with pytest.raises(BadTypeError, match=r"number of dimensions .* not known"):
        _sizes().dims_of("v", _blanks((2,), (2, 2)))


def test_symbols_of_the_program_have_sizes_in_both_examples():
    sizes = _sizes()
    (batch,) = export.symbolic_shape("batch,")
    assert (int(sizes.size(batch + 1, 0)), int(sizes.size(batch + 1, 1))) == (6, 8)
    value = jax.ShapeDtypeStruct((batch, 2), np.float32)
    assert [sizes.array(value, which).shape for which in (0, 1)] == [(5, 2), (7, 2)]
