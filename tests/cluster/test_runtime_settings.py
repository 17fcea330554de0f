"""Settings of TensorFlow's runtime: what JAX has too, and what has no effect and says so."""

import jax
import pytest

import stratax.tf as tf
from stratax.cluster import _physical, _runtime_settings


def test_what_has_no_effect_is_told_again(monkeypatch):
    monkeypatch.setattr(_runtime_settings, "_settings", _runtime_settings._Settings())
    assert tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_jit(True)
    assert tf.config.optimizer.get_jit() == "autoclustering"
    tf.config.optimizer.set_jit("other")
    assert tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_experimental_options({"layout_optimizer": True})
    assert tf.config.optimizer.get_experimental_options() == {
        "layout_optimizer": True,
        "disable_model_pruning": False,
        "disable_meta_optimizer": False,
    }
    threading = tf.config.threading
    assert threading.get_intra_op_parallelism_threads() == threading.get_inter_op_parallelism_threads() == 0
    threading.set_intra_op_parallelism_threads(2)
    threading.set_inter_op_parallelism_threads(3)
    assert threading.get_intra_op_parallelism_threads() == 2
    assert threading.get_inter_op_parallelism_threads() == 3
    with pytest.raises(ValueError, match=r"number of threads.*num_threads='2'"):
        threading.set_intra_op_parallelism_threads("2")
    assert tf.config.experimental.get_synchronous_execution()
    tf.config.experimental.set_synchronous_execution(False)
    assert not tf.config.experimental.get_synchronous_execution()
    assert tf.config.experimental.get_device_policy() == "silent"
    with pytest.raises(ValueError, match=r"one of silent, .*device_policy='loud'"):
        tf.config.experimental.set_device_policy("loud")


def test_settings_of_jax_are_made_under_tensorflows_names(monkeypatch):
    told = {}
    monkeypatch.setattr(_runtime_settings, "_settings", _runtime_settings._Settings())
    monkeypatch.setattr(jax.config, "update", told.__setitem__)
    tf.config.experimental.set_device_policy("explicit")
    tf.config.experimental.enable_tensor_float_32_execution(False)
    assert told == {
        "jax_transfer_guard_device_to_device": "disallow",
        "jax_default_matmul_precision": "highest",
    }
    assert tf.config.experimental.get_device_policy() == "explicit"
    assert tf.config.experimental.tensor_float_32_execution_enabled()


def test_gpus_are_asked_to_be_deterministic_before_they_start(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--some=1")
    tf.config.experimental.enable_op_determinism()
    assert _runtime_settings.os.environ["XLA_FLAGS"] == "--some=1"
    monkeypatch.setattr(_physical, "has_plugin", lambda platform: platform == "cuda")
    with pytest.raises(RuntimeError, match=r"JAX has started already.*XLA_FLAGS=--xla_gpu_deterministic_ops"):
        tf.config.experimental.enable_op_determinism()
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    tf.config.experimental.enable_op_determinism()
    assert _runtime_settings.os.environ["XLA_FLAGS"] == "--some=1 --xla_gpu_deterministic_ops=true"
