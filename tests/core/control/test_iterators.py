"""A compiled function takes the next elements of an iterator in every call, or refuses what it can't read anew."""

import itertools

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors


def batches():
    return iter(sx.Dataset.from_tensor_slices(np.arange(6, dtype="float32")).batch(2))


def test_next_takes_the_next_element_in_every_call():
    iterator = batches()

    @sx.function
    def f(iterator):
        return next(iterator)

    # What TensorFlow 2.21 prints for these lines.
    assert [f(iterator).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(sx.OutOfRangeError, match="0 are left"):
        f(iterator)
    assert f(batches()).tolist() == [0, 1]
    assert f.num_programs == 1


def test_an_iterator_in_a_closure_and_get_next_and_outside_of_functions_are_one_stream():
    iterator = batches()
    assert isinstance(iterator, tf.data.Iterator)
    f = sx.function(lambda: iterator.get_next())
    assert f().tolist() == [0, 1]
    assert next(iterator).tolist() == [2, 3]
    assert iterator.get_state()["position"] == 2
    assert f().tolist() == [4, 5]
    with pytest.raises(tf.errors.OutOfRangeError, match="no more elements"):
        iterator.get_next()


def test_a_loop_takes_an_element_in_every_iteration():
    iterator = iter(sx.Dataset.range(10, output_type=np.float32))

    @sx.function
    def total(iterator, n):
        result = 0.0
        for _ in tf.range(n):
            result = 10 * result + next(iterator)
        return result

    assert [float(total(iterator, 3)) for _ in range(3)] == [12, 345, 678]


def test_a_structure_a_stream_and_the_position_behind_it():
    def pipeline():
        return (
            sx.Dataset.range(20)
            .filter(lambda n: n % 2 == 0)
            .map(lambda n: {"n": n, "half": (n // 2, n * 0.5)})
        )

    @sx.function
    def two(iterator):
        first, second = next(iterator), next(iterator)
        return first["n"], second["half"][1]

    iterator = iter(pipeline())
    assert [tuple(map(float, two(iterator))) for _ in range(2)] == [(0, 1), (4, 3)]
    state = iterator.get_state()
    other = iter(pipeline())
    other.set_state(state)
    assert int(next(other)["n"]) == int(next(iterator)["n"]) == 8


def test_elements_that_fail_are_passed_over_once_and_lose_nothing():
    def fail_at_two(n):
        if int(n) == 2:
            raise ValueError("element two")
        return n

    iterator = iter(sx.Dataset.range(6).map(fail_at_two))

    @sx.function
    def two(iterator):
        return next(iterator) + 10 * next(iterator)

    assert int(two(iterator)) == 10
    with pytest.raises(ValueError, match="element two"):
        two(iterator)
    assert int(two(iterator)) == 43
    assert iterator.get_state()["position"] == 5


def test_other_shapes_are_other_programs_and_running_out_loses_nothing():
    iterator = iter(sx.Dataset.range(5).batch(2))

    @sx.function
    def f(iterator):
        return next(iterator).sum()

    assert [int(f(iterator)) for _ in range(3)] == [1, 5, 4]
    assert f.num_programs == 2

    @sx.function
    def three(iterator):
        return next(iterator).sum() + next(iterator).sum() + next(iterator).sum() + next(iterator).sum()

    iterator = iter(sx.Dataset.range(5).batch(2))
    with pytest.raises(StopIteration):
        three(iterator)
    assert next(iterator).tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore:.*runs in Python")
def test_text_has_a_function_run_in_python():
    iterator = iter(sx.Dataset.from_tensor_slices({"x": np.ones(2), "name": np.array(["a", "b"])}))
    take = sx.function(lambda: next(iterator))
    assert [bytes(take()["name"]) for _ in range(2)] == [b"a", b"b"]


def numbers():
    yield from (1.0, 2.0, 3.0)


class Holder:
    def __init__(self, iterator):
        self.iterator = iterator


@pytest.mark.parametrize(
    "use",
    [
        lambda it: next(it),
        lambda it: sum(it),
        lambda it: list(zip(it, range(2), strict=False)),
        lambda it: it.__next__(),
        lambda it: next(itertools.islice(it, 1)),
    ],
    ids=["next", "sum", "zip", "method", "islice"],
)
def test_a_generator_from_outside_is_refused(use):
    holder = Holder(numbers())

    @sx.function
    def f():
        return use(holder.iterator)

    with pytest.raises(errors.TracingError, match=r"(?s)iterator of Python's.*as an argument.*generator"):
        f()
    assert next(holder.iterator) == 1.0


def test_a_loop_over_a_generator_and_a_file_from_outside_are_refused(tmp_path):
    generator = numbers()

    @sx.function
    def total(values):
        result = 0.0
        for value in values:
            result += float(value)
        return result

    with pytest.raises(errors.TracingError, match=r"(?s)every call would see the same"):
        total(generator)
    path = tmp_path / "numbers"
    path.write_text("1\n2\n")
    with (
        path.open() as file,
        pytest.raises(errors.TracingError, match=r"(?s)every call would see the same.*IO"),
    ):
        total(file)
    assert float(total([1.0, 2.0])) == 3.0


def test_a_generator_is_refused_where_control_flow_is_not_converted():
    generator = numbers()
    with pytest.raises(errors.TracingError, match="every call would see the same"):
        sx.function(lambda: next(generator), autograph=False)()
    with pytest.raises(errors.TracingError, match="every call would see the same"):
        sx.function(lambda it: next(it), autograph=False)(generator)


def test_iterators_that_the_function_makes_itself_are_pythons():
    @sx.function
    def f(x):
        own = iter([x, 2 * x])
        total = next(own) + next(value for value in (x, x) if True)
        for index, value in enumerate(numbers()):
            total += index * value
        return total + sum(numbers())

    assert float(f(np.float32(1))) == 16


def test_pythons_ways_through_an_iterator_say_what_to_do():
    iterator = batches()
    for use in (list, lambda it: [x + 1 for x in it], lambda it: list(zip(it, it, strict=True))):
        with pytest.raises(errors.TracingError, match=r"(?s)Python's way.*next\(iterator\)"):
            sx.function(use)(iterator)
    assert next(iterator).tolist() == [0, 1]
