"""The place of an iterator in Orbax checkpoints, as JSON and as an object that saves itself."""

import asyncio

import jax.numpy as jnp
import orbax.checkpoint as ocp
import orbax.checkpoint.experimental.v1 as ocp1
import pytest

from stratax.data.position._orbax import read_place
from stratax.errors import DataError, FileMissingError
from tests.data.pipelines import noisy, stream


def pipeline():
    return stream(50).shuffle(9).map(noisy, num_parallel_calls=2).batch(4).prefetch(2)


def rest(iterator):
    return [(numbers.tolist(), draws.tolist()) for numbers, draws in iterator]


def test_a_json_item_beside_the_model_restores_mid_epoch(tmp_path):
    iterator = iter(pipeline())
    for _ in range(5):
        next(iterator)
    manager = ocp.CheckpointManager(tmp_path / "steps")
    saved = ocp.args.Composite(
        model=ocp.args.StandardSave({"w": jnp.arange(3.0)}), data=ocp.args.JsonSave(iterator.get_state())
    )
    manager.save(5, args=saved)
    manager.wait_until_finished()
    expected = rest(iterator)
    asked = ocp.args.Composite(model=ocp.args.StandardRestore(), data=ocp.args.JsonRestore())
    restored = iter(pipeline())
    restored.set_state(manager.restore(5, args=asked)["data"])
    manager.close()
    assert len(expected) == 8
    assert rest(restored) == expected


def test_the_iterator_itself_is_checkpointable(tmp_path):
    iterator = iter(pipeline())
    for _ in range(5):
        next(iterator)
    ocp1.save_checkpointables(tmp_path / "step", {"model": {"w": jnp.arange(3.0)}, "data": iterator})
    expected = rest(iterator)
    restored = iter(pipeline())
    loaded = ocp1.load_checkpointables(tmp_path / "step", {"data": restored})
    assert loaded["data"] is restored
    assert rest(restored) == expected


def test_a_missing_or_damaged_place_is_an_error(tmp_path):
    def load():
        asyncio.run(read_place(tmp_path, lambda state: None))

    with pytest.raises(FileMissingError, match="no place of the iterator for this process"):
        load()
    (tmp_path / "process_0-of-1.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match="place of the iterator in the checkpoint is damaged"):
        load()
