"""Programs are shown to a listener before they first run; where nobody listens they are what `jax.jit` makes."""

import threading

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.core import regions
from stratax.core.regions import _compiling
from stratax.errors import BadArgumentError


class Recorder(regions.Listener):
    def __init__(self):
        self.shown, self.runs = [], []

    def about_to_run(self, made):
        self.shown.append(made)

    def running(self, made):
        self.runs.append(made.name)


@pytest.fixture
def recorder():
    made = Recorder()
    regions.listen(made)
    yield made
    regions.listen(None)


def doubled(x):
    return x * 2


def test_where_nobody_listens_it_is_jaxs_own():
    made = regions.jit(doubled, name="doubled", donated=(0,), variables={0: [object()]})
    assert type(made) is type(jax.jit(doubled))
    value = jnp.ones(2)
    np.testing.assert_array_equal(made(value), [2.0, 2.0])
    assert value.is_deleted()
    # Nothing is kept for devices that nobody asks about.
    _compiling.retraceable(made, lambda devices, examples: None)
    assert not regions.is_heard()


def test_options_are_jaxs(recorder):
    made = regions.jit(lambda x, n: x * n, name="times", static_argnums=1)
    assert float(made(3.0, 2)) == 6.0


def test_a_program_is_shown_once_for_each_shape_dtype_and_sharding(recorder):
    made = regions.jit(doubled, name="doubled")
    spread = NamedSharding(Mesh(np.array(jax.devices()[:2]), ("replica",)), PartitionSpec("replica"))
    for value in (
        jnp.ones(2),
        jnp.zeros(2),
        jnp.ones(4),
        jnp.ones(2, jnp.int32),
        jax.device_put(np.ones(2), spread),
    ):
        np.testing.assert_array_equal(made(value), 2 * np.asarray(value))
    shown = [(each.arguments[0].shape, each.arguments[0].dtype.name) for each in recorder.shown]
    assert shown == [((2,), "float32"), ((4,), "float32"), ((2,), "int32"), ((2,), "float32")]
    assert recorder.shown[-1].arguments[0].sharding == spread
    assert recorder.runs == ["doubled"] * 5


def test_a_listener_sees_programs_before_they_run_with_what_they_may_overwrite(recorder):
    weight = keras.Variable(np.ones(3, "float32"))
    made = regions.jit(
        lambda state, x: [state[0] + x, state[1]],
        name="step",
        donated=(0,),
        variables={0: [weight, object()]},
    )
    state = [jnp.ones(3), jnp.ones(1)]
    made(state, 1.0)
    assert state[0].is_deleted()
    (shown,) = recorder.shown
    assert (shown.name, shown.donated, shown.is_window) == ("step", (0,), False)
    assert shown.variables[0][0] is weight
    assert shown.variables[0][1] is None
    assert shown.arguments[1].weak_type
    assert shown.compiled.lower(*shown.arguments).compile() is not None


@pytest.mark.parametrize("method", ["about_to_run", "running"])
def test_an_error_of_a_listener_ends_the_call_before_it(recorder, monkeypatch, method):
    made = regions.jit(doubled, name="doubled", donated=(0,))
    value = jnp.ones(2)

    def fail(made):
        raise KeyError("enough")

    monkeypatch.setattr(recorder, method, fail)
    with pytest.raises(KeyError, match="enough"):
        made(value)
    assert not value.is_deleted()
    monkeypatch.undo()
    np.testing.assert_array_equal(made(value), [2.0, 2.0])


def test_the_last_listener_is_shown_what_is_made_from_then_on(recorder):
    before = regions.jit(doubled, name="before")
    other = Recorder()
    regions.listen(other)
    after = regions.jit(doubled, name="after")
    before(1.0), after(1.0)
    assert (recorder.runs, other.runs) == (["before"], ["after"])
    regions.listen(None)
    after(1.0)
    # A program that was shown stays so: it may be what somebody waits for.
    assert other.runs == ["after", "after"]
    assert regions.jit(doubled, name="later")(1.0) == 2.0
    assert other.runs == ["after", "after"]


def test_a_program_that_another_one_calls_runs_inside_of_it(recorder):
    inner = regions.jit(doubled, name="inner")
    outer = regions.jit(lambda x: inner(x) + 1, name="outer")
    assert float(outer(3.0)) == 7.0
    assert float(outer(4.0)) == 9.0
    assert recorder.runs == ["outer", "outer"]
    assert [each.name for each in recorder.shown] == ["outer"]


def test_threads_are_all_heard(recorder):
    made = regions.jit(doubled, name="doubled")
    sizes = range(1, 5)
    threads = [threading.Thread(target=lambda size=size: made(jnp.ones(size))) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.arguments[0].shape for each in recorder.shown) == [(size,) for size in sizes]
    assert len(recorder.runs) == len(threads)


def test_arguments_of_other_devices_hold_as_much_on_each(recorder):
    mesh = Mesh(np.array(jax.devices()[:2]), ("replica",))
    value = jax.device_put(np.ones((4, 2, 3)), NamedSharding(mesh, PartitionSpec(None, "replica")))
    more = NamedSharding(Mesh(np.array(jax.devices()), ("replica",)), PartitionSpec())
    batch, number = _compiling.move_specs([value, np.float32(1)], more)
    assert (batch.shape, number.shape) == ((4, jax.device_count(), 3), ())
    assert batch.sharding.mesh.size == jax.device_count()
    (larger,) = _compiling.move_specs([value], more, 5)
    assert larger.shape == (4, jax.device_count(), 5)
    with pytest.raises(BadArgumentError, match=r"None of the program's arguments is divided.*Received: 5"):
        _compiling.move_specs([np.float32(1)], more, 5)
