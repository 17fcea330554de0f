"""Modules of other libraries in compiled functions: what they change in place is not lost without a word."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Module:
    """A module as those of Flax NNX are: a pytree whose arrays can be replaced."""

    weight: Any
    parts: Any = ()


def changed(module, x):
    module.weight = module.weight - 0.1 * x.sum()
    return module.weight.sum()


RUNS = [
    lambda function, *arguments: sx.function(function)(*arguments),
    lambda function, *arguments: sx.distribute.MirroredStrategy().run(function, arguments),
    lambda function, *arguments: sx.distribute.OneDeviceStrategy("/cpu:0").run(function, arguments),
]


@pytest.fixture(params=RUNS, ids=["function", "replicas", "one replica"])
def run(request):
    """Runs a compiled function."""
    return request.param


def test_a_change_that_would_be_lost_raises(run):
    module = Module(jnp.ones(3))
    places = [lambda it: it, lambda it: it[0], lambda it: it["it"].parts[0]]
    arguments = [module, [module], {"it": Module(jnp.ones(3), [module])}]
    for argument, place in zip(arguments, places, strict=True):
        with pytest.raises(errors.TracingError, match=r"changes an argument in place.*Received: 'Module'"):
            run(lambda it, x, place=place: changed(place(it), x), argument, jnp.ones(3))
    assert module.weight.tolist() == [1.0, 1.0, 1.0]


def test_what_is_returned_is_not_lost(run):
    def returning(module, x):
        changed(module, x)
        return module

    module = run(returning, Module(jnp.ones(3)), jnp.ones(3))
    weight = module.weight.values[0] if hasattr(module.weight, "values") else module.weight
    np.testing.assert_allclose(weight, 0.7, rtol=1e-6)


def test_structures_of_pythons_and_modules_that_are_only_used_may_be_taken_apart(run):
    def using(features, module):
        label = features.pop("label")
        features["more"] = label
        return label * module.weight.sum()

    assert run(using, {"label": jnp.float32(2.0)}, Module(jnp.ones(3))) is not None


def test_keys_of_jax_are_arguments(run):
    key = jax.random.key(3)
    drawn = run(lambda key: jax.random.uniform(key), key)
    first = drawn.values[0] if hasattr(drawn, "values") else drawn
    assert float(first) == float(jax.random.uniform(key))
    assert "key<fry>" in str(run(lambda key: jax.random.split(key)[0], key))


class TestFlax:
    @pytest.fixture
    def trained(self):
        """A module of Flax NNX with its optimizer."""
        nnx = pytest.importorskip("flax.nnx")
        optax = pytest.importorskip("optax")
        model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
        return nnx, model, nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)

    def test_an_update_of_modules_from_outside_says_how_it_is_made(self, run, trained):
        nnx, model, optimizer = trained
        gradients = jax.tree.map(jnp.ones_like, nnx.state(model, nnx.Param))
        with pytest.raises(
            errors.TracingError, match=r"Flax NNX that was made outside.*docs/jax_libraries.md"
        ):
            run(lambda x: optimizer.update(model, gradients), jnp.ones(3))
        with pytest.raises(
            errors.TracingError, match=r"changes or differentiates.*Expected: the module's state"
        ):
            run(lambda x: nnx.grad(lambda model: model(x).sum())(model), jnp.ones(3))

    def test_statistics_of_a_module_from_outside_say_how_they_are_kept(self, run, trained):
        nnx, *_ = trained
        norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
        strategy = sx.distribute.MirroredStrategy()
        with strategy.scope():
            state = jax.tree.map(lambda array: sx.Variable(array, trainable=False), nnx.state(norm))
        # Its arrays lie on the replicas' devices from here on.
        nnx.update(norm, jax.tree.map(lambda variable: variable.value, state))
        with pytest.raises(errors.TracingError, match=r"Flax NNX that was made outside"):
            run(lambda x: norm(x), jnp.ones((4, 3)))
        norm.eval()
        assert jax.tree.leaves(run(lambda x: norm(x), jnp.ones((4, 3))))[0].shape[-1] == 3

    def test_an_update_in_replicas_is_that_of_one_device(self, trained):
        nnx, model, optimizer = trained
        graph, state = nnx.split((model, optimizer))
        strategy = sx.distribute.MirroredStrategy()
        with strategy.scope():
            variables = jax.tree.map(
                lambda array: sx.Variable(array, trainable=False, aggregation="only_first_replica"), state
            )

        def step(x):
            model, optimizer = nnx.merge(graph, jax.tree.map(lambda variable: variable.value, variables))
            gradients = nnx.grad(lambda model: (model(x) ** 2).sum())(model)
            gradients = sx.distribute.get_replica_context().all_reduce("sum", gradients)
            optimizer.update(model, gradients)
            state = nnx.state((model, optimizer))
            jax.tree.map(lambda variable, value: variable.assign(value), variables, state)

        x = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
        batches = sx.Dataset.from_tensor_slices(x).batch(16).repeat(3)
        for batch in strategy.experimental_distribute_dataset(batches):
            strategy.run(step, args=(batch,))
        for _ in range(3):
            optimizer.update(model, nnx.grad(lambda model: (model(x) ** 2).sum())(model))
        np.testing.assert_allclose(variables[0]["kernel"].get_value().value, model.kernel[...], rtol=1e-5)
