"""`make_one_shot_iterator`: in an `input_fn`, the next element as a program of TensorFlow 1 names it (data layer).

There, what `get_next` returns is a symbol, and each step of training has another value of it. Whoever calls an
`input_fn` enters :func:`symbolic_iterators`; what the function then returns is a dataset again, by
:func:`dataset_of_parts`.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

from stratax._shown import shown
from stratax.data.dataset._dataset import Dataset
from stratax.data.elements import flatten, unflatten
from stratax.data.iteration import DatasetIterator
from stratax.errors import BadArgumentError, BadTypeError


# Of a thread, as an `input_fn` runs in one.
class _Active(threading.local):
    is_symbolic = False


_active = _Active()


@contextlib.contextmanager
def symbolic_iterators() -> Iterator[None]:
    """Have :func:`make_one_shot_iterator` give iterators in a block whose elements stand for those of every step."""
    before, _active.is_symbolic = _active.is_symbolic, True
    try:
        yield
    finally:
        _active.is_symbolic = before


class ElementPart:
    """A component of the next element, in an `input_fn`.

    Args:
        iterator: What gives the element.
        number: The component's number.
        spec: Its shape and dtype.

    Attributes:
        iterator: What gives the element.
        number: The component's number.
        dtype: Its dtype.
        shape: Its shape, with None where a size is not known.
    """

    def __init__(self, iterator: "OneShotIterator", number: int, spec: Any) -> None:
        self.iterator = iterator
        self.number = number
        self.dtype = spec.dtype
        self.shape = spec.shape

    def get_shape(self) -> Any:
        """Return its shape, as a tensor of TensorFlow gives it."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Do nothing: shapes are those of the batches."""

    def __repr__(self) -> str:
        return f"<ElementPart {self.number} shape={self.shape} dtype={self.dtype}>"

    __hash__ = object.__hash__

    def _refuse(self, *others: object) -> NoReturn:
        del others
        raise BadTypeError(
            "What get_next() of a one-shot iterator gives stands for a value of every step, with which nothing can be "
            f"computed in an input_fn. Expected: that it is returned. Received: {shown(self)}. Compute in dataset.map, "
            "before the iterator is made."
        )


for _name in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "matmul"),
    *(
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "getitem",
        "neg",
        "abs",
        "bool",
        "int",
        "float",
        "index",
        "len",
        "iter",
    ),
    *("array", "jax_array"),
):
    setattr(ElementPart, f"__{_name}__", ElementPart._refuse)


class OneShotIterator:
    """An iterator in an `input_fn`, whose element is that of every step.

    Args:
        dataset: The dataset.

    Attributes:
        dataset: The dataset.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self._is_used = False

    @property
    def element_spec(self) -> Any:
        """The structure of an element."""
        return self.dataset.element_spec

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element: its components stand for those of every step.

        Args:
            name: Ignored.

        Raises:
            BadArgumentError: It was called before.
        """
        del name
        if self._is_used:
            raise BadArgumentError(
                "get_next() of a one-shot iterator was called twice in an input_fn. Expected: once, as each step takes "
                f"one element. Received: {shown(self.dataset)}. Keep what it returned."
            )
        self._is_used = True
        specs, structure = flatten(self.element_spec)
        return unflatten(structure, [ElementPart(self, *numbered) for numbered in enumerate(specs)])


def make_one_shot_iterator(dataset: Dataset) -> OneShotIterator | DatasetIterator:
    """Return an iterator, as `tf.compat.v1.data.make_one_shot_iterator`.

    In an `input_fn` what its `get_next()` returns stands for the element of every step, and is to be returned;
    elsewhere it is the next element.

    Args:
        dataset: The dataset.

    Raises:
        BadTypeError: It is no Dataset.

    Example:
        >>> from stratax.data import Dataset, make_one_shot_iterator
        >>> int(make_one_shot_iterator(Dataset.range(3)).get_next())
        0
    """
    if not isinstance(dataset, Dataset):
        raise BadTypeError(f"make_one_shot_iterator takes a Dataset. Received: dataset={shown(dataset)}.")
    return OneShotIterator(dataset) if _active.is_symbolic else iter(dataset)


def dataset_of_parts(value: Any) -> Dataset | None:
    """Return the dataset whose elements a structure of components stands for; None where it has no component.

    Args:
        value: What an `input_fn` returned.

    Raises:
        BadArgumentError: There is something else beside components.
    """
    leaves, structure = flatten(value, lambda leaf: isinstance(leaf, ElementPart))
    parts = [leaf for leaf in leaves if isinstance(leaf, ElementPart)]
    if not parts:
        return None
    if len(parts) < len(leaves):
        other = next(leaf for leaf in leaves if not isinstance(leaf, ElementPart))
        raise BadArgumentError(
            "An input_fn returned what a one-shot iterator gives together with something else. Expected: components of "
            f"elements only. Received: {shown(other)} beside them. Add it in dataset.map."
        )
    iterators = list({id(part.iterator): part.iterator for part in parts}.values())
    starts: dict[int, int] = {}
    count = 0
    for iterator in iterators:
        starts[id(iterator)] = count
        count += len(flatten(iterator.element_spec)[0])
    places = [starts[id(part.iterator)] + part.number for part in parts]
    datasets = [iterator.dataset for iterator in iterators]
    if (
        len(datasets) == 1
        and flatten(datasets[0].element_spec)[1] == structure
        and places == list(range(count))
    ):
        return datasets[0]

    def rebuilt(*element: Any) -> Any:
        components, _ = flatten(element)
        return unflatten(structure, [components[place] for place in places])

    return (datasets[0] if len(datasets) == 1 else Dataset.zip(tuple(datasets))).map(rebuilt)


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return a tensor of an `input_fn` that there is so many times, as `tf.compat.v1.train.limit_epochs`.

    Args:
        tensor: A batch, which every step takes; or a structure of arrays.
        num_epochs: In how many steps; None for all.
        name: Ignored.

    Returns:
        What stands for it in every step, to be returned by the `input_fn`; elsewhere the tensor itself.

    Raises:
        BadArgumentError: `num_epochs` is not positive.
    """
    del name
    if num_epochs is not None and not num_epochs > 0:
        raise BadArgumentError(f"num_epochs must be > 0, or None. Received: num_epochs={shown(num_epochs)}.")
    return make_one_shot_iterator(Dataset.from_tensors(tensor).repeat(num_epochs)).get_next()
