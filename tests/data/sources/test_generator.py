"""`from_generator`."""

import numpy as np
import optree
import pytest

from stratax.data import UNKNOWN_CARDINALITY, Dataset, DatasetSpec, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.reference import as_lists

INT = TensorSpec((), "int64")


def test_a_generator_is_called_for_every_iteration():
    calls = []

    def numbers(start, step):
        calls.append(1)
        return range(int(start), 10, int(step))

    dataset = Dataset.from_generator(numbers, args=(4, 2), output_signature=INT)
    assert as_lists(dataset) == as_lists(dataset) == [4, 6, 8]
    assert as_lists(dataset.repeat(2)) == [4, 6, 8] * 2
    assert len(calls) == 4
    assert dataset.cardinality() == UNKNOWN_CARDINALITY
    assert dataset.element_spec == INT


def test_a_generators_elements_get_the_dtypes_of_the_signature():
    signature = (TensorSpec((None,), "float32"), {"n": TensorSpec((), "int64")})
    dataset = Dataset.from_generator(
        lambda: iter([([1, 2], {"n": 3}), ([1.5], {"n": 4})]), output_signature=signature
    )
    found = list(dataset)
    assert [x.tolist() for x, _ in found] == [[1.0, 2.0], [1.5]]
    assert all(x.dtype == np.float32 and y["n"].dtype == np.int64 for x, y in found)


def test_a_yielded_list_is_a_tuple_where_the_signature_has_one():
    dataset = Dataset.from_generator(lambda: iter([[1, 2]]), output_signature=(INT, INT))
    assert list(dataset) == [(1, 2)]


def test_the_old_form_of_the_signature_works():
    pairs = lambda: iter([(1, [2.0, 3.0])])  # noqa: E731
    dataset = Dataset.from_generator(pairs, (np.int32, "float32"), ((), (None,)))
    assert dataset.element_spec == (TensorSpec((), "int32"), TensorSpec((None,), "float32"))
    assert Dataset.from_generator(pairs, ("int32", "float32")).element_spec[1].shape is None
    assert Dataset.from_generator(lambda: [1], "int64", []).element_spec == INT
    assert as_lists(Dataset.from_generator(lambda: [1, 2], "int64")) == [1, 2]
    # The types tell what is structure: a tuple of numbers is a shape, or a vector's for each of them.
    for shapes in ((1, 2), ((1,), 2), ([1], [2])):
        dataset = Dataset.from_generator(lambda: [([1], [2.0, 3.0])], (np.int32, "float32"), shapes)
        assert dataset.element_spec == (TensorSpec((1,), "int32"), TensorSpec((2,), "float32"))
    assert Dataset.from_generator(list, "int32", (1, 2)).element_spec == TensorSpec((1, 2), "int32")
    named = Dataset.from_generator(list, {"a": "int32", "b": "int32"}, {"a": 3, "b": None})
    assert named.element_spec == {"a": TensorSpec((3,), "int32"), "b": TensorSpec(None, "int32")}
    with pytest.raises(BadArgumentError, match="structure of output_types"):
        Dataset.from_generator(pairs, (np.int32, "float32"), 4)


@pytest.mark.parametrize(
    ("element", "signature", "message"),
    [
        ((1, 2), INT, r"shape=\(2,\)"),
        ((1, 2), (INT, INT, INT), "structure"),
        ([1, 2], INT, r"shape=\(2,\)"),
        (1.5, INT, "of dtype=float32"),
        (np.zeros(3), TensorSpec((2,), "float64"), r"shape=\(3,\)"),
        ({"a": 1}, {"b": INT}, "structure"),
    ],
)
def test_an_element_that_does_not_fit_its_signature_is_refused(element, signature, message):
    def numbers():
        yield element

    dataset = Dataset.from_generator(numbers, output_signature=signature)
    with pytest.raises(
        DataError, match=rf"numbers gave an element that does not fit its output_signature.*{message}"
    ):
        list(dataset)


def test_text_that_says_numbers_becomes_numbers():
    rows = [(["5.1", "-2"], "3"), ([b"1e3", b"0"], b"4")]
    dataset = Dataset.from_generator(lambda: rows, ("float32", "int32"), ((2,), ()))
    assert [(x.tolist(), int(y)) for x, y in dataset] == [([pytest.approx(5.1), -2.0], 3), ([1000.0, 0.0], 4)]
    with pytest.raises(DataError, match="dtype=object"):
        list(Dataset.from_generator(lambda: ["3.5", "many"], "int32", ()))


def test_the_arguments_of_from_generator_are_checked():
    with pytest.raises(BadTypeError, match="generator has to be callable"):
        Dataset.from_generator([1, 2], output_signature=INT)
    with pytest.raises(BadTypeError, match="needs output_signature"):
        Dataset.from_generator(list)
    with pytest.raises(BadTypeError, match="is a TensorSpec or a structure"):
        Dataset.from_generator(list, output_signature=np.float32)
    with pytest.raises(BadArgumentError, match="output_shapes needs the structure"):
        Dataset.from_generator(list, ("int32", "int32"), ((),))


@pytest.mark.parametrize(
    ("element", "signature", "expected"),
    [
        ((1, 2, 3), TensorSpec((3,), "int32"), [1, 2, 3]),
        (((1, 2), (3, 4)), TensorSpec((2, 2), "int32"), [[1, 2], [3, 4]]),
        (((1, 2), 3), (TensorSpec((2,), "int32"), INT), ([1, 2], 3)),
        ([(1, 2), 3], (TensorSpec((None,), "int32"), INT), ([1, 2], 3)),
        ({"x": (1, 2)}, {"x": TensorSpec((2,), "int32")}, {"x": [1, 2]}),
    ],
)
def test_a_tuple_stands_for_an_array_where_the_signature_has_one(element, signature, expected):
    dataset = Dataset.from_generator(lambda: iter([element]), output_signature=signature)
    (found,) = dataset
    assert optree.tree_map(np.ndarray.tolist, found) == optree.tree_map(lambda part: part, expected)


def test_a_generator_gives_datasets():
    def growing():
        for size in (1, 2, 3):
            yield size, Dataset.range(size)

    signature = (INT, DatasetSpec(INT))
    dataset = Dataset.from_generator(growing, output_signature=signature)
    assert dataset.element_spec == signature
    assert [(int(size), as_lists(inner)) for size, inner in dataset] == [
        (1, [0]),
        (2, [0, 1]),
        (3, [0, 1, 2]),
    ]
    assert as_lists(dataset.flat_map(lambda size, inner: inner)) == [0, 0, 1, 0, 1, 2]
    # Sizes that differ are those of the signature.
    of_sizes = DatasetSpec(TensorSpec((None,), "int32"))
    rows = Dataset.from_generator(
        lambda: [Dataset.from_tensors([1, 2]), Dataset.from_tensors([3])], output_signature=of_sizes
    )
    assert [as_lists(inner) for inner in rows] == [[[1, 2]], [[3]]]
    assert as_lists(rows.batch(2).unbatch().flat_map(lambda inner: inner)) == [[1, 2], [3]]


@pytest.mark.parametrize("element", [3, [1, 2], Dataset.from_tensor_slices([1.0])])
def test_a_generator_that_gives_something_else_than_the_datasets_of_its_signature_says_so(element):
    dataset = Dataset.from_generator(lambda: [element], output_signature=DatasetSpec(INT))
    with pytest.raises(DataError, match="does not fit its output_signature. Expected: element=DatasetSpec"):
        list(dataset)
