"""What loops that the host drives refuse, and how they say it."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors

# One element of another shape far behind the first window, of which a trace knows nothing.
BATCHES = sx.Dataset.from_tensor_slices(np.arange(401, dtype="float32")).batch(2)
N = 201


def test_an_element_that_needs_a_value_which_was_not_kept():
    @sx.function
    def total(iterator, x):
        result, extra = 0.0, x * 3 + 1
        for _ in sx.range(N):
            batch = next(iterator)
            result += batch.sum() + (extra if batch.shape[0] == 1 else 0)
        return result

    with pytest.raises(errors.TracingError, match=r"(?s)needs a value from before the loop.*drop_remainder"):
        total(iter(BATCHES), np.float32(1))


def test_an_element_that_changes_what_the_loop_writes():
    v, w = sx.Variable(0.0), sx.Variable(0.0)

    @sx.function
    def total(iterator):
        for _ in sx.range(N):
            batch = next(iterator)
            (w if batch.shape[0] == 1 else v).assign_add(batch.sum())

    with pytest.raises(errors.TracingError, match=r"(?s)variables that it writes differ with them"):
        total(iter(BATCHES))
    assert (float(v.value), float(w.value)) == (sum(range(400)), 0)


def test_a_function_whose_trace_is_never_the_same():
    traces = []

    @sx.function
    def total(iterator, x):
        traces.append(1)
        for _ in traces:
            x = x * 2
        scale, result = keras.ops.sum(x) if len(traces) > 1 else x, 0.0
        for _ in sx.range(N):
            result += next(iterator).sum() * scale
        return result

    with pytest.raises(errors.TracingError, match=r"(?s)came to a loop in another way than before"):
        total(iter(BATCHES), np.float32(1))


def test_shapes_that_vary_again_and_again_are_warned_of():
    @sx.function
    def total(dataset):
        result = 0
        for _ in sx.range(1):
            for batch in dataset:
                result += batch.sum()
        return result

    lengths = sx.Dataset.range(1, 8).map(lambda n: np.arange(n))
    expected = sum(n * (n - 1) // 2 for n in range(1, 8))
    with pytest.warns(RuntimeWarning, match="traced for 7 shapes of its elements"):
        assert int(total(lengths)) == expected

    @sx.function
    def one_by_one(iterator):
        result = 0
        for _ in sx.range(70):
            result += next(iterator).sum()
        return result

    with pytest.warns(RuntimeWarning, match="traced 5 times.*elements that a loop takes from a dataset vary"):
        assert int(one_by_one(iter(lengths.repeat()))) == 10 * expected


def test_a_loop_in_a_loop_learns_shapes_for_the_elements_around_it():
    outer = sx.Dataset.from_tensor_slices(np.arange(401, dtype="float32")).batch(2).repeat()
    inner = sx.Dataset.from_tensor_slices(np.arange(7, dtype="float32"))

    @sx.function
    def total(iterator):
        result = 0.0
        for _ in sx.range(202):
            batch = next(iterator)
            # A number that the trace knows of the elements around the inner loop.
            scale = batch.shape[0]
            for x in inner.batch(2):
                result += x.sum() * scale + 0 * batch[0]
            for x in inner.batch(3):
                result += x.sum()
        return result

    assert float(total(iter(outer))) == 201 * 2 * 21 + 21 + 202 * 21


def test_an_iteration_that_finds_only_a_part_of_what_it_takes():
    @sx.function
    def total(iterator):
        result = 0.0
        for _ in sx.range(100):
            result += next(iterator) - next(iterator)
        return result

    with pytest.raises(
        errors.OutOfRangeError, match="after 2 iterations: the next one takes 2 elements.*1 are left"
    ):
        total(iter(sx.Dataset.range(5, output_type=np.float32)))


def test_what_comes_after_a_loop_has_the_shape_of_the_trace():
    @sx.function
    def after(iterator):
        for batch in iterator:
            if batch[0] >= 2:
                break
        return next(iterator)

    def upto(count):
        return iter(sx.Dataset.range(count, output_type=np.float32).batch(2))

    assert after(upto(8)).tolist() == [4, 5]
    with pytest.raises(errors.TracingError, match="gives here differs in shape"):
        after(upto(5))


def test_next_and_optional_elements_in_one_loop():
    @sx.function
    def mixed(iterator):
        result = 0.0
        for _ in sx.range(3):
            result += next(iterator) + iterator.get_next_as_optional().get_value()
        return result

    with pytest.raises(errors.TracingError, match="both next"):
        mixed(iter(sx.Dataset.range(9, output_type=np.float32)))


def test_an_iterator_that_is_made_in_a_loop_or_used_outside():
    dataset, kept = sx.Dataset.range(3), []

    @sx.function
    def in_a_loop():
        result = 0
        for _ in sx.range(2):
            result += next(iter(dataset))
        return result

    with pytest.raises(errors.TracingError, match=r"(?s)`iter\(dataset\)` was called in a loop"):
        in_a_loop()

    @sx.function
    def keep():
        kept.append(iter(dataset))
        return next(kept[-1])

    assert int(keep()) == 0
    with pytest.raises(errors.TracingError, match="used outside of it"):
        next(kept[0])


def test_a_dataset_without_elements_that_does_not_say_what_they_are():
    spec = sx.data.TensorSpec(None, np.float32)
    dataset = sx.Dataset.from_generator(lambda: iter(()), output_signature=spec)

    @sx.function
    def total():
        result = 0.0
        for element in dataset:
            result += element.sum()
        return result

    with pytest.raises(errors.TracingError, match="has none and does not say what they look like"):
        total()


def test_a_loop_over_a_dataset_in_a_replica():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    dataset = sx.Dataset.range(3)

    def replica_fn():
        result = 0
        for element in dataset:
            result += element
        return result

    with pytest.raises(
        errors.TracingError, match=r"(?s)outside of `strategy.run`.*a pass over <RangeDataset"
    ):
        sx.function(lambda: strategy.run(replica_fn))()


def test_a_dataset_of_another_library():
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return np.ones(2, "float32")

    data = Batches()

    @sx.function
    def total():
        result = 0.0
        for batch in data:
            result += batch.sum()
        return result

    with pytest.raises(errors.TracingError, match="another library's dataset"):
        total()
