"""Where elements come from."""

import numpy as np
import pytest

from stratax.data import UNKNOWN_CARDINALITY, Dataset, TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, DataError
from tests.data.reference import as_lists

INT = TensorSpec((), "int64")


def test_slices_need_one_first_dimension_and_the_message_names_the_components():
    with pytest.raises(DataError, match=r"tensors\['x'\]: 3, tensors\['y'\]\[0\]: 4"):
        Dataset.from_tensor_slices({"x": np.zeros(3), "y": (np.zeros(4),)})
    with pytest.raises(DataError, match="tensors is a scalar, .*5.*Use from_tensors"):
        Dataset.from_tensor_slices(5)
    with pytest.raises(DataError, match="at least one component"):
        Dataset.from_tensor_slices(())


def test_gathers_take_any_positions():
    data = np.arange(40).reshape(20, 2)
    dataset = Dataset.from_tensor_slices(data)
    for chain in (dataset, dataset.shard(3, 1), dataset.skip(5).take(4), dataset.shuffle(9, seed=1)):
        np.testing.assert_array_equal(np.concatenate(list(chain.batch(6))), np.stack(list(chain)))
    assert np.concatenate(list(dataset.shard(3, 1).batch(6))).tolist() == data[1::3].tolist()


@pytest.mark.parametrize("args", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0,), (5, 2), (-3, 3, 2)])
def test_range_is_pythons(args):
    assert as_lists(Dataset.range(*args)) == list(range(*args))
    assert len(Dataset.range(*args)) == len(range(*args))


def test_range_has_a_dtype():
    assert Dataset.range(3).element_spec.dtype == np.int64
    assert next(iter(Dataset.range(3, output_type="float32"))).dtype == np.float32


def test_range_refuses_what_is_no_range():
    with pytest.raises(BadTypeError, match="range takes"):
        Dataset.range()
    with pytest.raises(BadArgumentError, match="numbers of a range are int64"):
        Dataset.range(2**63)
    with pytest.raises(
        BadArgumentError, match=r"has to be an integer. Received: args\[0\]=True. Pass a number"
    ):
        Dataset.range(True)
    with pytest.raises(BadArgumentError, match="step of a range is not zero"):
        Dataset.range(0, 3, 0)
    with pytest.raises(BadTypeError, match=r"args\[0\] has to be an integer"):
        Dataset.range(1.5)


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


@pytest.mark.parametrize(
    ("element", "signature", "message"),
    [
        ((1, 2), INT, "structure"),
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


def test_the_arguments_of_from_generator_are_checked():
    with pytest.raises(BadTypeError, match="generator has to be callable"):
        Dataset.from_generator([1, 2], output_signature=INT)
    with pytest.raises(BadTypeError, match="needs output_signature"):
        Dataset.from_generator(list)
    with pytest.raises(BadTypeError, match="is a TensorSpec or a structure"):
        Dataset.from_generator(list, output_signature=np.float32)
    with pytest.raises(BadArgumentError, match="output_shapes needs the structure"):
        Dataset.from_generator(list, ("int32", "int32"), ((),))
