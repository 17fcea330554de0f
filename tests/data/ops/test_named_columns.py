"""Components under names: order, spec, places, and their division between workers."""

import itertools

import numpy as np
import pytest

from stratax.data import AutoShardPolicy, Dataset, Options, TensorSpec, make_csv_dataset
from stratax.data.dataset import auto_shard
from stratax.data.ops import NamedColumns


def named(child, apart=None):
    return child._derive(NamedColumns(child._node, ["b", "a", "c"], apart))


def triples(count):
    return Dataset.range(count).filter(lambda n: True).map(lambda n: (n, 10 * n, np.full(2, n)))


def test_components_are_those_that_have_the_name():
    first, second = named(triples(2))
    assert (first["a"], first["b"], first["c"].tolist()) == (0, 0, [0, 0])
    assert (second["a"], second["b"], second["c"].tolist()) == (10, 1, [1, 1])
    features, label = next(iter(named(triples(5).skip(4), "a")))
    assert (features["b"], label, sorted(features)) == (4, 40, ["b", "c"])


def test_the_spec_is_the_childs_whatever_was_read_before():
    dataset = named(triples(5).batch(2))
    next(iter(dataset))
    assert dataset.element_spec == {
        "a": TensorSpec((None,), "int64"),
        "b": TensorSpec((None,), "int64"),
        "c": TensorSpec((None, 2), "int64"),
    }
    assert dataset.cardinality() == triples(5).batch(2).cardinality()


def test_a_place_is_exact():
    whole = [element["a"].tolist() for element in named(triples(9).batch(2))]
    for start in range(6):
        iterator = iter(named(triples(9).batch(2)))
        for _ in range(start):
            next(iterator)
        again = iter(named(triples(9).batch(2)))
        again.set_state(iterator.get_state())
        assert [element["a"].tolist() for element in again] == whole[start:]
    assert [element["a"].tolist() for element in named(triples(9).batch(2)).skip(3)] == whole[3:]


@pytest.mark.parametrize("policy", [AutoShardPolicy.FILE, AutoShardPolicy.DATA])
def test_batches_of_csv_files_are_divided_between_workers(tmp_path, policy):
    for file in range(4):
        rows = "".join(f"{10 * file + row},x\n" for row in range(6))
        (tmp_path / f"{file}.csv").write_text("n,s\n" + rows)
    options = Options()
    options.experimental_distribute.auto_shard_policy = policy
    dataset = make_csv_dataset(str(tmp_path / "*.csv"), 4, num_epochs=1, shuffle=False).with_options(options)
    parts = [[batch["n"].tolist() for batch in auto_shard(dataset, 2, index)] for index in range(2)]
    assert sorted(itertools.chain(*parts[0], *parts[1])) == [10 * f + r for f in range(4) for r in range(6)]
    assert {len(batch) for part in parts for batch in part} == {2}
    if policy == AutoShardPolicy.FILE:
        assert {n // 10 for n in itertools.chain(*parts[0])} == {0, 2}
