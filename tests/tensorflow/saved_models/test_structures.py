"""Structures of arguments and results are those of the file."""

import inspect

import numpy as np
import pytest

from stratax import errors
from stratax.data import RaggedTensor, RaggedTensorSpec, SparseTensor
from stratax.tensorflow.saved_models.messages import MESSAGES
from stratax.tensorflow.saved_models.structures import Leaves, arguments_of, decode, plain, signature_of

SHAPE = {"dim": [{"size": -1}]}
SPEC = {"tensor_spec_value": {"name": "x", "shape": SHAPE, "dtype": 1}}


def structure(**value):
    return MESSAGES["StructuredValue"](**value)


def test_a_structure_has_its_tensors_in_order():
    leaves = Leaves()
    pair = structure(tuple_value={"values": [structure(**SPEC), structure(int64_value=-3)]})
    found = decode(structure(dict_value={"fields": {"b": pair, "a": structure(**SPEC)}}), leaves)
    assert found == {"dict": [["a", {"tensor": 0}], ["b", {"tuple": [{"tensor": 1}, {"constant": -3}]}]]}
    assert [each.shape for each in leaves.specs] == [(None,), (None,)]


def test_tensors_of_several_arrays_are_packed_and_unpacked():
    state = [
        {"tensor_shape_value": {"dim": [{"size": -1}, {"size": -1}]}},
        {"tensor_dtype_value": 1},
        {"int64_value": 1},
        {"tensor_dtype_value": 9},
    ]
    spec = {"type_spec_class": 3, "type_state": {"tuple_value": {"values": state}}}
    leaves = Leaves()
    decode(structure(type_spec_value=spec), leaves)
    assert isinstance(leaves.specs[0], RaggedTensorSpec)
    rows = RaggedTensor(np.float32([1, 2, 3]), np.array([0, 1, 3]))
    arrays = leaves.unpack([rows])
    assert leaves.count == len(arrays) == 2
    assert leaves.pack(arrays)[0].to_list() == [[1.0], [2.0, 3.0]]
    sparse = Leaves()
    decode(
        structure(
            type_spec_value={"type_spec_class": 1, "type_state": {"tuple_value": {"values": state[:2]}}}
        ),
        sparse,
    )
    assert isinstance(
        sparse.pack(sparse.unpack([SparseTensor([[0, 0]], np.float32([1]), [1, 1])]))[0], SparseTensor
    )
    with pytest.raises(errors.UnimplementedError, match="class 6"):
        decode(structure(type_spec_value={"type_spec_class": 6}), Leaves())


def test_parameters_are_those_of_the_function():
    described = {
        "args": structure(
            list_value={"values": [{"string_value": each} for each in ("self", "x", "training")]}
        ),
        "defaults": structure(tuple_value={"values": [{"bool_value": False}]}),
        "kwonlyargs": structure(list_value={"values": [{"string_value": "mask"}]}),
        "kwonlydefaults": structure(dict_value={"fields": {"mask": {"none_value": {}}}}),
    }
    spec = MESSAGES["FunctionSpec"](fullargspec=structure(dict_value={"fields": described}), is_method=True)
    signature = signature_of(spec)
    assert str(signature) == "(x, training=False, *, mask=None)"
    given = structure(
        tuple_value={
            "values": [{"tuple_value": {"values": [SPEC, {"bool_value": True}]}}, {"dict_value": {}}]
        }
    )
    assert arguments_of(given, signature, Leaves()) == {"x": {"tensor": 0}, "training": {"constant": True}}


def test_a_function_that_does_not_say_what_it_takes_is_damaged():
    with pytest.raises(errors.DataLossError, match="does not say what it takes"):
        arguments_of(structure(none_value={}), inspect.Signature(), Leaves())
    assert plain(structure(list_value={"values": [{"float64_value": 1.5}]})) == [1.5]
