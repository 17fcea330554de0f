"""Hugging Face's datasets are datasets."""

import numpy as np
import pytest

from stratax.data import TensorSpec, as_dataset
from stratax.errors import DataError
from tests.data.foreign.test_as_dataset import resumed_everywhere


class TestHuggingFace:
    @pytest.fixture
    def table(self):
        import datasets

        return datasets.Dataset.from_dict(
            {
                "n": list(range(10)),
                "x": [[i / 3, 1.0] for i in range(10)],
                "text": [f"é{i}" for i in range(10)],
            }
        )

    def test_a_table_is_gathered_by_columns_with_its_own_dtypes(self, table):
        dataset = as_dataset(table)
        assert dataset.is_indexable
        assert dataset.element_spec == {
            "n": TensorSpec((), "int64"),
            "text": TensorSpec((), object),
            "x": TensorSpec((2,), "float64"),
        }
        batch = next(iter(dataset.batch(4)))
        assert batch["x"][2].tolist() == [2 / 3, 1.0]
        assert batch["text"].tolist() == [f"é{i}".encode() for i in range(4)]
        batch["x"] += 1
        resumed_everywhere(lambda: as_dataset(table).shuffle(10, seed=2).batch(3), 4)

    def test_formats_of_the_user_and_ragged_lists_stay(self, table):
        assert next(iter(as_dataset(table.with_format("numpy"))))["x"].dtype == np.float32
        ragged = table.map(lambda row: {"r": [1] * row["n"]}).select_columns("r")
        assert [len(element["r"]) for element in as_dataset(ragged)] == list(range(10))
        missing = table.map(lambda row: {"m": None if row["n"] else 1}).select_columns("m")
        with pytest.raises(DataError, match="column 'm' with 1 of them"):
            list(as_dataset(missing))

    def test_a_stream_keeps_its_place(self, table):
        resumed_everywhere(lambda: as_dataset(table.to_iterable_dataset(num_shards=3)), 10)
        stream = table.to_iterable_dataset(num_shards=3)
        one, other = iter(as_dataset(stream)), iter(as_dataset(stream))
        next(one)
        state = one.get_state()
        list(other)
        again = iter(as_dataset(stream))
        again.set_state(state)
        assert [int(e["n"]) for e in again] == list(range(1, 10))

    def test_a_shuffle_buffer_has_no_place(self, table):
        stream = table.to_iterable_dataset().shuffle(seed=1, buffer_size=5)
        assert len(list(as_dataset(stream))) == 10
        iterator = iter(as_dataset(stream))
        next(iterator)
        with pytest.raises(DataError, match="shuffle buffer"):
            iterator.get_state()
