"""Variables go to the server with the fewest bytes, their slots beside them, and tasks decide alike."""

import gc

import keras
import numpy as np
import pytest

from stratax import errors
from stratax.parameter_servers.remote import FixedShardsPartitioner, Layouts, beside, make_beside


def variable(shape, name, **kwargs):
    return keras.Variable(np.zeros(shape, "float32"), name=name, **kwargs)


def placed(layout):
    return [(shard.server, shard.start, shard.stop) for shard in layout.shards]


def test_each_variable_goes_where_the_fewest_bytes_are():
    layouts = Layouts(2)
    made = [variable(shape, f"v{number}") for number, shape in enumerate([(8,), (2,), (2,), (5,)])]
    assert [layouts.place(each).shards[0].server for each in made] == [0, 1, 1, 1]


def test_shards_have_all_rows_and_the_first_ones_more():
    layouts = Layouts(2, FixedShardsPartitioner(3))
    made = variable((8, 2), "table")
    layout = layouts.place(made)
    assert placed(layout) == [(0, 0, 3), (1, 3, 6), (0, 6, 8)]
    assert [shard.name for shard in layout.shards] == [f"{made.path}/part_{index}" for index in range(3)]
    rows = np.arange(16).reshape(8, 2)
    np.testing.assert_array_equal(np.concatenate([shard.of(rows) for shard in layout.shards]), rows)


def test_a_slot_lies_beside_its_variable():
    layouts = Layouts(3, FixedShardsPartitioner(2))
    table, slot, small = variable((9, 2), "table"), variable((9, 2), "slot"), variable((4,), "rows")
    layouts.place(variable((2, 2), "before"))
    layouts.place(table)
    with beside(table):
        assert layouts.place(slot).is_like(layouts.of(table))
        # Of another shape: as a whole, with the first shard.
        assert placed(layouts.place(small)) == [(layouts.of(table).shards[0].server, 0, None)]
    assert not layouts.place(variable((9, 2), "other")).is_like(layouts.of(table))


def test_a_slot_that_gets_its_place_later_lies_beside_its_variable():
    layouts = Layouts(2, FixedShardsPartitioner(3))
    table, slot = variable((3, 4), "table"), variable((3, 4), "slot")
    layouts.place(table)
    assert make_beside(table, lambda: slot) is slot
    assert layouts.place(slot).is_like(layouts.of(table))
    assert not layouts.place(variable((3, 4), "other")).is_like(layouts.of(table))


def test_shards_of_a_variable_go_round_the_servers_however_full_they_are():
    layouts = Layouts(2, FixedShardsPartitioner(3))
    layouts.place(variable((1, 1000), "full"))
    layout = layouts.place(variable((3, 4), "kernel"))
    assert [shard.server for shard in layout.shards] == [1, 0, 1]


def test_a_number_is_on_every_server_and_a_metric_on_one():
    layouts = Layouts(3)
    rate = layouts.place(variable((), "rate"))
    assert [shard.server for shard in rate.all] == [0, 1, 2]
    assert len(rate.shards) == 1
    count = layouts.place(variable((), "count", aggregation="sum"))
    assert len(count.all) == 1


def test_two_variables_of_a_path_have_two_names():
    layouts = Layouts(1)
    first, second = variable((2,), "same"), variable((2,), "same")
    assert [layouts.place(each).name for each in (first, second)] == [first.path, f"{first.path}#1"]
    assert layouts.place(first).name == first.path


def test_a_variable_that_is_gone_is_forgotten():
    layouts = Layouts(1)
    made = variable((2,), "gone")
    layouts.place(made)
    del made
    gc.collect()
    assert not layouts._layouts._found
    with pytest.raises(errors.StrategyError, match="Parameter servers don't keep the variable"):
        layouts.of(variable((2,), "other"))
