"""`next(iterator)` in compiled functions: what is taken, and when input runs out nothing is lost."""

import gc
import weakref

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import get_strategy


def iterator(elements):
    return iter(get_strategy().experimental_distribute_dataset(elements))


def rows(*shapes):
    """Arrays of 0, 1, 2, ... of these lengths."""
    return [np.full(n, index, "float32") for index, n in enumerate(shapes)]


@sx.function
def pair(stream):
    first, second = next(stream), next(stream)
    return first.sum() + 100 * second.sum()


def test_every_call_takes_the_next_elements():
    stream = iterator(rows(1, 1, 1, 1))
    before = pair.num_programs
    assert [float(pair(stream)) for _ in range(2)] == [100, 302]
    assert pair.num_programs == before + 1


def test_a_program_serves_other_iterators_of_the_same_elements():
    @sx.function
    def total(stream):
        return next(stream).sum()

    for _ in range(3):
        assert float(total(iterator(rows(2)))) == 0
    assert total.num_programs == 1


def test_running_out_loses_nothing_and_is_a_stop_iteration():
    stream = iterator(rows(1, 1, 1))
    pair(stream)
    for _ in range(2):
        with pytest.raises(sx.OutOfRangeError, match="(?s)ran out: 2 more.* 1 are left"):
            pair(stream)
    assert next(stream).tolist() == [2]
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(StopIteration):
        pair(stream)


def test_running_out_on_the_first_call_leaves_variables_alone():
    v = sx.Variable(1.0)

    @sx.function
    def step(stream):
        v.assign_add(next(stream).sum() + next(stream).sum())

    stream = iterator(rows(3))
    with pytest.raises(sx.OutOfRangeError):
        step(stream)
    assert float(v.value) == 1
    step(iterator(rows(1, 2)))
    assert float(v.value) == 3


def test_other_shapes_get_a_program_of_their_own():
    @sx.function
    def total(stream):
        return next(stream).sum()

    stream = iterator(rows(4, 4, 3, 4, 3))
    assert [float(total(stream)) for _ in range(5)] == [0, 4, 6, 12, 12]
    assert total.num_programs == 2


def test_two_streams_are_taken_apart_and_may_change_places():
    @sx.function
    def both(left, right):
        return next(left).sum() - 10 * next(right).sum()

    a, b = iterator(rows(1, 1, 1)), iterator([np.full(1, 5, "float32"), np.full(1, 6, "float32")])
    assert float(both(a, b)) == -50
    assert float(both(b, a)) == 6 - 10
    assert both.num_programs == 1


def test_a_stream_in_a_closure_is_taken_from_too():
    stream = iterator(rows(1, 1, 1))
    step = sx.function(lambda: next(stream).sum())
    assert [float(step()) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StopIteration):
        step()


def test_a_program_does_not_keep_the_iterator_it_was_traced_with():
    @sx.function
    def total(stream):
        return next(stream).sum()

    stream = iterator(rows(1, 1))
    total(stream)
    reference = weakref.ref(stream)
    del stream
    gc.collect()
    assert reference() is None
    assert float(total(iterator(rows(1)))) == 0


def test_next_in_a_replica_says_where_it_belongs():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    stream = iter(strategy.experimental_distribute_dataset(rows(2, 2)))

    @sx.function
    def step(stream):
        return strategy.run(lambda: next(stream))

    with pytest.raises(errors.TracingError, match=r"(?s)outside of `strategy.run`.*args=\(element,\)"):
        step(stream)
    assert next(stream).values[0].tolist() == [0]


def test_a_loop_goes_through_a_whole_iterator():
    @sx.function
    def total(stream):
        result = 0.0
        for element in stream:
            result += element.sum()
        return result

    stream = iterator(rows(1, 1, 2, 1))
    next(stream)
    assert float(total(stream)) == 1 + 4 + 3
    with pytest.raises(StopIteration):
        next(stream)
