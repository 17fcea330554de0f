"""`map`: functions see single elements, and are called for blocks only where nobody can tell."""

import functools
import itertools
import random
import threading
import time
from collections import Counter

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax.data import AUTOTUNE, Dataset, Options, TensorSpec
from stratax.data.vectorise import WithJAX, WithNumPy
from stratax.errors import BadArgumentError, BadTypeError, DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (50, 4, 3), dtype=np.uint8)
LABELS = np.arange(50)
PAIRS = Dataset.from_tensor_slices((IMAGES, LABELS))


def way_of(dataset):
    """How the outermost map calls its function: the class of the chosen way, or None for one by one."""
    mapper = dataset._node._mapper
    return type(mapper._candidates[0][0]) if mapper.is_vectorised else None


def one_by_one(function, *columns):
    return [function(*row) for row in zip(*columns, strict=True)]


def check_vectorised(function, way, columns=(IMAGES, LABELS), exactly=True):
    """The function is vectorised in this way and gives what it gives element by element, dtypes included."""
    source = Dataset.from_tensor_slices(columns if len(columns) > 1 else columns[0])
    dataset = source.map(function)
    expected = one_by_one(function, *[column.copy() for column in columns])
    for batches in (dataset.batch(20), source.map(function).shuffle(50, seed=1).batch(7), dataset):
        list(batches)
    assert way_of(dataset) is way
    for have, want in zip(dataset, expected, strict=True):
        for a, b in zip(jax.tree.leaves(have), jax.tree.leaves(want), strict=True):
            b = np.asarray(b)
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            if exactly:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x / 255.0, y),
        lambda x, y: x.astype(np.float32) * y,
        lambda x, y: (x[0], x[..., None], y + 1),
        lambda x, y: {"x": x[1:, ::-1].T, "y": -y},
        lambda x, y: np.where(x > 100, x, 0),
        lambda x, y: (np.clip(x, 10, 20), np.sqrt(y), np.flip(x, 0)),
        lambda x, y: x.reshape(2, -1) + np.arange(12, dtype=np.uint8).reshape(2, 6),
        lambda x, y: (x.transpose(1, 0), np.expand_dims(x, -1), np.transpose(x), np.ravel(x)),
        lambda x, y: (y, np.float32(1.5), (x > 3) & (x < 200)),
        lambda x, y: np.divmod(y, 7),
        functools.partial(lambda scale, x, y: (x * scale, y), np.float32(2)),
    ],
)
def test_numpy_functions_are_called_once_for_a_block(function):
    check_vectorised(function, WithNumPy)


def in_place(x, y):
    x = x.astype("float32")
    x /= 255.0
    before = y
    y += 1
    return x, before, y


def test_in_place_operations_do_what_they_do_to_one_element():
    check_vectorised(in_place, WithNumPy)


def test_in_place_operations_keep_to_one_component():
    def both(x, y):
        x = x.astype(np.float32)
        return x, x, y

    def halve(a, b, y):
        a /= 2
        return a, b, y

    dataset = PAIRS.map(both).map(halve).batch(25)
    for _ in range(2):
        a, b, _ = next(iter(dataset))
        np.testing.assert_array_equal(a, IMAGES[:25] / np.float32(2))
        np.testing.assert_array_equal(b, IMAGES[:25])


def test_an_in_place_operator_changes_nothing_that_another_name_stands_for():
    def change(x, y):
        first = x[0]
        x += 1
        return first, x

    for (first, changed), image in zip(PAIRS.map(change), IMAGES, strict=True):
        np.testing.assert_array_equal(first, image[0])
        np.testing.assert_array_equal(changed, image + np.uint8(1))


def test_a_view_that_sees_a_later_change_is_found_out():
    def change(x, y):
        first = x[0]
        np.add(x, 1, out=x)
        return first, x

    expected = one_by_one(change, IMAGES.copy(), LABELS)
    for have, want in zip(PAIRS.map(change), expected, strict=True):
        np.testing.assert_array_equal(have[0], want[0])


def test_in_place_operations_leave_the_source_alone():
    data = np.ones((10, 3), np.float32)

    def change(x):
        x *= 5
        return x

    assert np.stack(list(Dataset.from_tensor_slices(data).map(change))).max() == 5
    list(Dataset.from_tensor_slices(data).map(change).batch(4))
    assert data.max() == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (keras.ops.cast(x, "float32") / 255.0, y),
        lambda x, y: (jnp.asarray(x, jnp.float32) / 255.0, keras.ops.one_hot(y, 10)),
        lambda x, y: jnp.where(x > 100, jnp.float32(1), jax.nn.relu(jnp.float32(y) - 3)),
        lambda x, y: {"m": jnp.mean(jnp.asarray(x, jnp.float32), axis=0), "t": keras.ops.transpose(x)},
        lambda x, y: jnp.concatenate([jnp.ravel(x), jnp.ravel(x)[::2]]),
        lambda x, y: (jnp.clip(x, 3, 9), jnp.asarray(x, jnp.bfloat16), jnp.max(x), x),
        lambda x, y: keras.ops.tanh(keras.ops.cast(x, "float32") / 100) ** 2,
    ],
)
def test_functions_of_jax_and_keras_are_traced_and_run_with_numpy(function):
    check_vectorised(function, WithJAX, exactly=False)


def test_a_program_that_numpy_does_not_have_is_compiled():
    weights = np.ones((3, 2), np.float32)
    function = lambda x, y: jnp.dot(jnp.asarray(x, jnp.float32), weights)  # noqa: E731
    check_vectorised(function, WithJAX, exactly=False)


def test_labels_that_are_passed_through_keep_their_int64():
    dataset = PAIRS.map(lambda x, y: (keras.ops.cast(x, "float32"), y)).batch(10)
    assert dataset.element_spec[1] == TensorSpec((10,), np.int64)
    assert next(iter(dataset))[1].dtype == np.int64


def test_what_depends_on_values_is_called_one_by_one():
    dataset = Dataset.range(20).map(lambda x: x if x > 10 else -x)
    expected = [x if x > 10 else -x for x in range(20)]
    assert np.concatenate(list(dataset.batch(6))).tolist() == expected
    assert way_of(dataset) is None


RNG = np.random.default_rng(0)
SEEDS = keras.random.SeedGenerator(1)
COUNTER = itertools.count()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.rand(),
        lambda x: x + random.random(),
        lambda x: x + RNG.normal(),
        lambda x: x + keras.random.uniform((), seed=SEEDS),
        lambda x: x + next(COUNTER) * 1.5,
        lambda x: x + (random.random() < 0.001) + random.random(),
    ],
)
def test_random_state_is_read_for_every_element(function):
    dataset = Dataset.from_tensor_slices(np.zeros(40, np.float32)).map(lambda x: x).map(function)
    found = np.concatenate(list(dataset.batch(20)))
    assert way_of(dataset) is None
    assert len(set(found.tolist())) == 40
    again = np.concatenate(list(dataset.batch(20)))
    assert not np.array_equal(found, again)


def test_a_key_made_inside_gives_every_element_the_same_number_as_one_call_does():
    function = lambda x: x + jax.random.uniform(jax.random.key(3))  # noqa: E731
    dataset = Dataset.from_tensor_slices(np.zeros(4, np.float32)).map(function)
    assert np.concatenate(list(dataset.batch(4))).tolist() == [float(function(np.float32(0)))] * 4


def test_side_effects_happen_once_for_each_element_asked_for_in_that_order():
    seen = []
    dataset = Dataset.range(6).map(lambda x: seen.append(int(x)) or x).skip(1).take(4)
    list(dataset.repeat(2).batch(3))
    assert seen == [1, 2, 3, 4] * 2


def test_a_function_of_single_elements_is_not_called_ahead():
    seen = []
    iterator = iter(Dataset.range(6).map(lambda x: seen.append(int(x)) or x))
    next(iterator)
    assert seen == [0]


def test_a_dict_is_one_argument_and_may_be_changed():
    def normalize(element):
        element["image"] = element["image"] / 255.0
        return element

    dataset = Dataset.from_tensor_slices({"image": IMAGES, "label": LABELS}).map(normalize)
    batch = next(iter(dataset.batch(5)))
    np.testing.assert_array_equal(batch["image"], IMAGES[:5] / 255.0)
    np.testing.assert_array_equal(batch["label"], LABELS[:5])


def test_python_results_get_tensorflows_dtypes():
    spec = Dataset.range(3).map(lambda x: (1.5, 2, True, [1.0, 2.0])).element_spec
    assert [leaf.dtype.name for leaf in spec] == ["float32", "int32", "bool", "float32"]
    assert spec[3].shape == (2,)


def test_functions_over_batches_are_vectorised_over_blocks_of_batches():
    dataset = PAIRS.batch(10).map(lambda x, y: (x.astype(np.float32) / 255, y + 1))
    iterator = iter(dataset)
    iterator.next_block(1)
    (x, y), count = iterator.next_block(3)
    assert (count, x.shape, y.shape) == (3, (3, 10, 4, 3), (3, 10))
    np.testing.assert_array_equal(y, LABELS[10:40].reshape(3, 10) + 1)
    assert dataset.batch_size == 10


def test_large_blocks_are_computed_in_pieces_with_the_same_result(monkeypatch):
    dataset = PAIRS.map(lambda x, y: (x / 255.0, y + 1)).shuffle(50, seed=1, reshuffle_each_iteration=False)
    whole = next(iter(dataset.batch(50)))
    whole = next(iter(dataset.batch(50)))
    monkeypatch.setattr("stratax.data.ops.map._node._CACHE_BYTES", 1000)
    pieces = next(iter(dataset.batch(50)))
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)
    twice = next(iter(dataset.repeat().skip(30).batch(50)))
    np.testing.assert_array_equal(twice[1], np.concatenate([whole[1][30:], whole[1][:30]]))


def test_pipelines_of_numpy_functions_start_no_backend():
    import subprocess
    import sys

    code = (
        "import numpy as np\nfrom jax._src import xla_bridge\nfrom stratax.data import Dataset\n"
        "ds = Dataset.from_tensor_slices(np.ones((9, 2))).map(lambda x: x / 2).shuffle(9).batch(4).prefetch(1)\n"
        "ds = ds.map(lambda x: x if x.sum() > 0 else -x)\n"
        "assert len(list(ds)) == 3\nassert not xla_bridge.backends_are_initialized()\nprint('none')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "none\n", done.stderr


def test_jax_functions_run_on_the_cpu_and_stay_out_of_a_surrounding_trace():
    dataset = Dataset.range(4).map(lambda x: jnp.sin(jnp.float32(x)) if x >= 0 else jnp.float32(0))

    @jax.jit
    def traced():
        return jnp.stack([jnp.asarray(x) for x in dataset])

    np.testing.assert_allclose(traced(), np.sin(np.arange(4)), rtol=1e-6)


# Threads


def test_threads_keep_the_order_and_work_at_the_same_time():
    meeting = threading.Barrier(3)

    def wait(x):
        meeting.wait(timeout=20)
        return x * 2

    dataset = Dataset.range(24).map(wait, num_parallel_calls=3)
    assert np.concatenate(list(dataset.batch(12))).tolist() == list(range(0, 48, 2))
    assert [int(x) for x in dataset] == list(range(0, 48, 2))
    stream = Dataset.range(24).filter(lambda x: x >= 0).map(wait, num_parallel_calls=3)
    assert [int(x) for x in stream] == list(range(0, 48, 2))


def test_threads_end_with_the_iterator():
    before = set(threading.enumerate())
    slow = Dataset.range(1000).map(lambda x: time.sleep(0.001) or x, num_parallel_calls=2)
    for dataset in (slow.batch(8), slow, slow.filter(lambda x: x >= 0), slow.prefetch(4)):
        iterator = iter(dataset)
        next(iterator)
        assert set(threading.enumerate()) != before
        iterator.close()
        assert set(threading.enumerate()) <= before


def test_threads_end_when_a_forgotten_iterator_is_collected():
    before = set(threading.enumerate())
    dataset = Dataset.range(1000).map(lambda x: time.sleep(0) or x, num_parallel_calls=2).batch(4).prefetch(2)
    for batch in dataset:
        assert len(batch) == 4
        break
    deadline = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before


def test_num_parallel_calls_has_no_effect_on_vectorised_functions():
    dataset = PAIRS.map(lambda x, y: (x / 2, y), num_parallel_calls=AUTOTUNE)
    list(dataset.batch(5))
    assert way_of(dataset) is WithNumPy


@pytest.mark.parametrize("threads", [None, 2])
@pytest.mark.parametrize("streaming", [False, True])
def test_an_exception_comes_at_its_element_and_names_it(threads, streaming):
    def fail_on_seven(x):
        if x == 7:
            raise KeyError("seven")
        return x

    source = Dataset.range(20)
    if streaming:
        source = source.filter(lambda x: x >= 0)
    dataset = source.map(fail_on_seven, num_parallel_calls=threads)
    iterator = iter(dataset)
    assert [int(next(iterator)) for _ in range(7)] == list(range(7))
    with pytest.raises(KeyError, match="seven") as caught:
        next(iterator)
    assert any("fail_on_seven given to map failed on element 7" in note for note in caught.value.__notes__)
    with pytest.raises(KeyError, match="seven"):
        list(dataset.batch(5).prefetch(2))


def test_iteration_goes_on_behind_an_element_that_failed():
    dataset = Dataset.range(5).map(lambda x: 10 // (x - 2) if x != 2 else {}[2])
    iterator = iter(dataset)
    assert next(iterator) == -5
    next(iterator)
    with pytest.raises(KeyError):
        next(iterator)
    assert next(iterator) == 10


@pytest.mark.parametrize("failing", [0, 3, 31])
def test_threads_have_begun_all_before_the_first_failure(failing):
    begun = []

    def fail(x):
        begun.append(int(x))
        if x in (failing, 31):
            raise KeyError(int(x))
        time.sleep(0.002)
        return np.full(5000, x)

    iterator = iter(Dataset.range(1000).map(fail, num_parallel_calls=2).batch(32))
    with pytest.raises(KeyError, match=str(failing)):
        next(iterator)
    assert set(range(failing)) <= set(begun) <= set(range(32))
    iterator.close()


def test_closing_waits_only_for_elements_that_are_being_made():
    begun = threading.Semaphore(0)
    made = []

    def slow(x):
        if x >= 200:
            begun.release()
            time.sleep(0.1)
            made.append(int(x))
        return x

    iterator = iter(Dataset.range(1000).map(slow, num_parallel_calls=2).batch(200).prefetch(1))
    next(iterator)
    assert begun.acquire(timeout=20)
    iterator.close()
    assert len(made) <= 20


# Errors


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x < 3 else (x, x), "different structure.*Expected.*Received"),
        (lambda x: x if x < 3 else float(x), r"different dtype.*dtype=tf.int64.*dtype=tf.float32"),
        (lambda x: x if x < 3 else np.array([x]), r"different shape rank.*shape=\(\).*shape=\(1,\)"),
        (lambda x: {"a": x} if x < 3 else {"b": x}, "different structure.*'a'.*'b'"),
    ],
)
def test_a_function_that_changes_what_it_returns_is_refused_naming_both(function, message):
    with pytest.raises(DataError, match=message):
        list(Dataset.range(5).map(function))
    with pytest.raises(DataError, match=message):
        list(Dataset.range(5).filter(lambda x: x >= 0).map(function))


def test_sizes_may_differ_and_only_batch_minds():
    dataset = Dataset.range(1, 5).map(lambda x: np.zeros(int(x)))
    assert dataset.element_spec == TensorSpec((None,), np.float64)
    assert [x.shape for x in dataset] == [(1,), (2,), (3,), (4,)]
    with pytest.raises(DataError, match="Use padded_batch"):
        list(dataset.batch(2))
    anew = Dataset.range(1, 5).map(lambda x: np.zeros(int(x)))
    list(anew)
    assert anew.element_spec == TensorSpec((None,), np.float64)
    iterator = iter(dataset)
    assert iterator.next_block(3)[0].shape == (1, 1)
    assert iterator.next_block(3)[0].shape == (1, 2)


def test_a_function_with_the_wrong_number_of_arguments_is_refused_at_once():
    with pytest.raises(DataError, match=r"map_func can't be called.*2 argument\(s\)"):
        PAIRS.map(lambda x: x)


def test_a_result_that_is_no_array_is_refused():
    with pytest.raises(DataError, match="has to be an array"):
        list(Dataset.range(3).map(lambda x: object()))
    with pytest.raises(DataError, match="equally long"):
        list(Dataset.range(3).map(lambda x: (x, [[1, 2], [3]])))


def test_arguments_of_map_are_checked():
    with pytest.raises(BadTypeError, match="map_func has to be callable"):
        Dataset.range(3).map(5)
    with pytest.raises(BadTypeError, match="num_parallel_calls has to be an integer"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls="many")
    with pytest.raises(BadArgumentError, match="positive or AUTOTUNE"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls=0)


@pytest.mark.parametrize(
    "prepare", [lambda ds: ds, lambda ds: ds.filter(lambda x: True)], ids=["memory", "stream"]
)
@pytest.mark.parametrize("fails", [{0}, {9}, {0, 1, 9}])
def test_the_spec_is_found_though_some_elements_fail(prepare, fails):
    def function(x):
        if int(x) in fails:
            raise ValueError("broken")
        return np.zeros(3)

    dataset = prepare(Dataset.range(10)).map(function)
    assert dataset.element_spec == TensorSpec((3,), "float64")
    assert dataset.map(lambda x: x[:2]).ignore_errors().batch(2).element_spec.shape == (None, 2)
    assert len(list(dataset.ignore_errors())) == 10 - len(fails)
    nothing = prepare(Dataset.range(3)).map(lambda x: {}[int(x)])
    with pytest.raises(KeyError, match="0"):
        _ = nothing.element_spec


def test_the_spec_of_a_map_over_nothing_comes_from_zeros():
    empty = Dataset.from_tensor_slices(np.zeros((0, 3), np.float32))
    assert empty.map(lambda x: x if x.sum() > 1 else x * 2).element_spec == TensorSpec((3,), "float32")
    nothing = Dataset.from_generator(list, output_signature=TensorSpec(None, "float32"))
    with pytest.raises(DataError, match="element_spec of a map over an empty Dataset"):
        _ = nothing.map(lambda x: x).element_spec


def test_threads_make_no_more_batches_ahead_than_they_can_use():
    made = []

    def function(i):
        made.append(int(i))
        return i

    next(iter(Dataset.range(10_000).map(function, num_parallel_calls=4).batch(32)))
    # One batch, and what tells the spec.
    assert len(made) <= 32 + 2


@pytest.mark.parametrize(("limit", "a", "b"), [(None, 2, 5), (4, 2, 2), (1, 1, 1)])
def test_every_map_has_as_many_threads_as_it_asks_for_within_the_limit(limit, a, b):
    expected = {"a": a, "b": b}
    most, running, changed = Counter(), Counter(), threading.Condition()

    def waiting(name):
        def wait(x):
            with changed:
                running[name] += 1
                most[name] = max(most[name], running[name])
                most["all"] = max(most["all"], running.total())
                changed.notify_all()
                assert changed.wait_for(lambda: most[name] >= expected[name], 60)
            time.sleep(0.005)  # Time for more of them, if there are more threads.
            with changed:
                running[name] -= 1
            return x

        return wait

    before = set(threading.enumerate())
    options = Options()
    options.threading.private_threadpool_size = limit
    stream = Dataset.range(40).filter(lambda x: True)
    dataset = stream.map(waiting("a"), num_parallel_calls=2).map(waiting("b"), num_parallel_calls=5)
    with iter(dataset.with_options(options)) as iterator:
        assert [int(x) for x in iterator] == list(range(40))
    assert {name: most[name] for name in expected} == expected
    assert most["all"] <= (limit or 7)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("text", [b"x", "x"])
def test_a_pure_function_may_give_strings(text):
    dataset = Dataset.range(3).map(lambda x: {"number": x, "text": text})
    assert [(int(e["number"]), e["text"]) for e in dataset] == [(0, b"x"), (1, b"x"), (2, b"x")]
    assert [e["text"].tolist() for e in dataset.batch(2)] == [[b"x", b"x"], [b"x"]]
    assert [e["text"] for e in dataset.filter(lambda e: e["number"] > 1)] == [b"x"]


def test_the_spec_over_batches_of_a_stream_leaves_room_for_a_short_last_one():
    batches = Dataset.range(5).filter(lambda x: True).batch(3)
    assert batches.map(lambda x: {"x": x, "sum": x.sum()}).element_spec == {
        "sum": TensorSpec((), "int64"),
        "x": TensorSpec((None,), "int64"),
    }
    even = Dataset.range(5).filter(lambda x: True).batch(3, drop_remainder=True)
    assert even.map(lambda x: x + 1).element_spec == TensorSpec((3,), "int64")
    # A function that takes no other size says nothing about one.
    assert batches.map(lambda x: x.reshape(3, 1)).element_spec == TensorSpec((3, 1), "int64")
    shapes = (np.array(2), np.ones(4))
    pairs = Dataset.from_generator(
        lambda: iter([shapes]), output_signature=(TensorSpec((), "int64"), TensorSpec(None, "float64"))
    )
    assert pairs.map(lambda a, b: (a, b)).element_spec == (
        TensorSpec((), "int64"),
        TensorSpec((None,), "float64"),
    )


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x * 2, (None,)),
        (lambda x: x.astype("float32")[:, None] * np.ones(3, "float32"), (None, 3)),
        (lambda x: np.sum(x), ()),
        (lambda x: np.ones(5), (5,)),
    ],
)
def test_sizes_that_the_source_leaves_open_are_open_behind_it(function, shape):
    # The answers of TensorFlow 2.21, though the first element has a size.
    for first in ([1], [1, 2]):
        lists = [first, [1, 2, 3]]
        rows = Dataset.from_generator(
            lambda lists=lists: iter(lists), output_signature=TensorSpec([None], np.int32)
        )
        assert rows.map(function).element_spec.shape == shape
        assert rows.filter(lambda x: len(x) > 0).map(function).element_spec.shape == shape


def test_each_open_size_of_an_image_is_open_behind_it():
    images = Dataset.from_generator(
        lambda: iter([np.zeros((4, 6, 3), np.float32)]),
        output_signature=TensorSpec([None, None, 3], np.float32),
    )
    assert images.map(lambda x: x / 255).element_spec.shape == (None, None, 3)
    assert images.map(lambda x: x[:2, :2]).element_spec.shape[2] == 3
    assert images.map(lambda x: np.mean(x, (0, 1))).element_spec.shape == (3,)
