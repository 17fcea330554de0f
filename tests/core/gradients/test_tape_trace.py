"""GradientTape against jax.grad: models, transformations, and the programs that come out."""

import collections
import gc

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from jax.extend import core as jax_core
from jax.sharding import PartitionSpec

from stratax.core import GradientTape, jaxprs, regions
from stratax.core.gradients import _tape_trace
from stratax.core.gradients._tape_trace import TapeTrace, play_back
from tests.stressed import but

RNG = np.random.default_rng(0)
FLAT = RNG.normal(size=(8, 6)).astype("float32")
IMAGES = RNG.normal(size=(4, 8, 8, 2)).astype("float32")
TOKENS = RNG.integers(0, 11, size=(4, 5))
SEQUENCES = RNG.normal(size=(4, 5, 6)).astype("float32")


def sequential(*layers):
    keras.utils.set_random_seed(1)
    return keras.Sequential(list(layers))


def attention():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((5, 6))
    y = keras.layers.MultiHeadAttention(2, 3)(inputs, inputs)
    y = keras.layers.LayerNormalization()(inputs + y)
    return keras.Model(inputs, keras.layers.Dense(3)(keras.layers.Flatten()(y)))


MODELS = {
    "mlp": (lambda: sequential(keras.layers.Dense(5, "relu"), keras.layers.Dense(3)), FLAT),
    "cnn": (
        lambda: sequential(
            keras.layers.Conv2D(3, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ),
        IMAGES,
    ),
    "batch_norm": (
        lambda: sequential(keras.layers.Dense(5), keras.layers.BatchNormalization(), keras.layers.Dense(3)),
        FLAT,
    ),
    "dropout": (
        lambda: sequential(
            keras.layers.Dense(5, "gelu"), keras.layers.Dropout(0.5, seed=4), keras.layers.Dense(3)
        ),
        FLAT,
    ),
    "embedding": (
        lambda: sequential(
            keras.layers.Embedding(11, 4), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(3)
        ),
        TOKENS,
    ),
    "attention": (attention, SEQUENCES),
    "lstm": (lambda: sequential(keras.layers.LSTM(4), keras.layers.Dense(3)), SEQUENCES),
    "bfloat16": (
        lambda: sequential(
            keras.layers.Dense(5, "relu", dtype="mixed_bfloat16"), keras.layers.Dense(3, dtype="float32")
        ),
        FLAT,
    ),
}


def built(name):
    make, x = MODELS[name]
    model = make()
    model.build(x.shape)
    return model, x, RNG.integers(0, 3, size=len(x))


def loss_of(logits, y):
    return keras.ops.mean(keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True))


def by_hand(model):
    def loss(trainable, non_trainable, x, y):
        logits, new = model.stateless_call(trainable, non_trainable, x, training=True)
        return loss_of(logits, y), new

    return jax.value_and_grad(loss, has_aux=True)


def under_tape(model):
    def step(trainable, non_trainable, x, y):
        mapping = list(zip(model.trainable_variables, trainable, strict=True))
        mapping += zip(model.non_trainable_variables, non_trainable, strict=True)
        with keras.StatelessScope(mapping) as scope:
            with GradientTape() as tape:
                loss = loss_of(model(x, training=True), y)
            gradients = tape.gradient(loss, model.trainable_variables)
            return (loss, [scope.get_current_value(v) for v in model.non_trainable_variables]), gradients

    return step


def state_of(model):
    return [
        [np.asarray(v.value) for v in vs] for vs in (model.trainable_variables, model.non_trainable_variables)
    ]


def assert_close(actual, expected, **tolerance):
    jax.tree.map(
        lambda a, e: np.testing.assert_allclose(a, e, **{"rtol": 1e-5, "atol": 1e-6, **tolerance}),
        actual,
        expected,
    )


def equation_counts(jaxpr):
    return collections.Counter(equation.primitive.name for equation in jaxprs.walk_nested(jaxpr))


@pytest.mark.parametrize("name", but(lambda name: name not in ("attention", "lstm"), MODELS))
def test_eager_gradients_and_side_effects_equal_jax(name):
    model, x, y = built(name)
    (expected_loss, expected_state), expected = by_hand(model)(*state_of(model), x, y)
    with GradientTape() as tape:
        loss = loss_of(model(x, training=True), y)
    gradients = tape.gradient(loss, model.trainable_variables)
    tolerance = {"rtol": 2e-2, "atol": 1e-3} if name == "bfloat16" else {}
    assert_close(loss, expected_loss, **tolerance)
    assert_close(gradients, expected, **tolerance)
    assert [g.dtype for g in gradients] == ["float32"] * len(gradients)
    assert_close([v.value for v in model.non_trainable_variables], expected_state)


@pytest.mark.parametrize(
    "name", but(lambda name: name in ("cnn", "batch_norm"), ["mlp", "cnn", "batch_norm", "attention", "lstm"])
)
def test_the_compiled_step_holds_the_forward_pass_once(name):
    model, x, y = built(name)
    state = state_of(model)
    ours = equation_counts(jax.make_jaxpr(under_tape(model))(*state, x, y).jaxpr)
    reference = equation_counts(jax.make_jaxpr(by_hand(model))(*state, x, y).jaxpr)
    heavy = [
        "dot_general",
        "conv_general_dilated",
        "exp",
        "log",
        "tanh",
        "logistic",
        "scan",
        "reduce_window_max",
        "sqrt",
    ]
    assert {key: ours[key] for key in heavy} == {key: reference[key] for key in heavy}
    assert reference["dot_general"] + reference["scan"] > 0
    assert_close(jax.jit(under_tape(model))(*state, x, y), jax.jit(by_hand(model))(*state, x, y))


@jax.custom_vjp
def reverse(x):
    return x


reverse.defvjp(lambda x: (x, None), lambda _, g: (-g,))


@jax.custom_jvp
def cubed(x):
    return x**3


@cubed.defjvp
def _cubed_jvp(primals, tangents):
    return cubed(primals[0]), 100.0 * tangents[0]


W = jnp.array([0.5, -1.5, 2.0])
FUNCTIONS = {
    "relu": lambda w: jnp.sum(jax.nn.relu(w) * w),
    "logsumexp": lambda w: jax.nn.logsumexp(w),
    "custom_vjp": lambda w: jnp.sum(reverse(w) * 2),
    "custom_jvp": lambda w: jnp.sum(cubed(w)),
    "stop_gradient": lambda w: jnp.sum(jax.lax.stop_gradient(w) * w),
    "jit": lambda w: jnp.sum(jax.jit(lambda a, b: (a * b, a + b))(w, w)[0]),
    "jit_identity": lambda w: jnp.sum(jax.jit(lambda a: a)(w) * w),
    "jit_closure": lambda w: jnp.sum(jax.jit(lambda a: a * w)(jnp.ones(3))),
    "nested_jit_closure": lambda w: jnp.sum(jax.jit(jax.jit(lambda a: jnp.sin(a * w)))(jnp.ones(3))),
    "scan": lambda w: jnp.sum(jax.lax.scan(lambda c, e: (c * w, c + e), w, jnp.ones((4, 3)))[0]),
    "scan_ys": lambda w: jnp.sum(jax.lax.scan(lambda c, e: (c, jnp.sin(w) * e), 0.0, jnp.ones((4, 3)))[1]),
    "cond": lambda w: jnp.sum(jax.lax.cond(w[0] > 0, lambda a: a * w, lambda a: a, w)),
    "fori_loop": lambda w: jnp.sum(jax.lax.fori_loop(0, 3, lambda i, c: c * w, w)),
    "checkpoint": lambda w: jnp.sum(jax.checkpoint(lambda a: jnp.sin(a) * w)(w)),
    "vmap": lambda w: jnp.sum(jax.vmap(lambda a: a * w)(jnp.ones((2, 3)))),
    "inner_grad": lambda w: jnp.sum(jax.grad(lambda a: jnp.sum(a**3 * w))(w)),
    "integers": lambda w: jnp.sum(jnp.sort(w)[::-1][:2]) + w[jnp.argmax(w)],
    "two_outputs": lambda w: jnp.linalg.eigh(jnp.outer(w, w) + jnp.diag(jnp.arange(3.0)))[0][0],
    "cumulative": lambda w: jnp.cumsum(w)[-1] * jnp.max(w),
    "complex": lambda w: jnp.sum(jnp.abs(jnp.fft.fft(w)) ** 2),
    "control": lambda w: jnp.sum(w) if float(jnp.max(jax.lax.stop_gradient(jnp.ones(1)))) > 0 else w[0],
}


def taped(function):
    def gradient(w):
        with GradientTape() as tape:
            tape.watch(w)
            y = function(w)
        return tape.gradient(y, w)

    return gradient


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_derivative_that_jax_gives_eagerly_and_compiled(name):
    function = FUNCTIONS[name]
    expected = jax.grad(function)(W)
    np.testing.assert_allclose(taped(function)(W), expected, rtol=1e-4, atol=1e-5)
    if name != "control":
        np.testing.assert_allclose(jax.jit(taped(function))(W), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["relu", "logsumexp", "jit", "scan", "checkpoint", "custom_vjp"])
def test_second_derivatives_equal_jax(name):
    function = FUNCTIONS[name]

    def penalty(gradient):
        return lambda w: jnp.sum(gradient(w) ** 2 * w)

    expected = jax.grad(penalty(jax.grad(function)))(W)
    twice = taped(penalty(taped(function)))
    np.testing.assert_allclose(twice(W), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.jit(twice)(W), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.grad(penalty(taped(function)))(W), expected, rtol=1e-4, atol=1e-4)


def test_a_gradient_penalty_through_a_model_equals_jax():
    model, x, _ = built("mlp")
    x = jnp.asarray(x)
    trainable, rest = state_of(model)

    def critic(variables, x):
        return jnp.sum(model.stateless_call(variables, rest, x)[0] ** 2)

    def penalty(variables):
        slopes = jax.grad(critic, argnums=1)(variables, x)
        return jnp.mean((jnp.linalg.norm(slopes, axis=1) - 1.0) ** 2)

    with GradientTape() as outer:
        with GradientTape(watch_accessed_variables=False) as inner:
            inner.watch(x)
            y = keras.ops.sum(model(x) ** 2)
        slopes = inner.gradient(y, x)
        loss = jnp.mean((jnp.linalg.norm(slopes, axis=1) - 1.0) ** 2)
    gradients = outer.gradient(loss, model.trainable_variables, unconnected_gradients="zero")
    assert_close(gradients, jax.grad(penalty)(trainable), rtol=1e-4, atol=1e-5)


def test_inside_a_mapped_replica_each_gradient_is_its_own():
    mesh = jax.make_mesh((8,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = PartitionSpec("replica")

    def replica(w, x):
        with GradientTape() as tape:
            tape.watch(w)
            loss = jnp.mean(jnp.sin(x @ w))
        local = tape.gradient(loss, w)
        return local[None], jax.lax.pmean(local, "replica")

    mapped = jax.shard_map(
        replica,
        mesh=mesh,
        in_specs=(PartitionSpec(), rows),
        out_specs=(rows, PartitionSpec()),
        check_vma=False,
    )
    w, x = jnp.arange(3.0), jnp.asarray(RNG.normal(size=(16, 3)).astype("float32"))
    expected = jax.vmap(jax.grad(lambda w, x: jnp.mean(jnp.sin(x @ w))), (None, 0))(w, x.reshape(8, 2, 3))
    local, mean = jax.jit(mapped)(w, x)
    np.testing.assert_allclose(local, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mean, expected.mean(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_tape_around_a_mapped_function(compiled):
    mesh = jax.make_mesh((8,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    mapped = jax.shard_map(
        lambda w, x: jax.lax.psum(jnp.sum(w * x), "replica"),
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec("replica")),
        out_specs=PartitionSpec(),
        check_vma=False,
    )
    x = jnp.arange(8.0)
    gradient = taped(lambda w: mapped(w, x))
    actual = (jax.jit(gradient) if compiled else gradient)(jnp.float32(2.0))
    assert float(actual) == float(jax.grad(lambda w: jax.jit(mapped)(w, x))(jnp.float32(2.0)))


def test_inside_the_body_of_a_scan():
    def step(w, x):
        with GradientTape() as tape:
            tape.watch(w)
            loss = jnp.mean((x * w - 1.0) ** 2)
        return w - 0.1 * tape.gradient(loss, w), loss

    def reference(w, x):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x * w - 1.0) ** 2))(w)
        return w - 0.1 * gradient, loss

    xs = jnp.asarray(RNG.normal(size=(10, 3)).astype("float32"))
    assert_close(jax.lax.scan(step, W, xs), jax.lax.scan(reference, W, xs))


def test_the_tape_relies_on_these_internals_of_jax():
    """Fails with a plain message when a new version of JAX changes what `_tape_trace.py` builds on."""
    outputs, vjp, _ = jax.vjp(lambda a, b: ([a * b, jnp.floor(a)], [1]), W, W, has_aux=True)
    spec, known, jaxpr, _ = vjp.fun.args
    assert known == [False, True]
    assert len(jaxpr.outvars) == 1
    # Residuals are constants in JAX 0.10, the first inputs in 0.11.
    assert len(jaxpr.constvars) + len(jaxpr.invars) == len(spec) + 2
    assert all(hasattr(entry, "idx") and hasattr(entry, "primal") for entry in spec)
    assert len(outputs) == 2
    assert type(jax.vjp(lambda a: 2.0 * a, W)[1].args_res[0]).__name__ == "NotNeeded"
    outer = regions.current_trace()
    trace = TapeTrace(outer, [])
    seen = []

    def rebind(primitive, args, params):
        subfuns = params.pop("subfuns")
        seen.append(sorted(params))
        # JAX 0.11 leaves no trace in place while a primitive is bound.
        with jax_core.set_current_trace(outer):
            return subfuns[0].call_wrapped(*args)

    trace._rebind = rebind
    with jax_core.set_current_trace(trace):
        reverse(W), cubed(W)
    assert seen == [["out_trees", "symbolic_zeros"], ["symbolic_zeros"]]


def recorded(fn, *watched):
    """What a trace recorded of a function, the nodes of what it followed, and the function's result."""
    records = []
    trace = TapeTrace(regions.current_trace(), records)
    nodes = [trace.follow(value) for value in watched]
    with jax_core.set_current_trace(trace):
        result = fn(*watched)
    return trace, records, nodes, result


def test_only_what_depends_on_a_followed_value_is_recorded_and_results_are_plain_arrays():
    x, other = jnp.float32(3.0), jnp.float32(5.0)
    _, records, nodes, (y, z) = recorded(lambda x: (jnp.multiply(x, other), jnp.multiply(other, other)), x)
    assert (float(y), float(z)) == (15.0, 25.0)
    assert not isinstance(y, jax.core.Tracer)
    assert [record.inputs for record in records] == [nodes]


def test_cotangents_go_through_the_records_between_targets_and_sources_and_no_others():
    x, z = jnp.float32(3.0), jnp.float32(2.0)
    trace, records, (x_node, z_node), (y, _) = recorded(
        lambda x, z: (jnp.multiply(x, x), jnp.log(jnp.multiply(z, -1.0))), x, z
    )
    seeds = [(trace.node_of(y), jnp.float32(10.0))]
    found = play_back(records, seeds, [x_node, z_node], consume=False)
    assert {node: float(value) for node, value in found.items()} == {x_node: 60.0}
    assert len(records) == 3
    assert play_back(records, seeds, [z_node], consume=False) == {}
    twice = [*seeds, (trace.node_of(y), jnp.float32(1.0)), (x_node, jnp.float32(100.0))]
    found = play_back(records, twice, [x_node, trace.node_of(y)], consume=True)
    assert {node: float(value) for node, value in found.items()} == {x_node: 166.0, trace.node_of(y): 11.0}
    assert records == []


def test_what_is_gone_is_not_followed_and_its_identity_is_free():
    x = jnp.float32(3.0) + 1
    trace, _, (node,), _ = recorded(lambda x: None, x)
    assert trace.node_of(x) is trace.follow(x) is node
    key = id(x)
    del x
    gc.collect()
    assert node.reference() is None
    assert key not in trace._nodes
    kept = jnp.float32(4.0)
    trace._nodes[id(kept)] = node  # As if it had got the identity of the one before.
    assert trace.node_of(kept) is None
    assert trace.follow(kept) is trace.node_of(kept) is not node
    trace.forget_all()
    assert trace.node_of(kept) is None


def test_what_gives_back_the_very_same_array_is_an_operation_all_the_same():
    x = jnp.float32(3.0)
    trace, records, (node,), y = recorded(reverse, x)
    assert y is not x
    found = play_back(records, [(trace.node_of(y), jnp.float32(1.0))], [node], consume=True)
    assert float(found[node]) == -1.0


def test_results_that_are_no_floats_have_no_cotangents_and_keep_their_places():
    x = jnp.float32([1.0, 3.0, 2.0])
    trace, records, (node,), (values, places) = recorded(lambda x: jax.lax.top_k(x, 2), x)
    assert (values.tolist(), places.tolist()) == ([3.0, 2.0], [1, 2])
    assert trace.node_of(places) is None
    found = play_back(records, [(trace.node_of(values), jnp.float32([10.0, 1.0]))], [node], consume=True)
    assert found[node].tolist() == [0.0, 10.0, 1.0]


def test_what_has_no_slope_is_not_followed_any_further():
    trace, records, _, y = recorded(jnp.floor, jnp.float32(3.5))
    assert trace.node_of(y) is None
    assert records == []


def test_a_followed_array_that_jitted_functions_close_over_is_found():
    x = jnp.float32([3.0, 1.0])
    inner = jax.jit(lambda y: x * y)
    outer = jax.jit(lambda y: inner(y) + 1)
    trace, records, (node,), y = recorded(lambda x: outer(jnp.float32(2.0)), x)
    found = play_back(records, [(trace.node_of(y), jnp.ones(2))], [node], consume=True)
    assert found[node].tolist() == [2.0, 2.0]


def test_a_trace_that_computes_at_once_is_distinguished_from_one_that_is_compiled():
    seen = [_tape_trace.is_eager(regions.current_trace())]
    jax.make_jaxpr(lambda x: seen.append(_tape_trace.is_eager(regions.current_trace())) or x)(1.0)
    assert seen == [True, False]
