"""Options of a Dataset."""

import pytest

from stratax.data import AutoShardPolicy, Options
from stratax.errors import BadArgumentError, BadTypeError


def test_options_refuse_names_and_values_that_do_not_exist():
    with pytest.raises(BadArgumentError, match="no such setting.*'deterministc'"):
        Options().deterministc = True
    with pytest.raises(BadTypeError, match="auto_shard_policy is an AutoShardPolicy"):
        Options().experimental_distribute.auto_shard_policy = "DATA"
    assert "deterministic=None" in repr(Options())
    assert hash(Options()) == hash(Options())


def test_merging_takes_what_the_later_options_set():
    first, second = Options(), Options()
    first.deterministic = True
    first.experimental_distribute.num_devices = 4
    second.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF
    merged = first.merge(second)
    assert merged.deterministic is True
    assert merged.experimental_distribute.num_devices == 4
    assert merged.experimental_distribute.auto_shard_policy is AutoShardPolicy.OFF
    assert first.experimental_distribute.auto_shard_policy is None
