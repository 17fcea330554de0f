"""A loop over a dataset in a compiled function is one compiled loop that takes its input anew in every call.

Numbers without a comment are what TensorFlow 2.21 gives for the same lines.
"""

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.core.control import _driven
from stratax.distribute import MirroredStrategy, OneDeviceStrategy

EIGHT = sx.Dataset.from_tensor_slices(np.arange(8, dtype="float32"))
FIVE = sx.Dataset.from_tensor_slices(np.arange(10, 15, dtype="float32"))
RAGGED = sx.Dataset.from_tensor_slices(np.arange(7, dtype="float32")).batch(2)


def numbers(value):
    return [numbers(v) for v in value] if isinstance(value, (tuple, list)) else np.asarray(value).tolist()


@pytest.mark.parametrize("passed", [True, False], ids=["passed", "closed over"])
def test_a_loop_over_batches_of_two_shapes(passed):
    traces = []

    @sx.function
    def total(dataset=RAGGED):
        result = 0.0
        for batch in dataset:
            traces.append(batch.shape)
            result = result * 10 + batch.sum()
        return result

    values = [total(RAGGED) if passed else total() for _ in range(3)]
    assert numbers(values) == [1596, 1596, 1596]
    assert traces == [(2,), (1,)]
    assert total.num_programs == 1


def test_a_function_serves_other_datasets_of_the_same_elements():
    @sx.function
    def total(dataset):
        result = 0.0
        for element in dataset:
            result = result * 10 + element
        return result

    assert numbers([total(EIGHT.take(3)), total(FIVE.take(2)), total(dataset=EIGHT.skip(6))]) == [12, 111, 67]
    assert total.num_programs == 1


def test_a_generator_runs_in_every_call():
    calls = [0]

    def generator():
        calls[0] += 1
        for i in range(4):
            yield np.float32(100 * calls[0] + i)

    dataset = sx.Dataset.from_generator(generator, output_signature=tf.TensorSpec((), tf.float32))

    @sx.function
    def total():
        result = 0.0
        for element in dataset:
            result += element
        return result

    assert numbers([total(), total(), total()]) == [406, 806, 1206]


def test_every_call_is_a_pass_with_an_order_of_its_own():
    def shuffled():
        return sx.Dataset.range(50).shuffle(50, seed=1).batch(50)

    dataset = shuffled()

    @sx.function
    def last():
        result = np.zeros(50, "int32")
        for batch in dataset:
            result = batch
        for batch in dataset:
            result = result * 100 + batch
        return result

    again = shuffled()
    orders = [next(iter(again)) for _ in range(4)]
    assert numbers([last(), last()]) == numbers([orders[0] * 100 + orders[1], orders[2] * 100 + orders[3]])


def test_enumerate_and_zip():
    @sx.function
    def counted():
        result = 0.0
        for i, batch in enumerate(RAGGED):
            result += i * batch.sum()
        for i, batch in RAGGED.enumerate():
            result += i * batch.sum()
        for i, batch in enumerate(RAGGED, 5):
            result += i * batch.sum()
        return result

    @sx.function
    def zipped():
        result = 0.0
        for a, b in zip(EIGHT, FIVE, strict=False):
            result += a * b
        for i, (a, b) in enumerate(zip(FIVE, EIGHT, strict=False)):
            result += 0 * i + a * b
        return result

    assert numbers([counted(), counted(), zipped(), zipped()]) == [228, 228, 260, 260]
    with pytest.raises(errors.TracingError, match=r"(?s)`zip`.*nothing else among them.*range"):
        sx.function(lambda: [0 for _ in zip(EIGHT, range(3), strict=False)])()


def test_break_continue_and_return():
    @sx.function
    def until(limit):
        result, count = 0.0, 0
        for element in EIGHT:
            if result > limit:
                break
            result += element
            count += 1
        return result, count

    @sx.function
    def odd():
        result = 0.0
        for element in EIGHT:
            if element % 2 == 0:
                continue
            result += element
        return result

    @sx.function
    def first_above(x):
        for element in EIGHT:
            if element > x:
                return element * 10
        return tf.constant(-1.0)

    assert numbers([until(np.float32(x)) for x in (5, 100, -1)]) == [[6, 4], [28, 8], [0, 0]]
    assert numbers(odd()) == 16
    # TensorFlow refuses to return from a loop.
    assert numbers([first_above(np.float32(3)), first_above(np.float32(30))]) == [40, -1]


def test_loops_in_loops_and_in_conditions():
    @sx.function
    def nested():
        result = 0.0
        for scale in tf.range(3):
            for b in FIVE:
                result += b * (scale + 1)
        for a in EIGHT:
            for b in FIVE:
                result += a * b
        return result

    @sx.function
    def conditional(x):
        result = x
        if x > 0:
            for b in FIVE:
                result += b
        else:
            result = result - 1
        return result

    assert numbers([nested(), nested()]) == [2040, 2040]
    assert numbers([conditional(np.float32(x)) for x in (1, -1, 2)]) == [61, -2, 62]


def test_a_loop_over_an_iterator_goes_on_where_it_stands_and_leaves_it_behind_the_last_element():
    @sx.function
    def up_to_two(iterator):
        result = 0.0
        for x in iterator:
            result = result * 10 + x
            if x >= 2:
                break
        return result

    @sx.function
    def rest(iterator):
        result = 0.0
        for x in iterator:
            result = result * 10 + x
        return result

    iterator = iter(EIGHT)
    assert numbers([up_to_two(iterator), next(iterator), rest(iterator), rest(iterator)]) == [12, 3, 4567, 0]

    @sx.function
    def pairs(iterator):
        result = 0.0
        for a, b in zip(iterator, iterator, strict=False):
            result = result * 100 + a * 10 + b
        return result

    # Of five elements the last has no partner; Python's meaning.
    assert numbers(pairs(iter(FIVE))) == 11233.0


def test_lengths_that_nobody_knows_and_datasets_without_elements():
    @sx.function
    def total(dataset):
        result = 0.0
        for element in dataset:
            result = result * 10 + element
        return result

    some, none = EIGHT.filter(lambda x: x > 3), EIGHT.filter(lambda x: x > 30)
    assert numbers([total(some), total(none), total(EIGHT.take(0)), total(some)]) == [4567, 0, 0, 4567]
    assert numbers(sx.function(total.python_function)(none)) == 0


def test_elements_of_many_shapes_are_learnt_on_the_way():
    lengths = sx.Dataset.range(1, 6).map(lambda n: np.arange(n)).padded_batch(2).take(3)

    @sx.function
    def total(dataset, scale):
        result = 0
        doubled = 2 * scale
        for batch in dataset:
            result = result * 100 + batch.sum() * doubled
        return result

    # 10910 in TensorFlow, without the factor.
    assert numbers([total(lengths, np.int32(1)), total(lengths, np.int32(2))]) == [21820, 43640]


def test_optional_elements():
    @sx.function
    def all_of(iterator):
        result = 0.0
        element = iterator.get_next_as_optional()
        while element.has_value():
            result = result * 10 + element.get_value()
            element = iterator.get_next_as_optional()
        return result

    @sx.function
    def three(iterator):
        result = 0.0
        for _ in tf.range(3):
            element = iterator.get_next_as_optional()
            if not element.has_value():
                break
            result = result * 10 + element.get_value()
        return result

    iterator = iter(EIGHT)
    assert numbers([all_of(iter(EIGHT)), all_of(iter(FIVE))]) == [1234567, 112344]
    assert numbers([three(iterator) for _ in range(4)]) == [12, 345, 67, 0]
    empty = iterator.get_next_as_optional()
    assert not empty.has_value()
    with pytest.raises(errors.BadArgumentError, match="no value"):
        empty.get_value()
    assert float(iter(FIVE).get_next_as_optional().get_value()) == 10


def test_reduce_an_iterator_made_inside_and_a_dataset_made_inside():
    @sx.function
    def reduced(dataset):
        return dataset.reduce(1.0, lambda state, x: state * 2 + x)

    @sx.function
    def two():
        iterator = iter(EIGHT)
        return next(iterator), next(iterator)

    @sx.function
    def inside():
        result = 0.0
        for batch in sx.Dataset.from_tensor_slices(np.arange(5, dtype="float32")).batch(2):
            result += batch.sum()
        return result

    assert numbers([reduced(EIGHT), reduced(FIVE)]) == [503, 368]
    assert numbers([two(), two()]) == [[0, 1], [0, 1]]
    assert numbers([inside(), inside()]) == [10, 10]


def test_what_python_would_do_once_is_refused():
    for use in (list, lambda ds: [x + 1 for x in ds], lambda ds: dict(enumerate(list(ds)))):
        with pytest.raises(errors.TracingError, match=r"(?s)Python's way.*Dataset"):
            sx.function(use)(EIGHT)

    def total(dataset):
        result = 0.0
        for element in dataset:
            result += element
        return result

    for unconverted in (sx.function(total, autograph=False), sx.function(sx.do_not_convert(total))):
        with pytest.raises(errors.TracingError, match=r"(?s)Python's way.*autograph=True"):
            unconverted(EIGHT)


def test_what_a_window_would_mix_up_is_refused():
    iterator = iter(EIGHT)

    @sx.function
    def mixed():
        result = 0.0
        for _ in sx.range(2):
            result += next(iterator)
            for x in iterator:
                result += x
        return result

    with pytest.raises(errors.TracingError, match="so does a loop inside of it"):
        mixed()

    v = sx.Variable(1.0)

    @sx.function
    def taped():
        with sx.GradientTape() as tape:
            loss = 0.0
            for x in EIGHT:
                loss += v * x
        return tape.gradient(loss, v)

    with pytest.raises(errors.TapeError, match="can't be differentiated: it runs window by window"):
        taped()


def test_two_shapes_that_the_result_depends_on_are_refused():
    @sx.function
    def last():
        batch = np.zeros(2, "float32")
        for part in RAGGED.take(3):
            batch = part + 0
        return batch

    assert numbers(last()) == [4, 5]

    @sx.function
    def unequal():
        for part in RAGGED:
            batch = part + 0
        return batch

    with pytest.raises(
        errors.TracingError, match=r"(?s)local variable 'batch' is used after a loop.*float32\[1\]"
    ):
        unequal()


def test_a_failing_element_keeps_what_was_computed_before_it():
    def fail(n):
        if int(n) == 70:
            raise ValueError("element seventy")
        return np.float32(n)

    v = sx.Variable(0.0)
    dataset = sx.Dataset.range(100).map(fail)

    @sx.function
    def train():
        for element in dataset:
            v.assign_add(element)

    for calls in (1, 2):
        with pytest.raises(ValueError, match="element seventy"):
            train()
        assert float(v.value) == calls * 69 * 70 / 2


X = np.random.default_rng(3).normal(size=(20, 3)).astype("float32")


def train(strategy, how):
    """Two epochs of two batches of 8 and a remainder of 4: the weights, the metric, how often the step was traced."""
    with strategy.scope():
        w = sx.Variable(np.ones(3, "float32"))
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build([w])
        metric = keras.metrics.Mean()
    traces = []

    def replica_step(x):
        traces.append(x.shape)
        loss = lambda: sx.distribute.compute_average_loss((x @ w.value - 1) ** 2)  # noqa: E731
        value, gradients = sx.value_and_grad(loss, [w])()
        optimizer.apply_gradients(zip(gradients, [w], strict=True))
        metric.update_state((x @ w.value - 1) ** 2)
        return value

    dataset = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X).batch(8))

    @sx.function
    def epoch(dataset):
        total, steps = 0.0, 0
        for batch in dataset:
            total += strategy.reduce("sum", strategy.run(replica_step, args=(batch,)), axis=None)
            steps += 1
        return total / steps

    @sx.function
    def step(batch):
        return strategy.reduce("sum", strategy.run(replica_step, args=(batch,)), axis=None)

    for _ in range(2):
        loss = epoch(dataset) if how == "loop" else np.mean([step(batch) for batch in dataset])
    return w.numpy(), float(metric.result()), float(loss), len(traces)


@pytest.fixture(scope="module")
def expected():
    return train(OneDeviceStrategy("/cpu:0"), "steps")


@pytest.mark.parametrize("count", [1, 2, 8])
def test_epochs_over_a_distributed_dataset_are_single_steps(count, expected):
    strategy = MirroredStrategy([f"/cpu:{i}" for i in range(count)])
    w, metric, loss, traces = train(strategy, "loop")
    np.testing.assert_allclose(w, expected[0], atol=2e-6)
    assert (metric, loss) == (pytest.approx(expected[1], rel=1e-5), pytest.approx(expected[2], rel=1e-5))
    # Of two structures, not of three batches; replicas' functions in loops are traced twice.
    assert traces <= 4


def test_windows_of_a_dataset_are_bounded(monkeypatch):
    monkeypatch.setattr(_driven, "WINDOW_STEPS", 8)
    counts = []
    original = sx.data.DatasetIterator.peek_block
    monkeypatch.setattr(
        sx.data.DatasetIterator,
        "peek_block",
        lambda self, skip, count, capacity: counts.append(capacity) or original(self, skip, count, capacity),
    )

    @sx.function
    def total(dataset):
        result = 0.0
        for element in dataset:
            result += element
        return result

    assert float(total(sx.Dataset.range(1000, output_type=np.float32))) == 499500
    assert max(counts) == 8


def test_optionals_of_several_shapes_say_how_to_go_through_them():
    @tf.function
    def run(iterator):
        total = 0
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            total += tf.reduce_sum(optional.get_value())
            optional = iterator.get_next_as_optional()
        return total

    with pytest.raises(
        errors.TracingError, match="for element in iterator.*any shape, or .*drop_remainder=True"
    ):
        run(iter(tf.data.Dataset.range(7).batch(3)))
    assert int(run(iter(tf.data.Dataset.range(7).batch(3, drop_remainder=True)))) == 15


def test_values_that_a_list_takes_out_of_a_loop_are_refused():
    dataset = tf.data.Dataset.range(4).batch(2)

    @tf.function
    def returned():
        found = []
        for batch in dataset:
            found.append(batch)
        return found

    @tf.function
    def used_in_an_outer_loop():
        found, total = [], 0
        for _ in tf.range(2):
            for batch in dataset:
                found.append(batch)
            total += tf.reduce_sum(found[0])
        return total

    for function in (returned, used_in_an_outer_loop):
        with pytest.raises(errors.TracingError, match="a list that a loop appends to"):
            function()


def test_next_in_a_branch_says_so():
    @tf.function
    def run(iterator, condition):
        if condition > 0:
            result = next(iterator)
        else:
            result = tf.constant([1, 2])
        return result

    with pytest.raises(errors.TracingError, match="in one branch of an `if` on an array.*before the `if`"):
        run(iter(tf.data.Dataset.range(4).batch(2)), np.float32(1))


def test_a_tape_around_a_loop_says_where_it_belongs():
    variable = tf.Variable(2.0)
    dataset = tf.data.Dataset.range(4).batch(2)

    @tf.function
    def run():
        total = 0.0
        with tf.GradientTape() as tape:
            for batch in dataset:
                total += variable * tf.cast(tf.reduce_sum(batch), tf.float32)
        return tape.gradient(total, variable)

    with pytest.raises(
        errors.TapeError, match="^A loop over a dataset.*with the tape or `value_and_grad` in its body"
    ):
        run()
