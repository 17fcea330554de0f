"""Updates of small variables are computed together, as they would be one by one."""

import re

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import cpu, jaxprs
from stratax.core.cpu import _joined
from tests.stressed import but

pytestmark = [pytest.mark.exact, pytest.mark.skipif(jax.default_backend() != "cpu", reason="only on CPUs")]

SHAPES = [(3,), (2, 3), (5,), (3, 3, 2, 1), (3,), (7,)]
OPTIMIZERS = ["adam", "sgd", "rmsprop", "adamw", "nadam", "adagrad", "lion"]


@pytest.fixture
def programs(monkeypatch):
    """The jaxprs of the programs that are compiled, as they are after joining."""
    given, made = _joined.join_small, []

    def joined(closed, results):
        made.append(given(closed, results))
        return made[-1]

    monkeypatch.setattr(cpu, "join_small", joined)
    return made


def _operations(closed):
    return [e for e in jaxprs.walk_nested(closed.jaxpr) if e.primitive is _joined.joined_p]


def _made(shapes=SHAPES):
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    return [keras.Variable(value) for value in values], [np.cos(value) for value in values]


def _trained(name, compiled):
    variables, gradients = _made()
    optimizer = keras.optimizers.get(name)
    optimizer.learning_rate = 0.1
    optimizer.build(variables)

    def step():
        optimizer.apply([2 * each for each in gradients], variables)

    run = sx.function(step) if compiled else step
    for _ in range(3):
        run()
    return [np.asarray(each) for each in [*variables, *optimizer.variables]]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_joined_updates_are_those_of_the_optimizer(name, programs):
    found = _trained(name, True)
    assert _operations(programs[0])
    for ours, plain in zip(found, _trained(name, False), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=2e-6, atol=1e-7)


def test_a_root_is_taken_once_for_all_variables(programs):
    _trained("adam", True)
    closed = programs[0]
    whole = jax.jit(lambda *given: _run(closed, given)).lower(*_arguments(closed)).as_text()
    # Those of the rate are of scalars.
    roots = re.findall(r"stablehlo.sqrt .*tensor<(\d.*)xf32>", whole)
    assert roots == [str(sum(int(np.prod(shape)) for shape in SHAPES))]


def test_all_parts_are_cut_out_by_one_function(programs):
    _trained("sgd", True)
    closed = programs[0]
    whole = jax.jit(lambda *given: _run(closed, given)).lower(*_arguments(closed)).as_text()
    holding = [each for each in whole.split("func.func")[1:] if "stablehlo.dynamic_slice" in each]
    assert [each.count("stablehlo.dynamic_slice") for each in holding] == [len(SHAPES)]


def test_other_devices_compute_one_by_one(programs):
    _trained("sgd", True)
    closed = programs[0]
    traced = jax.jit(lambda *given: _run(closed, given)).trace(*_arguments(closed))
    assert "concatenate" not in traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "concatenate" in traced.lower(lowering_platforms=("cpu",)).as_text()


def _run(closed, given):
    lifted = jaxprs.lift_inputs(closed, len(given))
    return lifted(*given)


def _arguments(closed):
    given = {e.params["index"]: e.outvars[0].aval for e in closed.jaxpr.eqns if "input" in e.primitive.name}
    return [jax.ShapeDtypeStruct(given[at].shape, given[at].dtype) for at in sorted(given)]


def test_a_nan_stays_where_it_is():
    variables, _ = _made()
    variables[1].assign(np.full(SHAPES[1], np.nan))

    @sx.function
    def step():
        for each in variables:
            each.assign(each * 2 + 1)

    before = [np.asarray(each) for each in variables]
    step()
    for old, new in zip(before, variables, strict=True):
        np.testing.assert_array_equal(np.asarray(new), old * 2 + 1)


def test_large_variables_and_other_formulas_are_left_alone(programs):
    large = [(_joined.MAX_SIZE + extra,) for extra in range(1, 6)]
    variables, _ = _made([*large, *SHAPES])

    @sx.function
    def step():
        for number, each in enumerate(variables):
            if number == len(large):
                each.assign(each / keras.ops.sum(each))
            else:
                each.assign(each + 1.0)

    before = [np.asarray(each) for each in variables]
    step()
    (operation,) = _operations(programs[0])
    assert [v.aval.shape for v in operation.outvars] == SHAPES[1:]
    for number, (old, new) in enumerate(zip(before, variables, strict=True)):
        expected = old / old.sum() if number == len(large) else old + 1
        np.testing.assert_allclose(np.asarray(new), expected, rtol=1e-6)


def test_few_shapes_are_left_alone(programs):
    variables, _ = _made([(3,), (4,), (3,), (5,)])

    @sx.function
    def step():
        for each in variables:
            each.assign_add(keras.ops.ones(each.shape))

    step()
    assert not _operations(programs[0])


def test_what_is_laid_end_to_end_is_computed_as_one(programs):
    variables, _ = _made()
    first, *others = variables

    @sx.function
    def step():
        parts = [keras.ops.reshape(each * 2 + 1, -1) for each in others]
        first.assign(keras.ops.ones(first.shape))
        return keras.ops.concatenate([keras.ops.ones(2), *parts, first.value])

    found = step()
    (operation,) = _operations(programs[0])
    assert not operation.params["is_cut"]
    whole = np.concatenate([np.asarray(each * 2 + 1).ravel() for each in others])
    assert [each.aval.shape for each in operation.outvars] == [whole.shape]
    np.testing.assert_array_equal(
        found, np.concatenate([np.ones(2, np.float32), whole, np.ones(3, np.float32)])
    )


# Eight replicas take the way of two.
@pytest.mark.parametrize("num_replicas", but(lambda num_replicas: num_replicas < 8, [1, 2, 8]))
def test_what_fit_updates_is_as_it_was_bit_by_bit(num_replicas, programs):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(num_replicas)])
    random = np.random.default_rng(0)
    x, y = random.random((16, 4), np.float32), random.integers(0, 3, 16)

    def fitted(scope):
        keras.utils.set_random_seed(1)
        with scope:
            hidden = [
                layer
                for size in (5, 6, 7, 8)
                for layer in (keras.layers.Dense(size), keras.layers.BatchNormalization())
            ]
            model = keras.Sequential([keras.layers.Input((4,)), *hidden, keras.layers.Dense(3)])
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile("adam", loss)
        model.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
        return model.get_weights()

    found = fitted(strategy.scope())
    operations = [each for closed in programs for each in _operations(closed)]
    assert any(each.params["is_cut"] for each in operations)
    # Moving statistics are averaged over the replicas in one buffer.
    assert all(each.params["is_cut"] for each in operations) == (num_replicas == 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "join_small", lambda closed, results: closed)
        plain = fitted(strategy.scope())
    for ours, theirs in zip(found, plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)
