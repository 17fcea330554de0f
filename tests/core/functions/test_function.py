"""Compiled functions: what makes a new program, what goes in and out, and how retracing is reported."""

import collections
import dataclasses
import functools
import gc
import logging
import warnings
import weakref

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core.functions import _function

Pair = collections.namedtuple("Pair", "left right")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Batch:
    x: jax.Array
    y: jax.Array
    name: str = dataclasses.field(metadata={"static": True}, default="batch")


class Traced:
    """A function that counts how often it is traced."""

    def __init__(self, body):
        self.count = 0

        @functools.wraps(body)
        def counted(*args, **kwargs):
            self.count += 1
            return body(*args, **kwargs)

        self.function = sx.function(counted)


def test_a_second_call_neither_traces_nor_compiles(caplog):
    traced = Traced(lambda x: x * 2)
    first = traced.function(jnp.arange(3.0))
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        second = traced.function(jnp.arange(3.0) + 1)
    assert traced.count == 1
    assert traced.function.num_programs == 1
    assert not [r for r in caplog.records if "counted" in r.getMessage()]
    np.testing.assert_array_equal(first, [0, 2, 4])
    np.testing.assert_array_equal(second, [2, 4, 6])


def test_arrays_count_by_shape_and_dtype_and_everything_else_by_value():
    traced = Traced(lambda x, how="mean", times=1: (x.mean() if how == "mean" else x.sum()) * times)
    calls = [
        ((jnp.ones(3),), {}),
        ((np.ones(3, "float32"),), {}),  # a NumPy array of the same shape and dtype
        ((jnp.zeros(3),), {"how": "mean"}),  # the default, spelled out
        ((jnp.ones(3),), {"how": "sum"}),
        ((jnp.ones(4),), {"how": "sum"}),
        ((jnp.ones(4, "int32"),), {"how": "sum"}),
        ((jnp.ones(4, "int32"), "sum", 3), {}),
        ((jnp.ones(4, "int32"), "sum"), {"times": 3}),
    ]
    results, traces = [], []
    for args, kwargs in calls:
        results.append(float(traced.function(*args, **kwargs)))
        traces.append(traced.count)
    assert results == [1, 1, 0, 3, 4, 4, 12, 12]
    assert traces == [1, 1, 1, 2, 3, 4, 5, 5]


def test_numbers_are_static_and_numpy_scalars_are_not():
    traced = Traced(lambda x: x + 1)
    values = [float(traced.function(value)) for value in (1.0, 2.0, np.float32(3), np.float32(4), True, 1)]
    assert values == [2, 3, 4, 5, 2, 2]
    assert traced.count == 5  # 1.0, 2.0, any float32, True, 1


def test_zeros_of_both_signs_and_nan_are_numbers_of_their_own():
    traced = Traced(lambda x, by: x / by)
    assert float(traced.function(np.float32(1), 0.0)) == np.inf
    assert float(traced.function(np.float32(1), -0.0)) == -np.inf
    for _ in range(3):
        assert np.isnan(traced.function(np.float32(1), float("nan")))
    assert traced.count == 3


def test_a_weakly_typed_array_promotes_as_it_does_outside():
    traced = Traced(lambda x: x * jnp.bfloat16(2))
    assert traced.function(jnp.asarray(2.0)).dtype == jnp.bfloat16
    assert traced.function(jnp.float32(2.0)).dtype == jnp.float32


def test_structures_of_every_kind_go_in_and_out():
    @sx.function
    def swap(tree, batch):
        flipped = {"pair": Pair(tree["pair"].right, tree["pair"].left), "list": [tree["list"][0] + 1, None]}
        return flipped, Batch(batch.y, batch.x, name=batch.name), (), "text"

    tree = {"pair": Pair(jnp.ones(2), jnp.zeros(3)), "list": [jnp.array(1.0), None]}
    flipped, batch, empty, text = swap(tree, Batch(jnp.ones(1), jnp.zeros(1), name="first"))
    assert isinstance(flipped["pair"], Pair)
    np.testing.assert_array_equal(flipped["pair"].left, np.zeros(3))
    assert float(flipped["list"][0]) == 2
    assert flipped["list"][1] is None
    assert (float(batch.x[0]), float(batch.y[0]), batch.name) == (0, 1, "first")
    assert empty == ()
    assert text == "text"
    assert swap(tree, Batch(jnp.ones(1), jnp.zeros(1), name="second"))[1].name == "second"


def test_a_function_may_return_nothing_numbers_or_variables():
    v = sx.Variable(3.0)

    @sx.function
    def assign():
        v.assign(4.0)

    assert assign() is None
    number, variable, nothing = sx.function(lambda: (2, v, None))()
    assert isinstance(number, jax.Array)
    assert isinstance(variable, jax.Array)
    assert (int(number), float(variable), nothing) == (2, 4.0, None)


def test_positional_keyword_and_star_arguments_arrive_as_in_python():
    @sx.function
    def f(a, /, b, *rest, c=3, **more):
        return a + 10 * b + 100 * sum(rest) + 1000 * c + 10000 * more.get("d", 0)

    assert int(f(np.int32(1), 2)) == 3021
    assert int(f(np.int32(1), 2, 4, c=5, d=6)) == 65421
    with pytest.raises(TypeError, match="missing a required argument"):
        f(np.int32(1))


def test_closures_count_by_what_they_hold():
    def make(factor):
        return lambda x: x * factor

    @sx.function
    def apply(fn, x):
        return fn(x)

    assert [float(apply(make(k), np.float32(2))) for k in (3.0, 4.0, 3.0)] == [6, 8, 6]
    assert apply.num_programs == 2


def test_a_function_that_closes_over_a_number_sees_its_new_value():
    factor = 2.0

    @sx.function
    def scale(x):
        return x * factor

    assert float(scale(np.float32(1))) == 2
    factor = 5.0
    assert float(scale(np.float32(1))) == 5


def test_a_nested_compiled_function_becomes_part_of_the_outer_program():
    v = sx.Variable(1.0)

    @sx.function
    def inner(x):
        v.assign_add(x)
        return v * 2

    @sx.function
    def outer(x):
        return inner(x) + inner(x)

    assert float(outer(np.float32(1))) == 4 + 6
    assert float(v.value) == 3
    assert inner.num_programs == 0
    assert outer.num_programs == 1


class Counter:
    def __init__(self, by):
        self.total = sx.Variable(0.0)
        self.by = by

    @sx.function
    def step(self, times=1.0):
        self.total.assign_add(self.by * times)
        return self.total


def test_a_compiled_method_has_programs_and_state_for_each_object():
    first, second = Counter(1.0), Counter(10.0)
    assert [float(c.step()) for c in (first, second, first, second)] == [1, 10, 2, 20]
    assert float(first.step(times=3.0)) == 5
    assert first.step.num_programs == 2
    assert second.step.num_programs == 1
    assert isinstance(Counter.step, sx.Function)


def test_a_method_taken_out_of_an_object_keeps_it_alive_and_the_class_does_not():
    step = Counter(2.0).step
    gc.collect()
    assert float(step()) == 2
    counter = Counter(1.0)
    counter.step()
    reference = weakref.ref(counter)
    del counter
    gc.collect()
    assert reference() is None


def test_objects_that_are_equal_unhashable_or_slotted_have_methods_of_their_own():
    @dataclasses.dataclass
    class Unhashable:
        factor: float

        @sx.function
        def times(self, x):
            return x * self.factor

    class Slotted:
        __slots__ = ("factor",)

        def __init__(self, factor):
            self.factor = factor

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

        @sx.function
        def times(self, x):
            return x * self.factor

    for kind in (Unhashable, Slotted):
        objects = [kind(2.0), kind(3.0), kind(2.0)]
        assert [float(o.times(np.float32(1))) for o in objects] == [2, 3, 2]


def test_a_bound_method_passed_as_an_argument_is_the_same_every_time():
    counter = Counter(1.0)
    traced = Traced(lambda fn: fn())
    for expected in (1, 2, 3):
        assert float(traced.function(counter.step)) == expected
    assert traced.count == 1


def test_a_variable_created_on_a_later_call_raises():
    @sx.function
    def fresh(x):
        return sx.Variable(1.0) * x

    fresh(jnp.ones(2))
    fresh(jnp.ones(2))
    with pytest.raises(errors.VariableCreationError, match=r"(?s)created variables on a later call.*fresh"):
        fresh(jnp.ones(3))

    @sx.function
    def layer(x):
        return keras.layers.Dense(2)(x)

    layer(jnp.ones((1, 2)))
    with pytest.raises(ValueError, match="new variables='dense"):
        layer(jnp.ones((1, 3)))


def test_a_variable_created_once_is_the_same_on_every_call():
    class Lazy:
        v = None

        @sx.function
        def add(self, x):
            if self.v is None:
                self.v = sx.Variable(10.0)
            self.v.assign_add(x.sum())
            return self.v

    lazy = Lazy()
    assert [float(lazy.add(jnp.ones(n))) for n in (1, 2, 1)] == [11, 13, 14]


def test_programs_are_bounded_and_hold_no_arguments(monkeypatch):
    monkeypatch.setattr(_function, "MAX_PROGRAMS", 3)
    f = sx.function(lambda x, n: x + n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in range(8):
            f(jnp.ones(2), n)
    assert f.num_programs == 3
    argument = jnp.ones(2) + 1
    reference = weakref.ref(argument)
    f(argument, 99)
    del argument
    gc.collect()
    assert reference() is None


def test_what_is_no_function_or_no_array_is_refused():
    with pytest.raises(TypeError, match="expects a callable. Received: func=3"):
        sx.function(3)
    with pytest.raises(errors.BadTypeError, match=r"unknown arguments.*Received: \['wrong'\]"):
        sx.function(lambda: 1, wrong=True)
    assert sx.function(jit_compile=True, reduce_retracing=True)(lambda: 1)() == 1
    already = sx.function(lambda: 1)
    assert sx.function(already) is already


def test_assigning_inside_a_jax_transformation_says_what_to_do():
    v = sx.Variable(0.0)

    @sx.function
    def scan(x):
        def body(carry, row):
            v.assign_add(row)
            return carry, row

        return jax.lax.scan(body, 0.0, x)

    with pytest.raises(errors.TracingError, match=r"(?s)assigned inside a JAX transformation.*stratax.range"):
        scan(jnp.ones(3))
    assert float(v.value) == 0


def test_the_program_can_be_looked_at():
    f = sx.function(lambda x: jnp.sin(x))
    assert "sin" in str(f.jaxpr(jnp.ones(2)))
    assert f.num_programs == 0
    assert "lambda" in repr(f)


def test_a_value_that_leaves_a_loop_in_a_list_says_how_to_mend_it():
    @sx.function
    def f(x):
        kept = []
        for _ in sx.range(3):
            kept.append(x * 2)
        return kept[0] + 1

    with pytest.raises(sx.errors.TracingError, match=r"list that a loop appends to.*array\.at"):
        f(jnp.ones(2))


def test_the_value_of_an_array_that_is_needed_while_tracing_is_refused():
    @sx.function
    def f(x):
        return np.asarray(x) + 1

    with pytest.raises(sx.errors.TracingError, match="needs the value of an array while it is traced"):
        f(jnp.ones(2))


@pytest.mark.parametrize("ask", [float, np.asarray, lambda x: "ab"[x.astype(int)], bool])
def test_a_layer_that_needs_the_value_of_an_array_says_so(ask):
    class Asking(keras.layers.Layer):
        def call(self, x):
            return x if jax.tree.map(ask, x) else -x

    with pytest.raises(sx.errors.TracingError, match="needs the value of an array while it is traced"):
        sx.function(Asking(), autograph=False)(jnp.float32(2))


def test_inside_keras_own_stateless_scope_variables_have_the_values_given_there():
    weight = sx.Variable(2.0)
    doubled = sx.function(lambda x: x * weight)

    @jax.jit
    def step(x, value):
        with keras.StatelessScope(state_mapping=[(weight, value)]):
            return doubled(x)

    assert float(step(3.0, 5.0)) == 15.0
    assert float(doubled(3.0)) == 6.0
