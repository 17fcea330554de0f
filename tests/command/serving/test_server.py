"""A server answers as TensorFlow Serving does, from whichever version of an export is the newest that can be read."""

import math
import shutil
import time

import pytest

from stratax.command.serving import ModelServer, ServingOptions
from stratax.errors import BadArgumentError, FailedPreconditionError
from tests.command.serving.serving import ask, predict, serving, write

NAMES = ("scaled", "both", "centered", "lengths", "fixed")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("served")
    write(base / "1", 2, NAMES)
    return base


@pytest.fixture(scope="module")
def server(base):
    with serving(base) as server:
        yield server


@pytest.fixture(scope="module")
def other_version(tmp_path_factory):
    """A second version, for tests to copy."""
    folder = tmp_path_factory.mktemp("other") / "2"
    write(folder, 3)
    return folder


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "It did not happen within 20 s."
        time.sleep(0.02)


def test_rows_and_columns_are_answered_in_kind(server):
    assert predict(server, {"instances": [[1, 2], [3, 4.5]]}) == (200, {"predictions": [[2, 4], [6, 9]]})
    assert predict(server, {"inputs": {"x": [[1, 2]]}}) == (200, {"outputs": [[2, 4]]})
    assert predict(server, {"inputs": [[0.1, 2]]}) == (200, {"outputs": [[0.2, 4]]})


def test_several_outputs_are_named(server):
    rows = [{"x": [1, 2], "n": 5}, {"x": [3, 4], "n": 6}]
    assert predict(server, {"signature_name": "both", "instances": rows}) == (
        200,
        {"predictions": [{"total": 3, "more": 6}, {"total": 7, "more": 7}]},
    )
    columns = {"x": [[1, 2], [3, 4]], "n": [5, 6]}
    assert predict(server, {"signature_name": "both", "inputs": columns}) == (
        200,
        {"outputs": {"total": [3, 7], "more": [6, 7]}},
    )


def test_nan_and_infinity_are_numbers_as_in_tensorflow_serving(server):
    code, answer = predict(server, b'{"instances": [[NaN, -Infinity]]}', raw=True)
    assert code == 200
    assert math.isnan(answer["predictions"][0][0])
    assert answer["predictions"][0][1] == -math.inf


def test_a_signature_that_mixes_rows_is_never_filled_up(server):
    asked = {"signature_name": "centered", "instances": [[0, 0], [1, 2], [5, 1]]}
    assert predict(server, asked) == (200, {"predictions": [[-2, -1], [-1, 1], [3, 0]]})


def test_a_signature_of_one_size_takes_that_size(server):
    asked = {"signature_name": "fixed", "inputs": [True, False]}
    assert predict(server, asked) == (200, {"outputs": [False, True]})


def test_more_rows_than_a_batch_are_computed_in_pieces(server):
    rows = [[row, 1] for row in range(11)]
    assert predict(server, {"instances": rows}) == (200, {"predictions": [[2 * row, 2] for row in range(11)]})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON Parse error"),
        (b"[1]", "must be a JSON object"),
        (b'{"instances": [[1, 2]', "JSON Parse error"),
        (b"\xff", "no UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"instances": ' + b"[" * 900 + b"]" * 900 + b"}", "more dimensions"),
        (b"{}", "Missing 'inputs' or 'instances' key"),
        (b'{"instances": [[1, 2]], "inputs": [[1, 2]]}', "only one of"),
        (b'{"instances": []}', "No values"),
        (b'{"instances": 3}', "to be a list"),
        (b'{"instances": [[1, 2], [3]]}', "lists of different lengths"),
        (b'{"instances": [[1, 2, 3]]}', "float32[None, 2]"),
        (b'{"instances": [1, 2]}', "another shape"),
        (b'{"instances": [[1, "2"]]}', "value of another type"),
        (b'{"instances": [[1, true]]}', "value of another type"),
        (b'{"instances": [[1, null]]}', "value of another type"),
        (b'{"instances": [[1, 16777217]]}', "without loss"),
        (b'{"instances": [[1, 1e39]]}', "without loss"),
        (b'{"instances": [[1, 1e999]]}', "without loss"),
        (b'{"instances": [[1, ' + b"9" * 5000 + b"]]}", "JSON Parse error"),
        (b'{"instances": [{"y": [1, 2]}]}', "keys"),
        (b'{"instances": [{"x": [1, 2]}, [1, 2]]}', "item 1"),
        (b'{"instances": [[1, 2]], "signature_name": 3}', "'signature_name' must be a string"),
        (b'{"instances": [[1, 2]], "signature_name": "no"}', "not found in signature def"),
        (b'{"signature_name": "both", "instances": [[1, 2]]}', "several inputs"),
        (b'{"signature_name": "both", "inputs": {"x": [[1, 2]], "n": [1.5]}}', "int32"),
        (b'{"signature_name": "both", "inputs": {"x": [[1, 2]], "n": [3000000000]}}', "without loss"),
        (b'{"inputs": {"x": [[1, 2]], "z": 1}}', "keys"),
        (b'{"inputs": {"x": []}}', "where sizes are at least 1"),
        (b'{"signature_name": "both", "inputs": {"x": [[1, 2]], "n": [1, 2]}}', "for these shapes together"),
    ],
)
def test_a_request_that_is_not_right_is_told_why(server, body, said):
    code, answer = predict(server, body, raw=True)
    assert code == 400
    assert said in answer["error"]
    assert len(answer["error"]) < 700


def test_names_and_numbers_that_are_not_served_are_not_found(server):
    row = {"instances": [[1, 2]]}
    for path in ("/v1/models/other:predict", "/v1/models/m/versions/9:predict", "/v1/models/..%2f..:predict"):
        code, answer = predict(server, row, path)
        assert code in (400, 404), path
        assert answer["error"]
    assert predict(server, row, "/v1/models/m/versions/1:predict")[0] == 200
    assert predict(server, row, "/v1/models/m/labels/new:predict")[0] == 400
    assert predict(server, row, f"/v1/models/m/versions/{'9' * 40}:predict")[0] == 400
    assert ask(server, "GET", "/v1/models/m:predict")[0] == 400
    assert ask(server, "GET", "/nowhere")[0] == 404
    assert ask(server, "DELETE", "/v1/models/m")[0] == 400


def test_state_and_signatures_are_told(server):
    state = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    assert ask(server, "GET", "/v1/models/m") == (200, {"model_version_status": [state]})
    assert ask(server, "GET", "/v1/models/m/versions/1") == (200, {"model_version_status": [state]})
    assert ask(server, "GET", "/v1/models/m/versions/2")[0] == 404
    code, told = ask(server, "GET", "/v1/models/m/metadata")
    assert code == 200
    assert told["model_spec"] == {"name": "m", "signature_name": "", "version": "1"}
    default = told["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert default["method_name"] == "tensorflow/serving/predict"
    assert default["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert [each["size"] for each in default["inputs"]["x"]["tensor_shape"]["dim"]] == ["-1", "2"]


def test_health_and_numbers_are_told(server):
    assert ask(server, "GET", "/healthz") == (200, {"status": "ok"})
    predict(server, {"instances": [[1, 2]]})
    code, text = ask(server, "GET", "/metrics")
    assert code == 200
    assert b'stratax_serving_requests_total{code="200",model="m"}' in text
    assert b'stratax_serving_newest_version{model="m"} 1.0' in text


def test_a_new_version_answers_once_it_is_loaded_and_a_damaged_one_does_not(tmp_path, base, other_version):
    row = {"instances": [[1, 2]]}
    shutil.copytree(base / "1", tmp_path / "1")
    with serving(tmp_path, labels={"m": {"stable": 1}}) as server:
        assert predict(server, row) == (200, {"predictions": [[2, 4]]})
        shutil.copytree(other_version, tmp_path / "2")
        until(lambda: predict(server, row)[1] == {"predictions": [[3, 6]]})
        assert b'stratax_serving_newest_version{model="m"} 2.0' in ask(server, "GET", "/metrics")[1]
        stable = "/v1/models/m/labels/stable:predict"
        assert predict(server, row, stable) == (200, {"predictions": [[2, 4]]})
        shutil.copytree(other_version, tmp_path / "coming")
        (tmp_path / "coming" / "weights.safetensors").write_bytes(b"other")
        (tmp_path / "coming").rename(tmp_path / "3")
        until(lambda: ask(server, "GET", "/v1/models/m/versions/3")[0] == 200)
        until(lambda: _state(server, 3)["state"] == "END")
        assert _state(server, 3)["status"]["error_code"] == "DATA_LOSS"
        assert predict(server, row) == (200, {"predictions": [[3, 6]]})
        # Mended, and another one gone.
        shutil.copy(other_version / "weights.safetensors", tmp_path / "3" / "weights.safetensors")
        until(lambda: _state(server, 3)["state"] == "AVAILABLE")
        until(lambda: _state(server, 2)["state"] == "END")
        assert _state(server, 1)["state"] == "AVAILABLE"


def _state(server, number):
    return ask(server, "GET", f"/v1/models/m/versions/{number}")[1]["model_version_status"][0]


def test_a_base_without_a_version_is_waited_for(tmp_path, base):
    with serving(tmp_path) as server:
        assert ask(server, "GET", "/healthz")[0] == 503
        assert predict(server, {"instances": [[1, 2]]})[0] == 404
        shutil.copytree(base / "1", tmp_path / "7")
        until(lambda: ask(server, "GET", "/healthz")[0] == 200)


def test_an_export_is_no_base(base):
    with pytest.raises(BadArgumentError, match="is an export itself"):
        ServingOptions(models={"m": str(base / "1")})


def test_a_saved_model_of_tensorflow_is_no_base(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    with pytest.raises(BadArgumentError, match="is an export itself"):
        ServingOptions(models={"m": str(tmp_path / "1")})


def test_a_port_that_is_taken_is_told(server, base):
    with pytest.raises(FailedPreconditionError, match="can't listen on '127.0.0.1' port"):
        ModelServer(ServingOptions(models={"m": str(base)}, port=server.port)).start()
