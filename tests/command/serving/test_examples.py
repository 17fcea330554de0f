"""Requests of `:classify` and `:regress` take Examples in JSON, as TensorFlow Serving's do."""

import base64

import pytest

import stratax.tf as tf
from stratax.export import ExportedFunction, TensorInfo, save
from tests.command.serving.serving import ask, serving

FEATURES = {
    "x": tf.io.FixedLenFeature([], tf.float32),
    "n": tf.io.FixedLenFeature([], tf.int64, 1),
    "name": tf.io.FixedLenFeature([], tf.string, "none"),
}
TEXT = {"inputs": TensorInfo("string", (None,))}


def classified(inputs):
    found = tf.io.parse_example(inputs["inputs"], FEATURES)
    scores = tf.stack([found["x"], found["x"] * 2.0], 1)
    return {"scores": scores, "classes": tf.strings.as_string(tf.cast(scores, tf.int32))}


def regressed(inputs):
    found = tf.io.parse_example(inputs["inputs"], FEATURES)
    return {"outputs": (found["x"] * tf.cast(found["n"], tf.float32))[:, None]}


def plain(inputs):
    return {"outputs": inputs["x"] + 1.0}


def named(inputs):
    return {"name": tf.io.parse_example(inputs["inputs"], FEATURES)["name"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("served")
    signatures = {
        "serving_default": ExportedFunction(classified, TEXT, "classify"),
        "regression": ExportedFunction(regressed, TEXT, "regress"),
        "plain": ExportedFunction(plain, {"x": TensorInfo("float32", (None,))}, "regress"),
        "predict": ExportedFunction(named, TEXT),
    }
    save(None, base / "1", signatures, platforms=["cpu"])
    with serving(base) as server:
        yield server


def post(server, method, body):
    return ask(server, "POST", f"/v1/models/m:{method}", body)


def test_classes_come_with_their_scores(server):
    body = {"examples": [{"x": 1.5}, {"x": 2.0, "name": "a"}]}
    assert post(server, "classify", body) == (
        200,
        {"result": [[["1", 1.5], ["3", 3.0]], [["2", 2.0], ["4", 4.0]]]},
    )


def test_numbers_come_by_themselves_and_examples_share_the_context(server):
    body = {"signature_name": "regression", "context": {"n": 3, "x": 9.0}, "examples": [{"x": 1.5}, {"n": 2}]}
    assert post(server, "regress", body) == (200, {"result": [4.5, 18.0]})
    body = {"signature_name": "plain", "examples": [{"x": 1}, {"x": 2.5}]}
    assert post(server, "regress", body) == (200, {"result": [2.0, 3.5]})


def test_bytes_are_sent_as_base64_to_predict(server):
    feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))}
    feature["name"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"rose"]))
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    sent = {"b64": base64.b64encode(example).decode()}
    body = {"signature_name": "predict", "instances": [{"inputs": sent}]}
    assert post(server, "predict", body) == (200, {"predictions": ["rose"]})


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("classify", {}, "'examples' to be a list"),
        ("classify", {"examples": []}, "at least one"),
        ("classify", {"examples": [1]}, "an object as item 0"),
        ("classify", {"examples": [{"x": 1.0}], "context": 3}, "an object as 'context'"),
        ("classify", {"examples": [{"x": [1.0, "a"]}]}, "several types"),
        ("classify", {"examples": [{"x": None}]}, "another type"),
        ("classify", {"examples": [{"x": 1 << 70}]}, "64 bits do not hold"),
        ("classify", {"examples": [{"x": 1e300}]}, "float32 does not hold"),
        ("classify", {"examples": [{"x": {"b64": "!"}}]}, "base64"),
        ("classify", {"examples": [{"name": "a"}]}, "x"),
        ("regress", {"examples": [{"x": 1.0}]}, "Use ':classify'"),
        ("regress", {"signature_name": "plain", "examples": [{"y": 1.0}]}, "no feature 'x'"),
        ("classify", {"signature_name": "nothing", "examples": [{}]}, "not found in signature def"),
    ],
)
def test_wrong_examples_are_told(server, method, body, message):
    status, answer = post(server, method, body)
    assert status == 400
    assert message in answer["error"]
