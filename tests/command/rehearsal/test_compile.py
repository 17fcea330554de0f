"""`stratax.tpu.compile`: what is wrong is told before anything is traced, and what compiles is reported."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.command.rehearsal import _compile, as_table
from tests.command.rehearsal.devices import DEVICES, needs_libtpu

BATCH = jax.ShapeDtypeStruct((64, 4), np.dtype("float32"))
LABELS = jax.ShapeDtypeStruct((64, 2), np.dtype("float32"))


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(_compile, "check_installed", lambda: None)


def test_topologies_are_checked_first():
    with pytest.raises(errors.BadArgumentError, match="no TPU topology"):
        sx.tpu.compile(abs, "v5e:3x3", BATCH)


@pytest.mark.parametrize("shape", [(63, 4), (), (None, 4)])
def test_batches_divide_among_the_devices(installed, shape):
    spec = sx.data.TensorSpec(shape, "float32")
    with pytest.raises(errors.BadArgumentError, match=r"divided among 8 replicas on v5e:2x4"):
        sx.tpu.compile(abs, "v5e:2x4", spec)


def test_arguments_have_types(installed):
    with pytest.raises(errors.BadTypeError, match=r"shape and dtype of each argument.*Received: 3"):
        sx.tpu.compile(abs, "v5e:2x4", 3)


def test_functions_and_models_are_compiled_and_nothing_else(installed):
    with pytest.raises(errors.BadTypeError, match="takes a function or a model"):
        sx.tpu.compile(3, "v5e:2x4", BATCH)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    with pytest.raises(errors.BadArgumentError, match=r"model\.compile\(optimizer, loss\)"):
        sx.tpu.compile(model, "v5e:2x4", BATCH, LABELS)


def test_variables_have_to_be_on_the_replicas_devices(installed):
    with (
        sx.distribute.CentralStorageStrategy(DEVICES[:2]).scope(),
        pytest.raises(errors.StrategyError, match="copy of each variable"),
    ):
        sx.tpu.compile(abs, "v5e:2x4", BATCH)


@needs_libtpu
def test_a_function_is_compiled_for_a_slice():
    report = sx.tpu.compile(lambda x: x @ x.T, "v5e:2x4", BATCH)
    assert report.fits
    assert report.flops == 2 * 8 * 8 * 4
    assert report.examples == 64
    assert not report.collectives
    assert "v5e:2x4 (8 devices): fits" in as_table([report])
    assert str(report) == as_table([report])


@needs_libtpu
def test_a_models_step_adds_up_its_gradients_in_one_collective_and_reuses_its_buffers():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2)])
    model.compile("adam", "mse", metrics=["mae"])
    report = sx.tpu.compile(model, "v3-8", BATCH, LABELS)
    assert report.fits
    assert report.memory.slots >= 2 * report.memory.weights - 100
    assert report.memory.reused >= report.memory.donated
    assert sum(each.kind == "all-reduce" for each in report.collectives) <= 2
    # The model itself is as it was, and trains.
    model.fit(np.zeros((4, 4), "float32"), np.zeros((4, 2), "float32"), verbose=0)


@needs_libtpu
def test_what_does_not_fit_says_what_it_needs():
    report = sx.tpu.compile(
        lambda x: x @ x.T, "v5e:1x1", jax.ShapeDtypeStruct((200_000, 20_000), np.dtype("float32"))
    )
    assert not report.fits
    assert report.failure.kind == "memory"
    assert "does not fit" in as_table([report])
