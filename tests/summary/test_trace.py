"""Profiles for TensorBoard's profile page."""

import jax.numpy as jnp
import pytest

import stratax as sx
from stratax import summary
from stratax.errors import BadArgumentError


def profiles(folder):
    return [path.relative_to(folder).parts for path in folder.rglob("*.xplane.pb")]


@pytest.mark.parametrize("at_start", [False, True])
def test_a_profile_stands_where_tensorboard_looks(tmp_path, at_start):
    outdir = tmp_path / "logs"
    summary.trace_on(profiler=True, profiler_outdir=outdir if at_start else None)
    with pytest.warns(UserWarning, match="already"):
        summary.trace_on(profiler=True)
    jnp.ones((3,)).sum().block_until_ready()
    summary.trace_export("name", step=0, profiler_outdir=None if at_start else outdir)
    ((plugins, profile, _, name),) = profiles(outdir)
    assert (plugins, profile) == ("plugins", "profile")
    assert next(outdir.rglob(name)).stat().st_size > 0


def test_a_trace_can_be_forgotten(tmp_path):
    summary.trace_off()
    summary.trace_on(profiler=True, profiler_outdir=tmp_path)
    summary.trace_off()
    with pytest.raises(BadArgumentError, match="no trace to export"):
        summary.trace_export("name", step=0)
    assert list(tmp_path.iterdir()) == []


def test_a_profile_needs_a_folder():
    summary.trace_on(profiler=True)
    with pytest.raises(BadArgumentError, match="profiler_outdir=None"):
        summary.trace_export("name", step=0)
    summary.trace_off()


def test_traces_are_not_begun_in_compiled_functions():
    @sx.function
    def f():
        summary.trace_on(profiler=True)
        summary.trace_export("name")

    with pytest.warns(UserWarning, match="inside a compiled function"):
        f()
    summary.trace_off()
