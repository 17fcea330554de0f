"""Variables and files of a SavedModel: nothing else is read."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.saved_models.state import State
from tests.tensorflow.saved_models.files import constant, dtype, node, write_graph


def test_variables_have_the_values_that_were_saved(tmp_path):
    text = dtype(object)
    float32 = {"dtypes": {"list": dtype_list(np.float32)}}
    nodes = [
        node("w", "VarHandleOp", shared_name={"s": b"w"}, dtype=dtype(np.float32)),
        node("y", "ReadVariableOp", "w", dtype=dtype(np.float32)),
        constant("file", np.array(b"elsewhere", object)),
        constant("names", np.array([b"w"], object)),
        constant("slices", np.array([b"4 1,2"], object)),
        node("restored", "RestoreV2", "file", "names", "slices", **float32),
        node("assigned", "AssignVariableOp", "w", "restored", dtype=text),
        node("restore", "NoOp", "^assigned"),
    ]
    saver = {"filename_tensor_name": "file:0", "restore_op_name": "restore"}
    path = write_graph(
        tmp_path / "model",
        nodes,
        [],
        ["y:0"],
        variables={"w": np.float32([1, 2, 3, 4])},
        saver_def=saver,
        collection_def={"trainable_variables": {"bytes_list": {"value": [b"\x0a\x03w:0"]}}},
    )
    loaded = tf.saved_model.load(path)
    assert np.asarray(loaded.signatures["serving_default"]()["y"]).tolist() == [2.0, 3.0]
    assert [each.trainable for each in loaded.variables] == [True]


def dtype_list(kind):
    return {"type": [dtype(kind)["type"]]}


def test_a_file_outside_of_the_folder_is_not_read(tmp_path):
    inside = tmp_path / "model" / "assets" / "words.txt"
    inside.parent.mkdir(parents=True)
    inside.write_text("a\n")
    state = State({}, str(tmp_path / "model"))
    assert state.asset(str(inside).encode()) == str(inside.resolve())
    for path in ("/etc/passwd", str(tmp_path / "model" / ".." / "other")):
        with pytest.raises(errors.DataLossError, match="none of its own assets"):
            state.asset(path)
    with pytest.raises(errors.DataLossError, match="has no function 'f'"):
        state.function("f")
