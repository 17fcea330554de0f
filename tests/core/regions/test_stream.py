"""`next(iterator)` in compiled functions: what is taken, and when input runs out nothing is lost."""

import gc
import weakref

import jax
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import Stream
from stratax.core.regions._stream import CallPass, Pass, StreamSource
from stratax.data import Dataset
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


class Counting:
    """Numbers from 0 on: a stream without inheriting from one."""

    signature = "counting"

    def __init__(self, size):
        self.size = size
        self.position = 0

    def peek_runs(self, skip, count):
        if self.position + skip + count > self.size:
            raise errors.OutOfRangeError("no more")
        return [(jax.ShapeDtypeStruct((), np.dtype("int32")), count)]

    def peek_up_to(self, skip, count):
        left = max(0, min(count, self.size - self.position - skip))
        return self.peek_runs(skip, left) if left else []

    def peek_block(self, skip, count, capacity):
        self.peek_runs(skip, count)
        return np.arange(self.position + skip, self.position + skip + capacity, dtype="int32")

    def pass_over(self, count):
        self.position += count

    def take(self):
        self.peek_runs(0, 1)
        self.position += 1
        return np.int32(self.position - 1)

    take_block = Stream.take_block


class Inheriting(Counting, Stream):
    """The same, with what a stream has by itself."""


def test_what_has_a_streams_methods_is_a_stream():
    assert isinstance(Counting(1), Stream)
    assert not isinstance(iter([1]), Stream)
    assert not issubclass(type("Some", (), {"take": None, "pass_over": None}), Stream)
    assert not isinstance(Counting(1), Inheriting)
    assert isinstance(Dataset.range(1), StreamSource)
    assert not isinstance([1], StreamSource)


def test_outside_of_functions_a_stream_is_an_iterator_of_pythons():
    stream = Inheriting(2)
    assert iter(stream) is stream
    assert [int(element) for element in stream] == [0, 1]
    with pytest.raises(StopIteration):
        next(stream)


def test_a_block_that_is_taken_is_what_was_shown_of_it():
    stream = Inheriting(10)
    stream.take()
    assert stream.peek_block(1, 2, 4).tolist() == [2, 3, 4, 5]
    assert stream.take_block(2, 4).tolist() == [1, 2, 3, 4]
    assert int(next(stream)) == 3


def test_an_optional_element_says_whether_it_is_there():
    stream = Inheriting(1)
    first, second = stream.get_next_as_optional(), stream.get_next_as_optional()
    assert (first.has_value(), int(first.get_value())) == (True, 0)
    assert not second.has_value()
    with pytest.raises(errors.BadArgumentError, match=r"has no value.*Ask has_value\(\) first"):
        second.get_value()
    present, value = jax.tree.leaves(first)
    assert jax.tree.unflatten(jax.tree.structure(first), [present, value]).get_value() is value


def test_an_optional_element_of_a_function_is_an_array_and_zeros_where_there_is_none():
    stream = Inheriting(3)

    @sx.function
    def take(stream):
        optional = stream.get_next_as_optional()
        return optional.has_value(), optional.get_value() * optional.has_value()

    found = [take(stream) for _ in range(4)]
    assert [(bool(present), int(value)) for present, value in found] == [(1, 0), (1, 1), (1, 2), (0, 0)]


class Source:
    """What can be gone through again and again, and counts how often it was."""

    stream_signature = "source"

    def __init__(self):
        self.opened = []

    def __iter__(self):
        self.opened.append(Closing(3))
        return self.opened[-1]


class Closing(Inheriting):
    closed = False

    def close(self):
        self.closed = True


def test_the_first_run_goes_on_with_the_pass_that_was_begun_to_look_and_the_next_begins_another():
    source = Source()
    made = Pass(source)
    assert made.peek_runs(0, 2)[0][1] == 2
    assert made.peek_up_to(0, 5)[0][1] == 3
    assert len(source.opened) == 1
    assert made.begin(source) is source.opened[0]
    assert made.begin(source) is source.opened[1]
    made.close()
    assert not source.opened[0].closed
    assert repr(made).startswith("<a pass over <")


def test_a_pass_that_no_run_has_gone_on_with_is_ended():
    source = Source()
    made = Pass(source)
    made.open()
    made.close()
    made.close()
    assert [opened.closed for opened in source.opened] == [True]


def test_an_iterator_that_a_function_made_is_of_no_use_outside():
    made = CallPass(Source())
    assert iter(made) is made
    for call in (lambda: next(made), made.get_next, made.get_next_as_optional):
        with pytest.raises(errors.TracingError, match="that a compiled function made is used outside of it"):
            call()
