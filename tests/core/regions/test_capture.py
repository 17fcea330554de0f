"""State that a function reads and writes becomes inputs and outputs of its program."""

import contextlib
import types

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import core, errors
from stratax.core import GradientTape, control, jaxprs, value_and_grad
from stratax.core.regions import (
    _capture,
    concrete_values,
    current_region,
    equal_on_all_replicas,
    executing_eagerly,
    outside_scopes,
)


def test_a_region_outside_captures_what_is_read_and_gets_what_is_written():
    weight, scale = keras.Variable(3.0), keras.Variable(2.0, trainable=False)

    def loss(x):
        scale.assign_add(1.0)
        return weight * scale * x

    def body(x):
        value, gradient = value_and_grad(loss, weight)(x)
        return value, gradient, scale.value

    region = _capture.ProgramRegion()

    def traced(x):
        with region:
            return body(x)

    closed = jax.make_jaxpr(traced)(4.0)
    assert set(map(id, region.inputs)) == {id(weight), id(scale)}
    assert list(region.writes.values()) == [scale]
    program = jaxprs.lift_inputs(closed, len(region.inputs))
    given = {id(weight): 5.0, id(scale): 1.0}
    value, gradient, new_scale = program(
        *[jnp.float32(given[id(v)]) for v in region.inputs], jnp.float32(4.0)
    )
    assert (float(value), float(gradient), float(new_scale)) == (40.0, 8.0, 2.0)
    assert (float(weight.value), float(scale.value)) == (3.0, 2.0)


def test_a_region_reports_its_reads_to_the_tape():
    weight, scale = keras.Variable(3.0), keras.Variable(2.0, trainable=False)
    region = _capture.ProgramRegion()

    def body(x):
        with region:
            with GradientTape() as tape:
                y = weight * weight * scale * x
            scale.assign_add(1.0)
            return tape.gradient(y, [weight])[0], scale.value

    closed = jax.make_jaxpr(body)(2.0)
    assert [id(v) for v in region.inputs] == [id(weight), id(scale)]
    program = jaxprs.lift_inputs(closed, 2)
    assert [float(v) for v in program(jnp.float32(5.0), jnp.float32(1.0), jnp.float32(2.0))] == [20.0, 2.0]


def traced(body, *arguments):
    """The region in which a function was traced, and the program that it became."""
    region = _capture.ProgramRegion()

    def run(*arguments):
        with region:
            return body(*arguments)

    closed = jax.make_jaxpr(run)(*arguments)
    return region, jaxprs.lift_inputs(closed, len(region.inputs))


def test_a_variable_is_an_input_once_and_its_last_assignment_is_its_final_value():
    variable = sx.Variable(3.0)

    def body(x):
        variable.assign(variable.value + x)
        variable.assign(variable.value * 10.0 + variable.value)
        return current_region().final_value(variable)

    region, program = traced(body, 1.0)
    assert region.inputs == [variable]
    assert list(region.reads.values()) == list(region.writes.values()) == [variable]
    assert [float(v) for v in program(jnp.float32(2.0), jnp.float32(1.0))] == [33.0]
    assert float(variable.value) == 3.0


def test_a_variable_that_is_written_and_never_read_is_no_input():
    variable = sx.Variable(3.0)
    region, program = traced(lambda x: variable.assign(x).value, 1.0)
    assert (region.inputs, list(region.writes.values())) == ([], [variable])
    assert [float(v) for v in program(jnp.float32(7.0))] == [7.0]


def test_a_variable_first_read_inside_a_transformation_is_an_input_of_the_whole_program():
    variable = sx.Variable(3.0)

    def body(x):
        gradient = jax.jit(jax.grad(lambda x: variable.value * x**2))(x)
        return gradient + variable.value

    region, program = traced(body, 1.0)
    assert region.inputs == [variable]
    assert [float(v) for v in program(jnp.float32(5.0), jnp.float32(2.0))] == [25.0]


def test_a_value_of_an_inner_transformation_can_not_be_assigned():
    variable = sx.Variable(3.0)

    def body(x):
        return jax.grad(lambda x: variable.assign(x * x))(x)

    with pytest.raises(
        errors.TracingError, match=r"was assigned inside a JAX transformation.*stratax\.range"
    ):
        traced(body, 1.0)
    assert current_region() is None
    assert float(variable.value) == 3.0


def test_the_last_assignment_decides_whether_replicas_agree():
    first, second = sx.Variable(0.0), sx.Variable(0.0)

    def body(x):
        for variable in (first, second):
            with equal_on_all_replicas():
                variable.assign(x)
        second.assign(x + 1)
        return x

    region, _ = traced(body, 1.0)
    assert region.in_agreement == {id(first)}


@pytest.mark.parametrize(
    ("agreed", "expected"),
    [((True, True), True), ((True, False), False), ((), False)],
    ids=["both", "one of two", "none that writes"],
)
def test_what_inner_regions_have_written_is_agreed_if_all_that_wrote_it_agreed(agreed, expected):
    variable = sx.Variable(0.0)

    def body(x):
        outer = current_region()
        branches = []
        for is_agreed in agreed:
            branch = control.BranchRegion(outer)
            with branch, equal_on_all_replicas() if is_agreed else contextlib.nullcontext():
                variable.assign(x)
            branches.append(branch)
        outer.take_over(variable, x, *branches, control.BranchRegion(outer))
        return x

    region, _ = traced(body, 1.0)
    assert (id(variable) in region.in_agreement) is expected


class Doubled(_capture.Spread):
    """A variable's value as two parties hold it; it is one again as their sum."""

    def spread(self, value):
        return jnp.stack([value / 2, value / 2])

    def merge(self, array):
        return array.sum()


def test_a_region_that_carries_parties_values_merges_what_is_read_and_spreads_what_is_assigned():
    variable = sx.Variable(0.0)
    doubled = Doubled(variable)

    def body(x):
        region = control.BranchRegion(current_region())
        with region:
            region.adopt(doubled)
            region.add_update((doubled, jnp.stack([x, 2 * x])))
            merged = variable.value
            variable.assign(merged * 2)
            assert list(region.writes.values()) == [doubled]
            return merged, region.get_current_value(doubled)

    merged, parties = core.function(body, autograph=False)(jnp.float32(2.0))
    assert (float(merged), parties.tolist()) == (6.0, [6.0, 6.0])


def test_a_region_that_carries_one_value_gets_the_parties_merged():
    variable = sx.Variable(1.0)
    doubled = Doubled(variable)

    def body(x):
        region = current_region()
        before = region.get_current_value(doubled)
        region.add_update((doubled, jnp.stack([x, 2 * x])))
        return before, variable.value

    before, after = core.function(body, autograph=False)(jnp.float32(2.0))
    assert (before.tolist(), float(after), float(variable.value)) == ([0.5, 0.5], 6.0, 6.0)


def test_the_innermost_region_is_seen_through_scopes_of_keras():
    dense = keras.layers.Dense(1)
    dense.build((None, 1))
    seen = []

    class Layer(keras.layers.Layer):
        def call(self, x):
            seen.append((current_region(), executing_eagerly()))
            return x

    layer = Layer()
    layer.build((1,))
    region, _ = traced(lambda x: layer.stateless_call([], [], x)[0], np.ones(1, "float32"))
    assert seen == [(region, False)]
    assert (current_region(), executing_eagerly()) == (None, True)


def test_outside_of_scopes_values_are_computed_at_once():
    variable, made = sx.Variable(2.0), []

    def body(x):
        with outside_scopes():
            made.append((executing_eagerly(), variable.value + 1, sx.Variable(5.0)))
        return x

    region, _ = traced(body, 1.0)
    ((eager, value, created),) = made
    assert eager
    assert not isinstance(value, jax.core.Tracer)
    assert (float(value), float(created.value), region.inputs) == (3.0, 5.0, [])


def test_a_variable_that_is_created_while_tracing_is_noted_and_has_its_value():
    made = []

    @core.function
    def run(x):
        if not made:
            made.append(sx.Variable(np.full(2, 4.0, "float32")))
        return made[0].value + x

    assert run(jnp.float32(1.0)).tolist() == run(jnp.float32(1.0)).tolist() == [5.0, 5.0]
    assert made[0].numpy().tolist() == [4.0, 4.0]


def test_values_of_variables_are_given_in_their_order_also_of_those_that_had_none():
    with outside_scopes():
        first = sx.Variable(1.0)
    made = []

    def body(x):
        made.append(keras.Variable(lambda shape, dtype: jnp.full(shape, 2.0, dtype), shape=(1,)))
        return x

    traced(body, 1.0)
    assert [v.tolist() for v in concrete_values([first, *made, first])] == [1.0, [2.0], 1.0]


@pytest.mark.parametrize("use", [_capture.Region.next_element, _capture.Region.next_optional])
def test_a_region_that_can_not_take_input_says_where_it_can_be_taken(use):
    with pytest.raises(
        errors.TracingError, match=r"part of a compiled function that can't take.*strategy\.run"
    ):
        use(_capture.Region(), "stream")


def test_pythons_way_through_an_iterator_is_refused_when_it_begins():
    iterated = _capture.Region().iterate("stream")
    assert iter(iterated) is iterated
    with pytest.raises(errors.TracingError, match=r"(?s)once, while it is traced.*Received: 'stream'"):
        next(iterated)


def test_parts_of_a_program_have_the_same_paths_in_every_trace():
    for _ in range(2):
        program = _capture.ProgramRegion()
        first, second = _capture.Region(program), _capture.Region(program)
        inner = _capture.Region(second)
        assert [region.path for region in (program, first, second, inner)] == [(), (1,), (2,), (2, 1)]
        assert inner.program is program
    assert _capture.Region(program, path=(7,)).path == (7,)
    with pytest.raises(errors.TracingError, match="taken inside of a compiled function only"):
        _ = _capture.Region().program


class Peeked:
    """A stream that counts how often it is looked at."""

    def __init__(self):
        self.looks = []

    def peek_runs(self, skip, count):
        self.looks.append(("runs", skip, count, executing_eagerly()))
        return [(jax.ShapeDtypeStruct((2,), np.float32), count)]

    def peek_up_to(self, skip, count):
        self.looks.append(("up to", skip, count, executing_eagerly()))
        return []


def test_a_second_trace_sees_of_streams_what_the_first_one_saw():
    stream, first, second = Peeked(), _capture.ProgramRegion(), _capture.ProgramRegion()
    second.seen = first.seen
    found = []
    for region in (first, second):
        with region:
            found.append((region.peek(stream, 0, 3), region.peek(stream, 1, 2, up_to=True)))
    assert found[0] == found[1]
    assert stream.looks == [("runs", 0, 3, True), ("up to", 1, 2, True)]


def test_feeds_count_what_was_taken_before_them_and_may_be_given_to_another_stream():
    stream, other = Peeked(), Peeked()
    structure = {"a": jax.ShapeDtypeStruct((2,), np.float32), "b": jax.ShapeDtypeStruct((), np.int32)}

    def body(x):
        region = current_region()
        one = region.feed(stream, structure, count=1, block=False)
        block = region.feed(stream, structure, count=3, block=True)
        region.feed(other, structure, count=1, block=False)
        assert (region.count_taken(stream), region.count_taken(other)) == (4, 1)
        assert (one["a"].shape, block["a"].shape, block["b"].shape) == ((2,), (3, 2), (3,))
        return one["a"].sum() + block["a"].sum() + block["b"].sum() + x

    region, program = traced(body, 1.0)
    assert [(feed.skip, feed.count) for feed in region.feeds] == [(0, 1), (1, 3), (0, 1)]
    fed = [
        jnp.ones(leaf.shape if not source.feed.block else (3, *leaf.shape), leaf.dtype)
        for source in region.inputs
        for leaf in [jax.tree.leaves(structure)[source.index]]
    ]
    assert [float(v) for v in program(*fed, jnp.float32(1.0))] == [2 + 6 + 3 + 1]
    (stand_in,) = region.detach([stream])
    assert [feed.stream for feed in region.feeds] == [stand_in, stand_in, other]
    assert [source.feed.stream for source in region.inputs[::2]] == [stand_in, stand_in, other]


@pytest.mark.parametrize(
    "spec",
    [sx.data.TensorSpec(None, np.float32), sx.data.TensorSpec((2,), np.dtype(object))],
    ids=["without a shape", "texts"],
)
def test_elements_of_a_dataset_without_any_have_to_be_described(spec):
    with pytest.raises(errors.TracingError, match=r"has none and does not say what they look like"):
        _capture.read_declared_structure(types.SimpleNamespace(element_spec=(spec,)))


def test_sizes_that_vary_become_one_in_a_structure_that_is_declared():
    stream = types.SimpleNamespace(element_spec={"a": sx.data.TensorSpec((None, 3), np.float64)})
    (leaf,) = jax.tree.leaves(_capture.read_declared_structure(stream))
    assert (leaf.shape, leaf.dtype) == ((1, 3), np.float32)


class Halves(_capture.Spread):
    """A variable's value as two parties hold it, each a half."""

    def spread(self, value):
        return jnp.stack([value / 2, value / 2])

    def merge(self, array):
        return array.sum()


def test_bodies_that_hold_a_variable_in_other_ways_are_given_it_in_theirs():
    variable = sx.Variable(0.0)
    halves = Halves(variable)
    assert float(_capture.convert_form(jnp.float32([1, 3]), halves, variable)) == 4.0
    assert _capture.convert_form(jnp.float32(4), variable, halves).tolist() == [2.0, 2.0]
    for kind in (variable, halves):
        value = object()
        assert _capture.convert_form(value, kind, kind) is value
