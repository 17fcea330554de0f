"""Which arrays of a program can be had by their rows: known uses pass, and any other one keeps the array whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import jaxprs
from stratax.parameter_servers.remote import _row_uses
from stratax.parameter_servers.remote._row_uses import OtherRows, RowUses

TABLE = np.zeros((100, 4), "float32")
IDS = np.array([3, 5, 3])


def uses_of(function, *arguments, pushed=(), is_worth_it=lambda aval, size: True):
    closed = _row_uses.inline(jax.make_jaxpr(function)(*arguments), {len(TABLE)})
    jaxpr = closed.jaxpr
    results = [jaxpr.outvars[index] for index in pushed]
    return jaxpr, RowUses(jaxpr, jaxpr.invars[:1], results, is_worth_it)


def gradient(table, ids, factor):
    return jax.grad(lambda table: jnp.sum(jnp.take(table, ids, axis=0) * factor))(table)


def test_a_table_of_which_rows_are_looked_up_is_had_by_rows():
    jaxpr, uses = uses_of(lambda table, ids: jnp.sum(jnp.take(table, ids, axis=0)), TABLE, IDS)
    group = uses.group_of(jaxpr.invars[0])
    assert (group.num_rows, group.size) == (100, 3)
    assert [ids.size for ids in uses.lookups.values()] == [3]
    # Known by what the lookup makes.
    (made,) = uses.lookups
    assert jaxprs.makers(jaxpr)[made].primitive.name == "gather"


@pytest.mark.parametrize(
    "function",
    [
        lambda table, ids: jnp.sum(table) + table[ids[0], 0],
        lambda table, ids: jnp.take(table, ids, axis=0) + jnp.sum(jnp.sort(table, axis=0)),
        # A part of a row is no row.
        lambda table, ids: table[ids, 1],
        lambda table, ids: (jnp.take(table, ids, axis=0), table),
    ],
)
def test_any_other_use_keeps_it_whole(function):
    jaxpr, uses = uses_of(function, TABLE, IDS)
    assert uses.group_of(jaxpr.invars[0]) is None
    assert uses.kinds == {}


def test_rows_that_follow_from_the_table_itself_keep_it_whole():
    def function(table, ids):
        first = jnp.take(table, ids, axis=0)
        return jnp.take(table, first[:, 0].astype(int), axis=0)

    jaxpr, uses = uses_of(function, TABLE, IDS)
    assert uses.group_of(jaxpr.invars[0]) is None


def test_a_gradient_that_is_added_up_from_rows_is_zero_elsewhere_and_given_by_rows():
    jaxpr, uses = uses_of(gradient, TABLE, IDS, 2.0, pushed=[0])
    kind, group = uses.kinds[jaxpr.outvars[0]]
    assert kind is OtherRows.ZERO
    assert group.root.size == 3


def test_a_result_that_has_to_be_whole_is():
    jaxpr, uses = uses_of(gradient, TABLE, IDS, 2.0)
    assert uses.group_of(jaxpr.outvars[0]) is None


def test_what_is_not_worth_it_stays_whole():
    _, uses = uses_of(gradient, TABLE, IDS, 2.0, pushed=[0], is_worth_it=lambda aval, size: size < 3)
    assert uses.kinds == {}


def test_row_numbers_are_computed_by_a_slice_of_the_program():
    def function(table, ids):
        return jnp.take(table, ids * 2 + 1, axis=0), jnp.sin(ids.astype("float32"))

    jaxpr, uses = uses_of(function, TABLE, IDS)
    (ids,) = uses.lookups.values()
    names = [equation.primitive.name for equation in uses.slice_of([ids.atom])]
    assert names[:2] == ["mul", "add"]
    assert "sin" not in names
    assert uses.slice_of(jaxpr.outvars[:1]) is None


def test_what_is_computed_again_is_written_out_where_it_has_to_do_with_rows():
    @jax.checkpoint
    def again(table, ids):
        return jnp.sin(jnp.take(table, ids, axis=0))

    closed = jax.make_jaxpr(again)(TABLE, IDS)
    assert not jaxprs.contains(_row_uses.inline(closed, {100}).jaxpr, jaxprs_of_its_own)
    assert jaxprs.contains(_row_uses.inline(closed, {7}).jaxpr, jaxprs_of_its_own)


def jaxprs_of_its_own(equation):
    return bool(list(jaxprs.inside(equation)))
