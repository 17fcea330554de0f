"""TensorFlow, in a process of its own, answers with an export's numbers. Needs TensorFlow beside JAX."""

import importlib.util
import subprocess
import sys

import keras
import numpy as np
import pytest

from stratax import errors
from stratax.export import ExportedFunction, TensorInfo, convert_to_saved_model, load, save

SERVED = """
import sys
import numpy as np
import tensorflow as tf

loaded = tf.saved_model.load(sys.argv[1])
x = np.load(sys.argv[2])
signature = loaded.signatures["serving_default"]
np.save(sys.argv[3], np.concatenate([signature(x=tf.constant(x[: n + 1]))["y"].numpy() for n in range(9)]))
"""


@pytest.mark.processes
def test_without_tensorflow_it_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    # What Python finds first is a tensorflow that can't be imported.
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "tensorflow.py").write_text("raise ImportError('no such package here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    info = {"x": TensorInfo("float32", (None, 2))}
    save(ExportedFunction(lambda arrays: arrays["x"] * 2.0, info), tmp_path / "a", platforms=["cpu"])
    with pytest.raises(errors.MissingPackageError, match=r"no such package here.*stratax\[savedmodel\]"):
        convert_to_saved_model(tmp_path / "a", tmp_path / "b")
    save(ExportedFunction(lambda arrays: arrays["x"] * 2.0, info), tmp_path / "t", platforms=["tpu"])
    with pytest.raises(errors.BadArgumentError, match="an export for 'cpu'"):
        convert_to_saved_model(tmp_path / "t", tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "shadow", "t"]


@pytest.mark.processes
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_tensorflow_answers_with_the_same_numbers_for_every_batch_size(tmp_path):
    layer = keras.layers.Dense(3, "tanh")
    layer.build((None, 4))
    function = ExportedFunction(
        lambda arrays: {"y": layer(arrays["x"])}, {"x": TensorInfo("float32", (None, 4))}, "regress"
    )
    save(function, tmp_path / "export", platforms=["cpu"])
    convert_to_saved_model(tmp_path / "export", tmp_path / "saved")
    x = np.random.default_rng(0).random((9, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    arguments = [str(tmp_path / name) for name in ("saved", "x.npy", "y.npy")]
    subprocess.run([sys.executable, "-c", SERVED, *arguments], check=True, timeout=200)
    signature = load(tmp_path / "export").signatures["serving_default"]
    expected = np.concatenate([signature(x[: n + 1])["y"] for n in range(9)])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, atol=1e-5)
    assert b"tensorflow/serving/regress" in (tmp_path / "saved" / "saved_model.pb").read_bytes()
