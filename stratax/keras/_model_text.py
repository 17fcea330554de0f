"""Text that models take: what the host computes of each batch, ahead of its step (keras layer).

A step has numbers only. Who knows functions of text (`providers`) traces the model once with symbols in their place,
and notes what the host has to compute. The input's threads do so; a step takes the results, and gives the model symbols
that find them.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data import Dataset
from stratax.distribute import InputContext, Strategy
from stratax.distribute.input import Padded, PreparedDataset
from stratax.distribute.replicas import enter_contexts
from stratax.keras._creator import DatasetCreator
from stratax.keras._text import KINDS, TEXT, features_of
from stratax.seams import keras as seam
from stratax.seams.keras_text import text_in_models

# The key of what takes the place of `x` in a batch.
_PREPARED = "stratax.text"
# Keys of its parts.
_NUMBERS, _MADE, _ROWS = "numbers", "made", "rows"


def is_text(value: object) -> bool:
    """Return whether something is an array of text, or describes one."""
    dtype = getattr(value, "dtype", None)
    return getattr(_dtype_of(dtype), "kind", "") in KINDS or str(dtype) in ("str", TEXT)


def _dtype_of(dtype: Any) -> Any:
    """Return a dtype as NumPy has it; None for what it has not."""
    try:
        return None if dtype is None else np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    except TypeError:
        return None


def _is_spec(value: object) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


class TextOfModel:
    """What the host computes for a model that takes text, under one strategy.

    Args:
        model: The model.
        strategy: The strategy.
        forget: Called when what was traced before is no longer right.
    """

    def __init__(self, model: keras.Model, strategy: Strategy, forget: Callable[[], None]) -> None:
        self._model, self._strategy, self._forget = model, strategy, forget
        # By the numbers that batches name them by.
        self._texts: list[ModelText] = []
        # What makes text of what a step of predictions gives.
        self._text_of: Callable[[PyTree], Any] | None = None

    def prepare(self, x: PyTree) -> tuple[PyTree, "Preparation | None"]:
        """Return an input as it is distributed, and what is computed of its batches.

        Of arrays of text the numbers of their rows are distributed. A function that makes datasets prepares them.

        Args:
            x: What `fit` and its like are given.
        """
        symbols = symbols_of(x, self._model)
        text = next((each for each in self._texts if each.is_for(symbols)), None)
        if text is None:
            # Variables that layers create now belong to the strategy.
            with enter_contexts(self._strategy, None), seam.without_distribution():
                text = ModelText(self._model, symbols, len(self._texts))
            self._texts.append(text)
            self._forget()
        if isinstance(x, DatasetCreator):
            preparation = text.preparation({}, pads=True)
            return DatasetCreator(PreparedCreator(x.dataset_fn, preparation), x.input_options), None
        own, texts = with_rows(x) if is_array_input(x) else (x, {})
        pads = self._strategy.extended.membership.share.processes > 1
        return own, text.preparation(texts, pads=pads)

    def in_step(self, step: Callable[[Any], Any], *, gives_text: bool = False) -> Callable[[Any], Any]:
        """Have a step be given symbols in the place of text.

        Args:
            step: The step.
            gives_text: Whether it may give text, for which it gives numbers then: see :meth:`results`.
        """

        def with_symbols(data: PyTree) -> Any:
            text = self._find(data)
            if text is None:
                return step(data)
            with text.give(data) as own:
                made = step(own)
                return self._as_numbers(made) if gives_text else made

        return with_symbols

    def _as_numbers(self, made: PyTree) -> PyTree:
        own, self._text_of = text_in_models().numbers_of(made)
        return own

    def results(self, predicted: PyTree) -> Any:
        """Return predictions with text in the place of the numbers that a step gave for it."""
        return predicted if self._text_of is None else self._text_of(predicted)

    def symbolic(self, data: PyTree) -> Any:
        """Return a batch of descriptions with symbolic tensors in the place of its prepared part."""
        text = self._find(data)
        return data if text is None else text.symbolic(data)

    def _find(self, data: PyTree) -> "ModelText | None":
        return next((each for each in self._texts if each.find(data) is not None), None)


class ModelText:
    """The text of a model's batches.

    Args:
        model: The model.
        x: A structure of symbolic tensors, as the model is called with.

    Attributes:
        number: By which batches name it.
        changes: How often layers had learnt when it was made.
    """

    def __init__(self, model: keras.Model, x: PyTree, number: int) -> None:
        self.number = number
        leaves, treedef = jax.tree.flatten(x)
        self.leaves, self.treedef = leaves, cast(Any, treedef)
        layers = text_in_models()
        self.changes = layers.changes()
        self.plan = layers.plan_of(model, self.leaves, self.treedef.unflatten)

    def is_for(self, x: PyTree) -> bool:
        """Return whether it is the text of a structure of symbolic tensors, as layers are now."""
        leaves, treedef = jax.tree.flatten(x)
        return (
            bool(self.treedef == treedef)
            and self.changes == text_in_models().changes()
            and all(
                a.dtype == b.dtype and len(a.shape) == len(b.shape) and a.shape[1:] == b.shape[1:]
                for a, b in zip(leaves, self.leaves, strict=True)
            )
        )

    @property
    def _key(self) -> str:
        return f"{_PREPARED}.{self.number}"

    def preparation(self, texts: dict[int, np.ndarray], *, pads: bool) -> "Preparation":
        """Return what prepares batches.

        Args:
            texts: By place: text of whose rows batches have the numbers.
            pads: Whether rows of different widths are filled up where batches are joined.
        """
        is_texts = [is_text(each) for each in self.leaves]
        return Preparation(self.plan, self._key, self.treedef, is_texts, texts, pads=pads)

    def find(self, data: PyTree) -> dict[str, Any] | None:
        """Return the prepared part of a batch; None where it has none of this."""
        x = features_of(data)
        return x.get(self._key) if isinstance(x, dict) else None

    @contextlib.contextmanager
    def give(self, data: PyTree) -> Iterator[Any]:
        """Give a prepared batch with symbols in the place of text, while a step is traced."""
        found = self.find(data) or {}
        made = {key: _array_of(each) for key, each in found[_MADE].items()}
        numbers, shapes = self._numbers_and_shapes(found)
        with text_in_models().in_step(self.plan, shapes, numbers, made) as features:
            yield _with_features(data, self.treedef.unflatten(features))

    def _numbers_and_shapes(self, found: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        own = iter(jax.tree.leaves(found[_NUMBERS]))
        rows = jax.tree.leaves(found)[0].shape[0]
        numbers = [None if is_text(each) else next(own) for each in self.leaves]
        shapes = [
            # The sizes of a row of text are those that the input says.
            (rows, *(1 if size is None else size for size in each.shape[1:])) if is_text(each) else None
            for each in self.leaves
        ]
        return numbers, shapes

    def symbolic(self, data: PyTree) -> Any:
        """Return a batch of descriptions with symbolic tensors in the place of its prepared part."""
        numbers, shapes = self._numbers_and_shapes(self.find(data) or {})
        tensors = [
            keras.KerasTensor(shape, TEXT) if number is None else number
            for number, shape in zip(numbers, shapes, strict=True)
        ]
        return _with_features(data, self.treedef.unflatten(tensors))


def _array_of(value: PyTree) -> Any:
    return value.array if isinstance(value, Padded) else value


def _with_features(data: PyTree, x: PyTree) -> Any:
    return (x, *data[1:]) if isinstance(data, list | tuple) else x


class Preparation:
    """Computes on the host what steps take of text; it can be pickled.

    Args:
        plan: What it computes.
        key: The key of what it makes, in a batch.
        treedef: The structure of the features.
        is_text: Which of them are text.
        texts: By place: text of whose rows batches have the numbers.
        pads: Whether rows of different widths are filled up where batches are joined.
    """

    def __init__(
        self,
        plan: Any,
        key: str,
        treedef: Any,
        is_text: Sequence[bool],
        texts: dict[int, np.ndarray],
        *,
        pads: bool,
    ) -> None:
        self._plan, self._key, self._is_text, self._texts, self._pads = plan, key, list(is_text), texts, pads
        # A structure of JAX can't be pickled.
        self._names = treedef.unflatten(range(treedef.num_leaves))

    @property
    def most_at_once(self) -> int | None:
        """How many batches are prepared in one block: one, if their widths may differ."""
        return 1 if self._plan.has_widths else None

    def __call__(self, leaves: list[np.ndarray], count: int, treedef: Any) -> tuple[list[np.ndarray], Any]:
        """Prepare batches: see `stratax.distribute.input.PreparedDataset`.

        Args:
            leaves: The leaves of batches, stacked.
            count: How many they are.
            treedef: Their structure.

        Raises:
            DataError: Their features are others than the model was looked at with.
        """
        data = jax.tree.unflatten(treedef, leaves)
        data = tuple(data) if isinstance(data, list) else data
        columns = self._columns(features_of(data))
        batches = [self._compute([column[number] for column in columns]) for number in range(count)]
        made = {key: np.stack([batch[key] for batch in batches]) for key in self._plan.keys}
        return jax.tree.flatten(self._part(data, columns, made))

    def _part(self, data: PyTree, columns: list[Any], made: dict[str, Any]) -> Any:
        """Return a batch with what a step takes in the place of its features."""
        if self._pads:
            fills = {key: self._plan.fill(key) for key in made}
            made = {
                key: each if (fill := fills[key]) is None else Padded(each, fill)
                for key, each in made.items()
            }
        numbers = [column for column, text in zip(columns, self._is_text, strict=True) if not text]
        part = {_MADE: made, _NUMBERS: numbers}
        if not made and not numbers:
            # How many rows there are is all that is left of a batch of text that nobody uses.
            part[_ROWS] = np.zeros(columns[0].shape[:2], np.uint8)  # type: ignore[assignment]
        return _with_features(data, {self._key: part})

    def treedef_of(self, spec: PyTree) -> Any:
        """Return the structure of a prepared element; None where that of elements is not known.

        Args:
            spec: What describes an element, or None.
        """
        if spec is None:
            return None
        blank = jax.tree.map(lambda _: np.zeros((1, 1)), spec, is_leaf=_is_spec)
        data = tuple(blank) if isinstance(blank, list) else blank
        columns = jax.tree.leaves(features_of(data))
        return jax.tree.structure(self._part(data, columns, dict.fromkeys(self._plan.keys, np.zeros(()))))

    def of_batch(self, batch: PyTree) -> Any:
        """Return a batch, prepared."""
        leaves, treedef = jax.tree.flatten(batch)
        made, own = self([np.asarray(leaf)[None] for leaf in leaves], 1, treedef)
        return jax.tree.unflatten(own, [leaf[0] for leaf in made])

    def _columns(self, x: PyTree) -> list[np.ndarray]:
        names: Any = jax.tree.structure(self._names)
        if names != jax.tree.structure(x):
            raise errors.DataError(
                "A batch has other features than those that the model was looked at with. Expected: features like "
                f"{shown(self._names)}. Received: {shown(x)}."
            )
        columns = jax.tree.leaves(x)
        for place, (column, text) in enumerate(zip(columns, self._is_text, strict=True)):
            if place in self._texts:
                columns[place] = self._texts[place][column]
            elif text != (column.dtype.kind in "OSU"):
                wanted = "text" if text else "numbers"
                raise errors.BadTypeError(
                    f"A feature of a batch is of another kind than the dataset says. Expected: {wanted}. Received: "
                    f"{shown(column)}."
                )
        return columns

    def _compute(self, features: list[np.ndarray]) -> dict[str, np.ndarray]:
        made: dict[str, np.ndarray] = self._plan.compute(features)
        rows = len(features[0])
        for key, array in made.items():
            if not array.ndim or len(array) != rows:
                raise errors.DataError(
                    "What a model makes of text has a row for each example. Expected: arrays whose first size is the "
                    f"batch's, {rows}. Received: {key} of shape {array.shape}. Compute it in dataset.map."
                )
        return made


class PreparedCreator:
    """A function that makes a dataset, whose elements are prepared; it can be pickled.

    Args:
        make: The function.
        preparation: Prepares them.
    """

    def __init__(self, make: Callable[..., Any], preparation: Preparation) -> None:
        self._make, self._preparation = make, preparation

    def __call__(self, context: object) -> PreparedDataset:
        made = PreparedDataset(self._make(context), at_most=self._preparation.most_at_once)
        made.prepare_as(self._preparation, None)
        return made


def symbols_of(x: PyTree, model: Any) -> Any:
    """Return symbolic tensors for the features of what `fit` and its like are given.

    Args:
        x: A Dataset, a function that makes one, arrays, or other input.
        model: The model, whose inputs tell of features where the input does not.

    Raises:
        BadTypeError: A feature is sparse or ragged, or has no known number of dimensions.
    """

    def symbol(each: PyTree) -> keras.KerasTensor:
        shape = getattr(each, "shape", None)
        known = None if shape is None or getattr(shape, "rank", 0) is None else tuple(shape)
        if known is None or not known or not _is_spec(each):
            raise errors.BadTypeError(
                "A model with text takes batches of dense arrays. Expected: components of known numbers of dimensions, "
                f"of which the first is the batch's. Received: {shown(each)}. Use to_tensor, to_dense or ensure_shape "
                "in dataset.map, and batch."
            )
        dtype = (
            TEXT if is_text(each) else keras.backend.standardize_dtype(_dtype_of(each.dtype) or each.dtype)
        )
        return keras.KerasTensor((None, *known[1:]), dtype)

    if isinstance(x, DatasetCreator):
        x = x(InputContext())
    if is_array_input(x):
        return jax.tree.map(symbol, x, is_leaf=_is_spec)
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        return jax.tree.map(symbol, features_of(spec), is_leaf=_is_spec)
    inputs = getattr(seam.functional_of(model), "_inputs_struct", None)
    if inputs is None:
        raise errors.BadTypeError(
            "The features of this input are not known before it is read, and a model that takes text is looked at with "
            f"them. Expected: a Dataset, or arrays. Received: {shown(x)}. Use Dataset.from_generator."
        )
    return inputs


def with_rows(x: PyTree) -> tuple[PyTree, dict[int, np.ndarray]]:
    """Return arrays with the numbers of rows in the place of text, which Keras can't slice; and the text, by place."""
    leaves, treedef = jax.tree.flatten(x)
    texts = {place: np.asarray(each, object) for place, each in enumerate(leaves) if is_text(each)}
    for place, text in texts.items():
        leaves[place] = np.arange(len(text), dtype=np.int32)
    return jax.tree.unflatten(treedef, leaves), texts


def split(arrays: PyTree, validation_split: float) -> tuple[PyTree, PyTree]:
    """Return two parts of arrays, as Keras splits off validation data, also of text.

    Args:
        arrays: Structures of arrays, or None.
        validation_split: The share of the second.
    """
    rows, texts = with_rows(arrays)

    def restore(part: PyTree) -> PyTree:
        leaves, treedef = jax.tree.flatten(part)
        own = [
            texts[place][np.asarray(leaf)] if place in texts else leaf for place, leaf in enumerate(leaves)
        ]
        return jax.tree.unflatten(treedef, own)

    first, second = seam.array_slicing.train_validation_split(rows, validation_split=validation_split)
    return restore(first), restore(second)


def is_array_input(x: object) -> bool:
    """Return whether something is arrays, or a structure of them."""
    return not isinstance(x, Dataset) and (isinstance(x, dict | list | tuple) or hasattr(x, "dtype"))
