"""Pipelines and collections of other libraries as Datasets; those of torch and TensorFlow where they are installed."""

import collections
import json

import numpy as np
import pytest

from stratax.data import Dataset, TensorSpec, as_dataset
from stratax.data.foreign import adopted
from stratax.errors import BadTypeError, DataError
from tests.data.reference import as_lists


def resumed_everywhere(make, count):
    """Every place of a pipeline is saved and restored in one that was made anew."""
    whole = [repr(element) for element in make()]
    assert len(whole) == count
    for start in range(count + 1):
        iterator = iter(make())
        for _ in range(start):
            next(iterator)
        state = json.loads(json.dumps(iterator.get_state()))
        assert [repr(element) for element in iterator] == whole[start:]
        again = iter(make())
        again.set_state(state)
        assert [repr(element) for element in again] == whole[start:]


def test_a_sequence_is_read_at_any_position():
    dataset = as_dataset([(np.ones(2), {"n": 1}), (np.zeros(2), {"n": 2})])
    assert dataset.is_indexable
    assert len(dataset) == 2
    assert [element[1]["n"] for element in dataset] == [1, 2]
    assert dataset.element_spec == (TensorSpec((2,), "float64"), {"n": TensorSpec((), "int32")})
    assert sorted(as_lists(as_dataset(list(range(50))).shuffle(2, seed=0))) == list(range(50))
    resumed_everywhere(lambda: as_dataset(list(range(7))).shuffle(7, seed=1).batch(2), 4)


def test_elements_of_differing_sizes_pass():
    dataset = as_dataset([np.ones(i % 3) for i in range(1, 8)])
    assert [len(x) for x in dataset] == [1, 2, 0, 1, 2, 0, 1]
    assert [x.shape for x in dataset.padded_batch(4)] == [(4, 2), (3, 2)]
    assert dataset.element_spec == TensorSpec((1,), "float64") or dataset.element_spec.shape == (None,)


def test_elements_that_do_not_fit_the_first_are_refused():
    with pytest.raises(DataError, match="list gave elements of different dtype"):
        list(as_dataset([1, 2.5, 3]))
    with pytest.raises(DataError, match="different structure"):
        list(as_dataset([1, (2, 3), 4]))
    with pytest.raises(
        DataError, match=r"element_spec of an empty collection can't be found.*list of length 0"
    ):
        _ = as_dataset([]).element_spec


class Numbers:
    def __init__(self, count):
        self.count = count
        self.opened = 0

    def __iter__(self):
        self.opened += 1
        return iter([{"n": i, "pair": [np.ones(i), 2]} for i in range(1, self.count + 1)])


def test_what_can_be_iterated_again_and_again_is_a_stream():
    numbers = Numbers(3)
    dataset = as_dataset(numbers)
    assert not dataset.is_indexable
    for _ in range(2):
        assert [int(element["n"]) for element in dataset] == [1, 2, 3]
    assert isinstance(next(iter(dataset))["pair"], tuple)
    with pytest.raises(DataError, match="can't be saved: it reads Numbers, which can't tell where it is"):
        iter(dataset).get_state()
    with pytest.raises(DataError, match="can't be saved: it reads Numbers"):
        iter(dataset.batch(2).prefetch(1)).get_state()


def test_looking_at_the_spec_begins_the_first_pass_and_no_other():
    numbers = Numbers(3)
    dataset = as_dataset(numbers)
    assert dataset.element_spec == {
        "n": TensorSpec((), "int32"),
        "pair": (TensorSpec((None,), "float64"), TensorSpec((), "int32")),
    }
    assert len(list(dataset)) == 3
    assert numbers.opened == 1
    assert len(list(dataset)) == 3
    assert numbers.opened == 2
    with pytest.raises(DataError, match="element_spec of an empty pipeline"):
        _ = as_dataset(Numbers(0)).element_spec


class Stateful:
    """A loader with a state of its own, as torchdata's."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < 5:
            self.place += 1
            yield self.place
        self.place = 0

    def state_dict(self):
        return {"place": np.int64(self.place)}

    def load_state_dict(self, state):
        self.place = state["place"]


def test_states_are_those_of_the_source():
    from stratax.data.foreign._adapter import StatefulReader, Stream
    from stratax.data.foreign._nodes import ForeignStream

    class Source(Stream):
        name = "Stateful"

        def open(self):
            return StatefulReader(self.name, Stateful())

    resumed_everywhere(lambda: Dataset(ForeignStream(Source())).batch(2), 3)

    class Unreadable(Stateful):
        def state_dict(self):
            return {"place": object()}

    reader = StatefulReader("Unreadable", Unreadable())
    reader.next()
    with pytest.raises(DataError, match="state of Unreadable has parts that are neither numbers nor strings"):
        reader.get_state()


def test_what_is_no_source_is_refused():
    with pytest.raises(BadTypeError, match="A pipeline or collection that can be iterated"):
        as_dataset(3)
    with pytest.raises(BadTypeError, match="Use Dataset.from_tensor_slices"):
        as_dataset({"a": [1]})
    with pytest.raises(BadTypeError, match="An iterator can be read only once"):
        as_dataset(iter([1]))
    dataset = Dataset.range(3)
    assert as_dataset(dataset) is dataset
    assert adopted([1, 2]) == [1, 2]


def test_namedtuples_stay():
    point = collections.namedtuple("point", "x y")
    (found,) = as_dataset([point(1, [np.ones(1)])])
    assert type(found) is point
    assert found.y[0].tolist() == [1]


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


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_a_loader_is_read_in_order(self, torch):
        tensors = torch.utils.data.TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
        loader = torch.utils.data.DataLoader(tensors, batch_size=2)
        dataset = as_dataset(loader)
        assert dataset.cardinality() == 3
        assert dataset.batch_size == 2
        assert dataset.element_spec == (TensorSpec((None, 2), "float32"), TensorSpec((None,), "int64"))
        assert [y.tolist() for _, y in dataset] == [[0, 1], [2, 3], [4]]
        assert all(type(x) is np.ndarray for x, _ in dataset)
        with pytest.raises(DataError, match="it reads torch DataLoader"):
            iter(dataset).get_state()

    def test_a_dataset_with_a_length_is_read_at_any_position(self, torch):
        class Squares(torch.utils.data.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return {"n": torch.tensor(index), "text": f"n{index}"}, torch.ones(2, dtype=torch.bfloat16)

        def make():
            return as_dataset(Squares()).shuffle(6, seed=1).batch(4)

        assert make().is_indexable
        first = next(iter(make()))
        assert first[1].dtype.name == "bfloat16"
        assert first[0]["text"][0].startswith(b"n")
        resumed_everywhere(make, 2)

    def test_an_iterable_dataset_is_a_stream(self, torch):
        class Count(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter([torch.tensor(i, requires_grad=False) for i in range(4)])

        dataset = as_dataset(Count())
        assert as_lists(dataset) == [0, 1, 2, 3]
        with pytest.raises(DataError, match="it reads torch IterableDataset"):
            iter(dataset).get_state()


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


class TestTensorFlow:
    @pytest.fixture
    def tf(self):
        return pytest.importorskip("tensorflow")

    def test_a_pipeline_is_read_in_order(self, tf):
        source = tf.data.Dataset.from_tensor_slices({"n": [1, 2, 3], "s": ["a", "b", "\0"]}).batch(2)
        dataset = as_dataset(source)
        assert dataset.cardinality() == 2
        assert dataset.element_spec == {"n": TensorSpec((None,), "int32"), "s": TensorSpec((None,), object)}
        assert [element["s"].tolist() for element in dataset] == [[b"a", b"b"], [b"\0"]]
        with pytest.raises(DataError, match=r"it reads tf\.data\.Dataset"):
            iter(dataset).get_state()

    def test_ragged_tensors_are_refused(self, tf):
        source = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
        with pytest.raises(DataError, match="only dense tensors"):
            as_dataset(source)
