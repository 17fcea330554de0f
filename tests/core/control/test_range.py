import jax.numpy as jnp
import numpy as np
import pytest

from stratax import core, errors


def test_range_outside_of_compiled_functions_gives_plain_ints():
    assert list(core.range(4)) == [0, 1, 2, 3]
    assert list(core.range(2, 9, 3)) == [2, 5, 8]
    assert list(core.range(3, 0, -1)) == [3, 2, 1]
    assert all(type(i) is int for i in core.range(jnp.int32(2)))


def test_range_has_a_length_and_is_an_array():
    numbers = core.range(1, 8, 2)
    assert len(numbers) == 4
    np.testing.assert_array_equal(jnp.asarray(numbers), [1, 3, 5, 7])
    np.testing.assert_array_equal(np.asarray(numbers), [1, 3, 5, 7])
    assert jnp.asarray(numbers).dtype == jnp.int32
    assert jnp.asarray(core.range(3, dtype="uint8")).dtype == jnp.uint8
    assert "start=1, stop=8, delta=2" in repr(numbers)


@pytest.mark.parametrize("bounds", [(1.5,), (0, "3"), (0, 3, True), (0, np.float32(3))])
def test_bounds_have_to_be_whole_numbers(bounds):
    with pytest.raises(errors.BadTypeError, match="counts in whole numbers"):
        core.range(*bounds)


def test_the_dtype_has_to_be_an_integer_dtype():
    with pytest.raises(errors.BadTypeError, match="an integer dtype. Received: dtype='float32'"):
        core.range(3, dtype="float32")


def test_bounds_have_to_be_scalars():
    with pytest.raises(errors.BadArgumentError, match=r"stop of shape \(\).*shape=\(2,\)"):
        core.range(jnp.array([1, 2]))


def test_a_range_computes_as_an_array_does():
    numbers = core.range(1, 4)
    assert (numbers + 1).tolist() == [2, 3, 4]
    assert (10 - numbers).tolist() == [9, 8, 7]
    assert (numbers * core.range(3)).tolist() == [0, 2, 6]
    assert (numbers == 2).tolist() == [False, True, False]
    assert (-numbers)[1] == -2
    assert numbers.reshape(3, 1).shape == (3, 1)
    assert isinstance(numbers + np.ones(3, np.int64), np.ndarray)
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(numbers, "no_such_name")  # noqa: B009


def test_a_delta_of_zero_never_ends():
    with pytest.raises(errors.BadArgumentError, match="never end.*delta=0"):
        core.range(0, 3, 0)


def test_a_traced_range_in_a_comprehension_says_what_to_write():
    @core.function
    def squares(n):
        return [i * i for i in core.range(n)]

    assert [int(square) for square in squares(3)] == [0, 1, 4]
    with pytest.raises(errors.TracingError, match="as a statement.*not in a comprehension"):
        squares(jnp.int32(3))
