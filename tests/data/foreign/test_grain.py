"""Grain's data sources and loaders are datasets."""

import numpy as np
import pytest

from stratax.data import as_dataset
from stratax.errors import DataError
from tests.data.foreign.test_as_dataset import resumed_everywhere
from tests.data.reference import as_lists


class TestGrain:
    @pytest.fixture
    def grain(self):
        import grain

        return grain

    def test_a_map_dataset_is_read_at_any_position(self, grain):
        def make():
            source = grain.MapDataset.range(10).map(lambda n: {"n": n, "x": np.full(2, n)})
            return as_dataset(source).shuffle(10, seed=3).batch(4)

        assert make().is_indexable
        assert sorted(np.concatenate([b["n"] for b in make()]).tolist()) == list(range(10))
        resumed_everywhere(make, 3)
        assert as_dataset(grain.MapDataset.range(3).repeat()).cardinality() == -1
        assert as_lists(as_dataset(grain.MapDataset.range(3).repeat()).take(5)) == [0, 1, 2, 0, 1]

    def test_a_filtered_map_dataset_is_refused_and_its_iterator_read(self, grain):
        source = grain.MapDataset.range(10).filter(lambda n: n % 3 == 0)
        with pytest.raises(DataError, match=r"None at position 1.*to_iter_dataset"):
            list(as_dataset(source))
        assert as_lists(as_dataset(source.to_iter_dataset())) == [0, 3, 6, 9]

    def test_an_iter_dataset_keeps_its_place(self, grain):
        def make():
            source = grain.MapDataset.range(20).seed(1).shuffle().to_iter_dataset().batch(3)
            return as_dataset(source)

        resumed_everywhere(make, 7)
        resumed_everywhere(lambda: make().unbatch().shuffle(5, seed=2).batch(4).prefetch(2), 5)

    def test_a_data_loader_keeps_its_place(self, grain):
        def make():
            sampler = grain.samplers.IndexSampler(12, shuffle=True, seed=4, num_epochs=1)
            loader = grain.DataLoader(
                data_source=list(range(12)), sampler=sampler, operations=[grain.transforms.Batch(5)]
            )
            return as_dataset(loader)

        assert sorted(np.concatenate(list(make())).tolist()) == list(range(12))
        resumed_everywhere(make, 3)
