"""`as_dataset`: pipelines and collections of other libraries as they are (data layer)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.dataset import Dataset
from stratax.data.elements import UNKNOWN_CARDINALITY
from stratax.data.foreign._adapter import Items, IteratorReader, PipelineStream
from stratax.data.foreign._adopted import adopt
from stratax.data.foreign._nodes import ForeignItems, ForeignStream
from stratax.errors import BadTypeError


def as_dataset(source: object) -> Dataset:
    """Return a Dataset over a pipeline or collection of another library, which stays as it is.

    Tensors become NumPy arrays on the host, strings `bytes`, and lists of tensors tuples. No library is imported.

    | what | how it is read | its position |
    | --- | --- | --- |
    | `grain.MapDataset` | at any position | exact |
    | `grain.IterDataset`, `grain.DataLoader` | in order | exact, by grain's own state |
    | torch `Dataset` with `__len__` | at any position | exact |
    | torch `IterableDataset`, `DataLoader` | in order | exact where it has `state_dict()`, else refused |
    | Hugging Face `Dataset` | at any position, whole columns | exact |
    | Hugging Face `IterableDataset` | in order | exact, by its own state |
    | `tf.data.Dataset` | in order | refused |
    | a list or another sequence of elements | at any position | exact |
    | any other object that can be iterated again and again | in order | refused |

    Where the position is refused, `get_state()` raises a :class:`~stratax.errors.DataError` that names the source. What
    is read at any position can be shuffled as a whole.

    Args:
        source: One of these, or a Dataset, which is given back.

    Raises:
        BadTypeError: It can't be iterated, or only once.

    Example:
        >>> from stratax.data import as_dataset
        >>> [int(x) for x in as_dataset([1, 2, 3]).map(lambda x: x * x)]
        [1, 4, 9]
    """
    known = adopt(source)
    if isinstance(known, Dataset):
        return known
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return Dataset(ForeignItems(_SequenceItems(source)))
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | Mapping):
        raise BadTypeError(
            "A pipeline or collection that can be iterated is expected. "
            f"Received: source={shown(source)} of type {type(source).__name__}. "
            "Use Dataset.from_tensor_slices for arrays and dicts of arrays."
        )
    # An iterator can be gone through once; a Dataset begins anew in every epoch.
    if isinstance(source, Iterator):
        raise BadTypeError(
            "An iterator can be read only once, and a Dataset is iterated again and again. "
            f"Received: source={shown(source)}. Pass what it was made of, or Dataset.from_generator with a function."
        )
    return Dataset(ForeignStream(_IterableStream(source)))


class _SequenceItems(Items):
    def __init__(self, values: Sequence[Any]) -> None:
        self.name = type(values).__name__
        self._values = values
        self.length = len(values)

    def get(self, indices: Sequence[int]) -> list[Any]:
        return [self._values[index] for index in indices]


class _IterableStream(PipelineStream):
    def __init__(self, values: PyTree) -> None:
        self.name = type(values).__name__
        self._values = values
        try:
            self.length = len(values)
        except TypeError:
            self.length = UNKNOWN_CARDINALITY

    def open(self) -> IteratorReader:
        return IteratorReader(self.name, iter(self._values))
