"""`make_one_shot_iterator`: in an `input_fn`, the next element as a program of TensorFlow 1 names it (data layer).

There, what `get_next` returns is a symbol, and each step of training has another value of it: what is computed of it is
computed of every element. Whoever calls an
`input_fn` enters :func:`symbolic_iterators`; what the function then returns is a dataset again, by
:func:`dataset_of_parts`.
"""

import abc
import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from stratax.base.recording import NOT_RECORDED, RECORDER, recording_with
from stratax.base.shown import shown
from stratax.base.surroundings import Surroundings
from stratax.data.dataset._dataset import ONE_SHOT, Dataset
from stratax.data.elements import flatten, unflatten
from stratax.data.iteration import DatasetIterator
from stratax.errors import BadArgumentError, BadTypeError


def symbolic_iterators() -> Surroundings:
    """Have :func:`make_one_shot_iterator` give iterators in a block whose elements stand for those of every step."""
    # The recorder is put there by the first iterator, until the end of the block.
    return ONE_SHOT.holding(_symbolic_iterator) | recording_with(RECORDER.get())


class _Part(abc.ABC):
    """What stands for a tensor of every step, in an `input_fn`: operators and functions of `tf` give such again."""

    # NumPy's arrays leave arithmetic with it to the operators here.
    __array_priority__ = 1000
    __hash__ = object.__hash__

    @property
    @abc.abstractmethod
    def spec(self) -> Any:
        """Its shape and dtype."""

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.spec.dtype

    @property
    def shape(self) -> Any:
        """Its shape, with None where a size is not known."""
        return self.spec.shape

    def get_shape(self) -> Any:
        """Return its shape, as a tensor of TensorFlow gives it."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Do nothing: shapes are those of the batches."""
        del shape

    def _refuse(self, *others: object) -> NoReturn:
        del others
        raise BadTypeError(
            "What get_next() of a one-shot iterator gives stands for a value of every step, which is not known in an "
            "input_fn. Expected: operators and functions of tf, or that it is returned. Received: "
            f"{shown(self)}. Compute in dataset.map, before the iterator is made."
        )


class ElementPart(_Part):
    """A component of the next element, in an `input_fn`.

    Args:
        iterator: What gives the element.
        number: The component's number.
        spec: Its shape and dtype.

    Attributes:
        iterator: What gives the element.
        number: The component's number.
    """

    def __init__(self, iterator: "OneShotIterator", number: int, spec: object) -> None:
        self.iterator = iterator
        self.number = number
        self._spec = spec

    @property
    def spec(self) -> Any:
        return self._spec

    @property
    def name(self) -> str:
        """Its name in TensorFlow."""
        return f"IteratorGetNext:{self.number}"

    def __repr__(self) -> str:
        return f"<ElementPart {self.number} shape={self.shape} dtype={self.dtype}>"


class _Computed(_Part):
    """What a function makes of parts of an element: computed of every element, as `Dataset.map` does.

    Args:
        function: The function.
        args: Its arguments, with parts among them.
        kwargs: Those with names.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs

    @functools.cached_property
    def spec(self) -> Any:
        made = dataset_of_parts(self)
        return None if made is None else made.element_spec

    def __getitem__(self, key: object) -> Any:
        # Of several results, such as those of tf.split.
        return _Computed(operator.getitem, (self, key), {})

    def __repr__(self) -> str:
        return f"<computed by {getattr(self.function, '__name__', self.function)}>"


class _Recorder:
    """Has calls with parts of elements among their operands wait for the elements: see `stratax.base.recording`."""

    lookup = apply = phase = None

    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return `NOT_RECORDED`: layers compute what they are called with."""
        return NOT_RECORDED

    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result; `NOT_RECORDED` where it has no part of an element."""
        has_parts = any(isinstance(leaf, _Part) for leaf in _leaves((args, kwargs)))
        return _Computed(function, args, kwargs) if has_parts else NOT_RECORDED

    def is_value(self, value: object) -> bool:
        """Return whether something stands for a value of every step."""
        return isinstance(value, _Part)

    def placeholder(self, dtype: object, shape: object, name: str | None) -> NoReturn:
        """Refuse placeholders."""
        raise BadTypeError(
            f"An input_fn has no placeholders. Received: placeholder({shown(dtype)}, {shown(shape)})."
        )


def _operator(name: str, *, is_reflected: bool = False) -> Callable[..., _Computed]:
    function = getattr(operator, name)

    def compute(self: object, *others: object) -> _Computed:
        return _Computed(function, (*others, self) if is_reflected else (self, *others), {})

    return compute


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor")
for _name in (*_BINARY, "eq", "ne", "lt", "le", "gt", "ge", "getitem", "neg", "abs", "invert"):
    setattr(_Part, f"__{_name.strip('_')}__", _operator(_name))
for _name in _BINARY:
    setattr(_Part, f"__r{_name.strip('_')}__", _operator(_name, is_reflected=True))
for _name in ("bool", "int", "float", "index", "len", "iter", "array", "jax_array"):
    setattr(_Part, f"__{_name}__", _Part._refuse)


def _replace_leaves(value: object, function: Callable[[Any], Any]) -> Any:
    """Return a structure of Python in which a function has taken the place of every leaf."""
    if isinstance(value, dict):
        return {key: _replace_leaves(each, function) for key, each in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)([_replace_leaves(each, function) for each in value])
    if isinstance(value, slice):
        return slice(*(_replace_leaves(each, function) for each in (value.start, value.stop, value.step)))
    return function(value)


def _leaves(value: object) -> list[Any]:
    found: list[Any] = []
    _replace_leaves(value, found.append)
    return found


def _sources(leaf: object) -> list[ElementPart]:
    """Return the components that something is computed of."""
    if isinstance(leaf, ElementPart):
        return [leaf]
    if isinstance(leaf, _Computed):
        return [source for each in _leaves((leaf.args, leaf.kwargs)) for source in _sources(each)]
    return []


class OneShotIterator:
    """An iterator in an `input_fn`, whose element is that of every step.

    Args:
        dataset: The dataset.

    Attributes:
        dataset: The dataset.
    """

    # What a session would run before the first step: nothing.
    initializer = None

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


def make_initializable_iterator(dataset: object, shared_name: str | None = None) -> Any:
    """Return an iterator of a graph, which a session initializes, as `tf.compat.v1.data.make_initializable_iterator`.

    In an `input_fn` it is as one of :func:`make_one_shot_iterator`, and its `initializer` None, which does nothing.

    Args:
        dataset: The dataset.
        shared_name: Ignored.

    Raises:
        BadArgumentError: If no graph is built.
    """
    make: Any = ONE_SHOT.get()
    if not hasattr(make, "initializable"):
        raise BadArgumentError(
            "make_initializable_iterator is for a tf.Graph or an input_fn. Elsewhere use `iter(dataset)`."
        )
    return make.initializable(dataset)


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
    made: OneShotIterator | DatasetIterator = dataset.make_one_shot_iterator()
    return made


def _symbolic_iterator(dataset: Dataset) -> OneShotIterator:
    RECORDER.set(RECORDER.get() or _Recorder())
    return OneShotIterator(dataset)


_symbolic_iterator.initializable = _symbolic_iterator  # type: ignore[attr-defined]


def dataset_of_parts(value: object) -> Dataset | None:
    """Return the dataset whose elements a structure of components stands for; None where it has no component.

    Args:
        value: What an `input_fn` returned: components, what was computed of them, and constants.
    """
    leaves, structure = flatten(value, lambda leaf: isinstance(leaf, _Part))
    parts = [part for leaf in leaves for part in _sources(leaf)]
    if not parts:
        return None
    iterators = list({id(part.iterator): part.iterator for part in parts}.values())
    starts: dict[int, int] = {}
    count = 0
    for iterator in iterators:
        starts[id(iterator)] = count
        count += len(flatten(iterator.element_spec)[0])
    datasets = [iterator.dataset for iterator in iterators]
    is_whole = all(isinstance(leaf, ElementPart) for leaf in leaves) and len(datasets) == 1
    if (
        is_whole
        and flatten(datasets[0].element_spec)[1] == structure
        and [part.number for part in parts] == list(range(count))
    ):
        return datasets[0]

    def rebuild(*element: object) -> Any:
        components, _ = flatten(element)
        known: dict[int, Any] = {}

        def value_of(leaf: object) -> Any:
            if isinstance(leaf, ElementPart):
                return components[starts[id(leaf.iterator)] + leaf.number]
            if not isinstance(leaf, _Computed):
                return leaf
            # Once, although several parts may be computed of it.
            if id(leaf) not in known:
                args, kwargs = _replace_leaves((leaf.args, leaf.kwargs), value_of)
                known[id(leaf)] = leaf.function(*args, **kwargs)
            return known[id(leaf)]

        return unflatten(structure, [value_of(leaf) for leaf in leaves])

    return (datasets[0] if len(datasets) == 1 else Dataset.zip(tuple(datasets))).map(rebuild)


def limit_epochs(tensor: object, num_epochs: int | None = None, name: str | None = None) -> Any:
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
