"""A server answers with SavedModels that TensorFlow wrote, as TensorFlow Serving does."""

import base64
import shutil

import numpy as np
import pytest

from tests.command.serving.serving import ask, predict, serving
from tests.golden.saved_models_cases import answers_of
from tests.tensorflow.saved_models.files import constant, dtype, node, unpack, write_graph

# A model with one signature of numbers, and one with several that take serialized examples.
DENSE, CLASSIFIER = "keras2_dense", "estimator_DNNLinearCombinedClassifier3_parsing"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("saved_models")
    return {name: unpack(name, base) for name in (DENSE, CLASSIFIER)}


@pytest.fixture(scope="module", params=[DENSE, CLASSIFIER])
def served(request, folders, tmp_path_factory):
    """A server, and what TensorFlow answers, by signature."""
    folder = folders[request.param]
    base = tmp_path_factory.mktemp("served")
    shutil.copytree(folder / "model", base / "7")
    with serving(base) as server:
        found = answers_of(folder)
        yield (
            server,
            request.param,
            {name: found[name] for name in ("serving_default", "predict") if name in found},
        )


def encode(array):
    if array.dtype == object:
        return [{"b64": base64.b64encode(each).decode()} for each in array.tolist()]
    return array.tolist()


def check(expected, received):
    """Numbers are TensorFlow's to 1e-5, texts exactly."""
    received = received if isinstance(received, dict) else dict.fromkeys(expected, received)
    assert received.keys() == expected.keys()
    for name, array in expected.items():
        if array.dtype == object:
            assert received[name] == [[each.decode() for each in row] for row in array.tolist()]
        else:
            np.testing.assert_allclose(received[name], array, rtol=1e-5, atol=1e-5)


def test_each_signature_answers_with_tensorflows_numbers(served):
    server, _, answers = served
    for name, case in answers.items():
        inputs = {key: encode(array) for key, array in case["in"].items()}
        code, answer = predict(server, {"signature_name": name, "inputs": inputs})
        assert code == 200
        check(case["out"], answer["outputs"])
        rows = [dict(zip(inputs, row, strict=True)) for row in zip(*inputs.values(), strict=True)]
        code, answer = predict(server, {"signature_name": name, "instances": rows[:1]})
        assert code == 200
        first = answer["predictions"][0]
        first = first if isinstance(first, dict) else dict.fromkeys(case["out"], first)
        check({key: array[:1] for key, array in case["out"].items()}, {key: [first[key]] for key in first})


def test_metadata_says_what_signatures_take_and_give(served):
    server, model, _ = served
    code, answer = ask(server, "GET", "/v1/models/m/metadata")
    assert code == 200
    assert answer["model_spec"] == {"name": "m", "signature_name": "", "version": "7"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    told = {
        name: (
            each["method_name"].rpartition("/")[2],
            {
                key: (info["dtype"], [dim["size"] for dim in info["tensor_shape"]["dim"]])
                for key, info in inputs
            },
        )
        for name, each in signatures.items()
        for inputs in [each["inputs"].items()]
    }
    text = ("DT_STRING", ["-1"])
    assert (
        told
        == {
            DENSE: {"serving_default": ("predict", {"input_1": ("DT_FLOAT", ["-1", "4"])})},
            CLASSIFIER: {
                "classification": ("classify", {"inputs": text}),
                "predict": ("predict", {"examples": text}),
                "serving_default": ("classify", {"inputs": text}),
            },
        }[model]
    )


def test_wrong_requests_are_told(served):
    server, model, answers = served
    code, answer = predict(server, {"signature_name": "no", "instances": [[1]]})
    assert (code, answer["error"].partition(" Expected")[0]) == (
        400,
        "Serving signature name: 'no' not found in signature def.",
    )
    code, answer = predict(server, {"instances": [[1, 2]]})
    assert code == 400
    assert "has another shape. Expected: " in answer["error"]
    key = next(iter(answers["serving_default"]["in"]))
    code, answer = predict(server, {"inputs": {key: [], "other": []}})
    assert code == 400
    if model == CLASSIFIER:
        # No serialized example, which the host finds out.
        code, answer = predict(server, {"instances": [{"b64": base64.b64encode(b"\x0a\xff").decode()}]})
        assert code == 400
        # The server goes on.
        assert ask(server, "GET", "/v1/models/m")[0] == 200


def test_a_text_model_is_tried_beforehand_without_a_warning(tmp_path, caplog):
    text = {"type": 7}
    nodes = [
        node("x", "Placeholder", dtype=text, shape={"shape": {"dim": [{"size": -1}]}}),
        node("y", "StringLength", "x"),
    ]
    specs = {"x:0": (object, [-1]), "y:0": (np.int32, [-1])}
    write_graph(tmp_path / "1", nodes, ["x"], ["y:0"], specs=specs)
    with serving(tmp_path) as server:
        assert predict(server, {"instances": ["abc", ""]}) == (200, {"predictions": [3, 0]})
    assert not [each for each in caplog.messages if "tried beforehand" in each]


def test_rows_of_a_graph_are_answered_in_order(tmp_path):
    nodes = [
        node(
            "x", "Placeholder", dtype=dtype(np.float32), shape={"shape": {"dim": [{"size": -1}, {"size": 2}]}}
        ),
        constant("w", np.float32([[1], [2]])),
        node("y", "MatMul", "x", "w", T=dtype(np.float32)),
    ]
    specs = {"x:0": (np.float32, [-1, 2]), "y:0": (np.float32, [-1, 1])}
    write_graph(tmp_path / "1", nodes, ["x"], ["y:0"], specs=specs)
    with serving(tmp_path) as server:
        assert predict(server, {"instances": [[1, 2], [3, 4], [5, 6]]}) == (
            200,
            {"predictions": [[5], [11], [17]]},
        )
