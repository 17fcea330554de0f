"""Functions that need what no program can, and so run in Python: datasets out of a dataset, or of what they compute.

The numbers are TensorFlow 2.21's, but for derivatives: there a loop over a dataset has none.
"""

import warnings

import numpy as np
import pytest

import stratax.tf as tf
from stratax.core import regions

Dataset = tf.data.Dataset
WARNING = "takes datasets or text out of a dataset.*Put what computes in a function of its own"


def windows(count=7, size=3):
    return Dataset.range(count).window(size)


def zero():
    return tf.constant(0, tf.int64)


@tf.function
def fold(dataset):
    total = zero()
    for window in dataset:
        for x in window:
            total = total * 2 + x
    return total


def test_a_loop_goes_through_windows_and_warns_once():
    @tf.function
    def products(dataset):
        total = zero()
        for window in dataset:
            product = tf.constant(1, tf.int64)
            for x in window:
                product = product * (x + 1)
            total = total * 10 + product
        return total

    with pytest.warns(UserWarning, match=WARNING):
        assert int(products(windows())) == 1807
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert int(products(windows())) == 1807
    assert products.num_programs == 0


@pytest.mark.filterwarnings(f"ignore:.*{WARNING}")
class TestWindows:
    def test_each_call_reads_its_own_dataset(self):
        assert [int(fold(each)) for each in (windows(), windows(4), windows(9, 2))] == [120, 11, 502]
        assert int(fold(windows(0))) == 0
        assert int(fold(windows(1, 1))) == 0
        shuffled = Dataset.range(10).shuffle(10).window(3)
        assert int(tf.function(lambda dataset: fold(dataset))(shuffled)) >= 0

    def test_they_are_made_and_used_in_the_function(self):
        @tf.function
        def compute(dataset):
            single, reduced, batched = zero(), zero(), zero()
            for window in dataset.window(3):
                single = single * 3 + tf.reduce_sum(window.batch(3).get_single_element())
                reduced = reduced * 3 + window.reduce(np.int64(0), lambda a, b: a + b)
                for batch in window.batch(2):
                    batched = batched * 2 + tf.reduce_sum(batch)
            return single, reduced, batched

        assert [int(each) for each in compute(Dataset.range(7))] == [69, 69, 76]

    def test_they_lie_beside_others_and_in_others(self):
        @tf.function
        def pairs(dataset):
            total = zero()
            for a, b in dataset:
                for x, y in Dataset.zip((a, b)):
                    total = total * 2 + x * y
            return total

        @tf.function
        def numbered(dataset):
            total = zero()
            for i, window in dataset.enumerate():
                for x in window:
                    total = total * 2 + x * i
            return total

        @tf.function
        def deep(dataset):
            total = zero()
            for outer in dataset:
                for window in outer:
                    for x in window:
                        total = total * 2 + x
            return total

        assert int(pairs(Dataset.from_tensor_slices((np.arange(5), np.arange(5) + 1)).window(2))) == 84
        assert int(numbered(windows())) == 62
        assert int(deep(windows(9, 2).window(2))) == 502

    def test_iterators_and_closures_give_them(self):
        @tf.function
        def take(iterator):
            total = zero()
            for x in next(iterator):
                total = total * 2 + x
            return total

        iterator = iter(windows())
        assert [int(take(iterator)) for _ in range(3)] == [4, 25, 6]
        with pytest.raises(tf.errors.OutOfRangeError):
            take(iterator)
        dataset = windows()
        assert int(tf.function(lambda: fold(dataset))()) == 120

    def test_functions_call_such_functions_and_compiled_ones(self):
        traces = []

        @tf.function
        def inner(window):
            traces.append(window)
            total = zero()
            for x in window:
                total = total * 2 + x
            return total

        @tf.function
        def outer(dataset):
            total = fold(dataset)
            for window in dataset:
                total = total * 3 + inner(window)
            return total

        assert int(outer(windows(6))) == (57 * 3 + 4) * 3 + 25
        assert inner.num_programs == 1
        assert len(traces) < 4

    def test_loops_end_early(self):
        @tf.function
        def until(dataset):
            total = zero()
            for window in dataset:
                for x in window:
                    if x == 5:
                        break
                    total = total * 2 + x
                if total > 20:
                    break
            return total

        assert int(until(windows())) == 4 * 4 + 3 * 2 + 4

    def test_variables_arrays_and_derivatives(self):
        variable = tf.Variable(0, dtype=tf.int64)
        weight = tf.Variable(2.0)

        @tf.function
        def assign(dataset):
            for window in dataset:
                variable.assign(variable * 2)
                for x in window:
                    variable.assign_add(x)

        @tf.function
        def write(dataset):
            array = tf.TensorArray(tf.int64, 0, dynamic_size=True)
            for i, window in enumerate(dataset):
                array = array.write(i, window.reduce(np.int64(0), lambda a, b: a + b))
            # Nothing is cleared, as in a graph.
            return array.read(0) + array.read(0), array.stack()

        @tf.function
        def differentiate(dataset):
            with tf.GradientTape() as tape:
                loss = 0.0
                for window in dataset:
                    for x in window:
                        loss += weight * weight * tf.cast(x, tf.float32)
            return loss, tape.gradient(loss, weight)

        assign(windows())
        assign(windows())
        assert int(variable) == 378
        first, sums = write(windows())
        assert (int(first), sums.numpy().tolist()) == (6, [3, 12, 6])
        assert [float(each) for each in differentiate(windows())] == [84, 84]

    def test_a_method_makes_its_variable_once(self):
        class Scale(tf.Module):
            def __init__(self):
                self.factor = None

            @tf.function
            def __call__(self, dataset):
                if self.factor is None:
                    self.factor = tf.Variable(3, dtype=tf.int64)
                return fold(dataset) * self.factor

        scale = Scale()
        assert [int(scale(windows())) for _ in range(2)] == [360, 360]
        assert len(scale.variables) == 1

    def test_text_lies_in_windows(self):
        @tf.function
        def join(dataset):
            text = tf.constant("")
            for window in dataset:
                for word in window:
                    text = tf.strings.join([text, word], ",")
            return text

        assert join(Dataset.from_tensor_slices(["a", "b", "c"]).window(2)).numpy() == b",a,b,c"


def test_what_is_traced_for_another_purpose_refuses_them():
    with pytest.raises(regions.PythonOnlyError, match=r"element is a Dataset\. Flatten windows:"):
        fold.jaxpr(windows())


def fold_rows(x):
    total = tf.constant(0.0)
    for row in Dataset.from_tensor_slices(x * 2.0).batch(2):
        total = total * 2.0 + tf.reduce_sum(row)
    return total


def sum_rows(x):
    return Dataset.from_tensor_slices(x).reduce(tf.constant(0.0), lambda a, b: a + b)


@pytest.mark.filterwarnings(f"ignore:.*{WARNING}")
class TestDatasetsOfWhatAFunctionComputes:
    def test_a_dataset_holds_the_values_of_each_call(self):
        fold_them = tf.function(fold_rows)
        assert float(fold_them(tf.constant([1.0, 2.0, 3.0]))) == 18.0
        assert float(fold_them(tf.constant([1.0, 2.0, 4.0]))) == 20.0
        assert (
            float(tf.function(lambda x: tf.function(sum_rows)(x * 2.0) + 1.0)(tf.constant([1.0, 2.0]))) == 7.0
        )
        declared = tf.function(sum_rows, input_signature=[tf.TensorSpec([None], tf.float32)])
        assert float(declared(tf.constant([1.0, 2.0]))) == 3.0

    @pytest.mark.parametrize(
        ("make", "elements"),
        [
            (Dataset.range, [0, 1, 2]),
            (lambda count: Dataset.range(7).batch(count).map(lambda x: x[0]), [0, 3, 6]),
            (lambda count: Dataset.range(9).skip(count).take(count), [3, 4, 5]),
            (lambda count: Dataset.range(1).repeat(count), [0, 0, 0]),
        ],
    )
    def test_a_number_that_a_function_is_given_counts(self, make, elements):
        @tf.function
        def fold(count):
            total = zero()
            for x in make(count):
                total = total * 10 + x
            return total

        assert int(fold(tf.constant(3, tf.int64))) == int("".join(map(str, elements)))
        assert int(fold(tf.constant(1, tf.int64))) in (0, 1, 123456)

    def test_conditions_variables_and_tapes_see_it(self):
        scale = tf.Variable(3.0)

        @tf.function
        def compute(x):
            for row in Dataset.from_tensor_slices(x):
                scale.assign_add(row)
            with tf.GradientTape() as tape:
                loss = Dataset.from_tensor_slices(x[:1] * 2.0).get_single_element() * scale
            if tf.reduce_sum(x) > 2.0:
                return tape.gradient(loss, scale), sum_rows(x)
            return tape.gradient(loss, scale), tf.constant(-1.0)

        assert [float(each) for each in compute(tf.constant([1.0, 2.0]))] == [2.0, 3.0]
        assert [float(each) for each in compute(tf.constant([1.0, 0.0]))] == [2.0, -1.0]
        assert float(scale) == 7.0

    def test_replicas_make_them(self):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        total = tf.function(lambda x: strategy.reduce("SUM", strategy.run(sum_rows, args=(x,)), axis=None))
        assert float(total(tf.constant([1.0, 2.0]))) == 6.0


@pytest.mark.filterwarnings(f"ignore:.*{WARNING}")
class TestText:
    def test_loops_and_iterators_give_it(self):
        words = Dataset.from_tensor_slices(["a", "bc", "d"])

        @tf.function
        def join(dataset):
            text, count = tf.constant(""), 0
            for number, word in dataset.enumerate():
                if number > 1:
                    break
                text, count = text + word, count + tf.strings.length(word)
            return text, count, dataset.reduce(tf.constant(""), lambda a, b: a + b)

        text, count, whole = join(words)
        assert (text.numpy(), int(count), whole.numpy()) == (b"abc", 3, b"abcd")
        iterator = iter(words)
        upper = tf.function(lambda: tf.strings.upper(next(iterator)))
        assert [upper().numpy() for _ in range(3)] == [b"A", b"BC", b"D"]

    def test_a_step_trains_with_the_numbers_beside_it(self):
        scale, optimizer = tf.Variable(1.0), tf.keras.optimizers.SGD(0.1)
        named = Dataset.from_tensor_slices({"name": ["a", "bc"], "x": [1.0, 2.0]}).batch(1)

        @tf.function
        def train(iterator):
            for _ in tf.range(2):
                element = next(iterator)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(scale * element["x"])
                optimizer.apply_gradients([(tape.gradient(loss, scale), scale)])
            return scale.read_value()

        assert float(train(iter(named))) == pytest.approx(0.7)
