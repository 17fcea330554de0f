"""Profiles of steps: what opens in TensorBoard, and what is forgotten."""

import glob
import types

import jax.numpy as jnp
import pytest

from stratax import summary
from stratax.summary.files import FileWriterCache
from stratax.tensorflow.estimator import ProfilerHook
from tests.tensorflow.estimator.hooks import loop


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


def test_a_profile_opens_in_tensorboard(tmp_path):
    def compute(session):
        (jnp.ones([64, 64]) @ jnp.ones([64, 64])).block_until_ready()

    loop.run([ProfilerHook(save_steps=2, output_dir=tmp_path)], 3, on_dispatch=compute)
    assert len(glob.glob(f"{tmp_path}/plugins/profile/*/*.xplane.pb")) == 1


def test_a_profile_of_a_dispatch_that_did_not_come_is_forgotten(tmp_path):
    hook, session = ProfilerHook(save_steps=1, output_dir=tmp_path), loop.Session()
    hook.begin()
    hook.after_create_session(session, None)
    hook.before_run(types.SimpleNamespace(session=session))
    hook.end(session)
    assert list(tmp_path.iterdir()) == []
    summary.trace_on(profiler=True)  # JAX has one profiler, which is free again.
    summary.trace_off()


def test_a_run_behind_one_that_failed_records_anew(tmp_path):
    hook = ProfilerHook(save_steps=1, output_dir=tmp_path)

    def fail(session):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop.run([hook], 1, on_dispatch=fail)
    loop.run([hook], 1)
    assert len(glob.glob(f"{tmp_path}/plugins/profile/*/*.xplane.pb")) == 1
