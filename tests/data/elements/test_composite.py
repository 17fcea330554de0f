"""Sparse and ragged elements in every operation, beside what TensorFlow makes of them."""

import json
import pathlib

import numpy as np
import pytest

import stratax.tf as tf
from tests.golden import composite_cases

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "composites.json"
EXPECTED = json.loads(GOLDEN.read_text())
# Where elements are unbatched that were batched just before, they are as they were: their dense_shape is not that of
# the largest in the batch.
DIFFERENT = {f"sparse of sizes: {operation}" for operation in ("unbatch", "rebatch")}
CASES = {name: make for name, make in composite_cases.cases(tf).items() if name not in DIFFERENT}
# The names of those that have others here.
ERRORS = {"InvalidArgumentError": "BadArgumentError"}


def fits(spec, expected):
    """Return whether a spec says what TensorFlow's does; it may know more sizes."""
    if isinstance(expected, dict):
        return spec.keys() == expected.keys() and all(fits(spec[key], expected[key]) for key in spec)
    if isinstance(expected, list) and expected and isinstance(expected[0], str):
        shapes = spec[1], expected[1]
        if spec[0] != expected[0] or spec[2:] != expected[2:]:
            return False
        if spec[0] == "DatasetSpec":
            return fits(*shapes)
        return shapes[1] is None or (
            len(shapes[0]) == len(shapes[1])
            and all(b is None or a == b for a, b in zip(*shapes, strict=True))
        )
    return len(spec) == len(expected) and all(map(fits, spec, expected))


def test_every_case_has_an_answer():
    assert CASES.keys() | DIFFERENT == EXPECTED.keys()


@pytest.mark.parametrize("name", CASES)
def test_elements_are_tensorflows(name):
    result, expected = composite_cases.found(CASES[name]), EXPECTED[name]
    if "error" in expected:
        assert ERRORS.get(expected["error"], expected["error"]) in result.get("error", ()), result
        return
    assert result.get("elements") == expected["elements"], result
    assert fits(result["spec"], expected["spec"]), result["spec"]


PIPELINES = {
    "batches": lambda ds: ds.batch(2),
    "a buffer": lambda ds: ds.filter(lambda *element: True).shuffle(3, 1, False).batch(2),
    "slices": lambda ds: ds.batch(3).map(lambda *x: x if len(x) > 1 else x[0]).unbatch(),
    "windows": lambda ds: ds.enumerate().window(2, shift=1).flat_map(lambda i, x: i.batch(2)),
    "a cache": lambda ds: ds.filter(lambda *element: True).cache().repeat(2).batch(3),
    "groups": lambda ds: ds.enumerate().group_by_window(
        lambda i, x: i % 2, lambda key, group: group.batch(2), 2
    ),
    "a thread": lambda ds: ds.batch(1).prefetch(2),
    "states": lambda ds: ds.batch(2).scan(np.int64(0), lambda state, *x: (state + 1, x[0])),
}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("source", ["sparse", "sparse text", "ragged", "ragged made", "dict", "pair"])
def test_a_saved_position_goes_on_with_the_very_next_element(source, pipeline):
    dataset = PIPELINES[pipeline](composite_cases.sources(tf)[source]())
    expected = [composite_cases.described(element) for element in dataset]
    assert len(expected) > 1
    for taken in range(len(expected)):
        with iter(dataset) as first, iter(dataset) as second:
            for _ in range(taken):
                next(first)
            # As JSON: a program that goes on is another one.
            second.set_state(json.loads(json.dumps(first.get_state())))
            assert [composite_cases.described(element) for element in second] == expected[taken:]


def test_a_state_that_is_sparse_is_part_of_a_position():
    first = tf.sparse.SparseTensor(np.zeros((0, 1), np.int64), np.zeros(0, np.int64), [4])
    dataset = composite_cases.sources(tf)["sparse"]().scan(
        first, lambda state, x: (tf.sparse.add(state, x), tf.sparse.to_dense(tf.sparse.add(state, x)))
    )
    expected = [element.tolist() for element in dataset]
    assert expected[-1] == [1, 2, 3, 4]
    with iter(dataset) as taken, iter(dataset) as restored:
        next(taken), next(taken)
        restored.set_state(json.loads(json.dumps(taken.get_state())))
        assert [element.tolist() for element in restored] == expected[2:]


def test_what_is_shuffled_comes_once_each():
    for name, make in composite_cases.sources(tf).items():
        expected = sorted(json.dumps(composite_cases.described(x)) for x in make())
        for dataset in (
            make().shuffle(10, seed=3),
            make().filter(lambda *x: True).shuffle(3, seed=3).cache(),
        ):
            for _ in range(2):
                found = sorted(json.dumps(composite_cases.described(x)) for x in dataset)
                assert found == expected, name


def test_a_mapped_function_gets_and_gives_tensorflows_classes():
    kinds = []

    def note(s, r):
        kinds.append((type(s), type(r), s.values.dtype, isinstance(s, tuple)))
        return s, r, tf.sparse.to_dense(s), r.to_tensor(shape=[2, 2])

    sources = composite_cases.sources(tf)
    rows = sources["ragged of two levels"]()
    found = list(tf.data.Dataset.zip((sources["sparse"](), rows)).map(note).batch(2))
    assert kinds[0] == (tf.SparseTensor, tf.RaggedTensor, np.int64, False)
    assert [type(part).__name__ for part in found[0]][:2] == ["SparseTensor", "RaggedTensor"]
    assert found[0][2].tolist() == [[1, 0, 0, 0], [0, 2, 0, 0]]


def test_what_a_function_writes_to_stays_as_it_was_in_a_cache():
    def spoil(sparse):
        sparse.values[:] = 0
        return sparse

    cached = composite_cases.sources(tf)["sparse slices"]().cache()
    expected = [composite_cases.described(element) for element in cached]
    list(cached.map(spoil))
    assert [composite_cases.described(element) for element in cached] == expected


def test_worker_processes_take_and_give_them():
    sources = composite_cases.sources(tf)
    dataset = tf.data.Dataset.zip((sources["sparse"](), sources["ragged of two levels"]()))
    mapped = dataset.map(lambda s, r: (s * 2, r), num_processes=1).batch(4)
    sparse, ragged = next(iter(mapped))
    assert sparse.values.tolist() == [2, 4, 6, 8]
    assert ragged.to_list() == [[[1], [2, 3]], [], [[4]], [[], [5]]]


def test_the_numpy_iterator_gives_dense_arrays_as_tensorflows():
    sources = composite_cases.sources(tf)
    assert [x.tolist() for x in sources["sparse"]().as_numpy_iterator()][:2] == [[1, 0, 0, 0], [0, 2, 0, 0]]
    rows = next(sources["ragged"]().batch(3).as_numpy_iterator())
    assert rows.dtype == object
    assert [row.tolist() for row in rows] == [[1, 2], [], [3]]


def test_compiled_functions_take_them_from_a_dataset():
    sparse = composite_cases.sources(tf)["sparse slices"]().batch(3)

    @tf.function
    def total(iterator):
        return tf.reduce_sum(next(iterator).values)

    iterator = iter(sparse)
    assert [int(total(iterator)) for _ in range(2)] == [18, 8]
    rows = composite_cases.sources(tf)["ragged"]().batch(2)

    @tf.function
    def doubled(dataset):
        found = 0
        for ragged in dataset:
            found += tf.reduce_sum((ragged * 2).flat_values)
        return found

    assert int(doubled(rows)) == 42


@pytest.mark.parametrize(
    ("make", "error"),
    [
        # Of no other rank is there a slice.
        (
            lambda D: D.from_tensor_slices(tf.SparseTensor([[0]], [1], [3])),
            "taken apart along its first axis",
        ),
        (
            lambda D: D.range(2).map(lambda x: tf.SparseTensor([[0], [1]], [x], [3])),
            "a row of indices for each value",
        ),
        (
            lambda D: D.from_generator(
                lambda: [tf.SparseTensor([[0]], [1], [3])],
                output_signature=tf.SparseTensorSpec([4], tf.int32),
            ),
            "does not fit its output_signature",
        ),
        (
            lambda D: D.from_generator(
                lambda: [np.ones((2, 2), np.int32)],
                output_signature=tf.RaggedTensorSpec([None, None], tf.int32),
            ),
            "does not fit its output_signature",
        ),
        (
            lambda D: D.from_generator(
                lambda: [
                    tf.ragged.constant([[1], []], dtype=tf.int32),
                    tf.ragged.constant([[[1]], []], dtype=tf.int32),
                ],
                output_signature=tf.RaggedTensorSpec(None, tf.int32, ragged_rank=1),
            ),
            "does not fit its output_signature",
        ),
        (
            lambda D: D.range(2).map(
                lambda x: tf.SparseTensor(np.zeros((1, 1 + int(x)), np.int64), [x], [3] * (1 + int(x)))
            ),
            "different shape rank",
        ),
    ],
)
def test_what_does_not_fit_raises(make, error):
    with pytest.raises(ValueError, match=error):
        list(make(tf.data.Dataset))


def test_functions_know_them_as_tensors():
    sparse = tf.SparseTensor([[0, 1]], np.array([2.5], np.float32), [2, 3])
    rows = tf.ragged.constant([[1.5], []])
    assert tf.is_tensor(sparse)
    assert tf.is_tensor(rows)
    assert tf.cast(sparse, tf.int32).values.tolist() == [2]
    assert tf.cast(rows, tf.int32).to_list() == [[1], []]
    assert tf.nest.flatten({"a": sparse, "b": [sparse]}) == [sparse, sparse]


def test_a_signature_declares_them():
    rows = tf.RaggedTensorSpec([None, None], tf.float32)

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32), rows])
    def total(sparse, ragged):
        return tf.reduce_sum(sparse.values) + tf.reduce_sum(ragged.flat_values)

    sparse = tf.SparseTensor([[0, 1]], np.array([2.0], np.float32), [2, 3])
    assert float(total(sparse, tf.ragged.constant([[1.5], []]))) == 3.5
    with pytest.raises(TypeError, match="does not fit its signature"):
        total(sparse, tf.ragged.constant([[1], []]))
    with pytest.raises(TypeError, match="does not fit its signature"):
        total(tf.SparseTensor([[0, 1]], np.array([2.0], np.float32), [2, 4]), tf.ragged.constant([[1.5], []]))


@pytest.mark.parametrize(
    "spec", [tf.SparseTensorSpec([None, 3], tf.int32), tf.RaggedTensorSpec([None, None], tf.string)]
)
def test_the_spec_of_a_map_without_elements_is_known(spec):
    empty = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=spec)
    found = empty.map(lambda x: (x, 1)).element_spec[0]
    assert found.is_like(spec)
    assert list(empty.map(lambda x: (x, 1)).batch(2)) == []
