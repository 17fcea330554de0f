"""Methods of Dataset that select elements, of one Dataset or of several (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data import ops, sources
from stratax.data.dataset._deriving import Deriving
from stratax.data.elements import INFINITE_CARDINALITY, flatten
from stratax.data.plan import Node, as_count, check_callable, make_order
from stratax.errors import BadArgumentError, BadTypeError


class Selecting(Deriving):
    """The methods of Dataset that select elements."""

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Any:
        """Take the elements before the first for which `predicate` (unpacked like in `map`) gives False.

        Args:
            predicate: Gives one bool.
            name: Ignored.

        Example:
            >>> from stratax.data import Dataset
            >>> [int(x) for x in Dataset.range(10).take_while(lambda x: x < 3)]
            [0, 1, 2]
        """
        check_callable("predicate", predicate, self._node)
        return self._derive(ops.try_functions(ops.TakeWhile(self._node, predicate)))

    def unique(self, name: str | None = None) -> Any:
        """Leave out elements that have come before. All that were given are kept in memory, and in saved positions.

        Args:
            name: Ignored.

        Raises:
            BadTypeError: Elements have several components, or are neither int32, int64 nor strings.

        Example:
            >>> from stratax.data import Dataset
            >>> [int(x) for x in Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
            [1, 37, 2]
        """
        node = ops.UniqueElements(self._node)
        if self._node.has_known_spec:
            # Asked for now, so that other elements are reported where the Dataset is made.
            _ = node.spec
        return self._derive(node)

    def scan(self, initial_state: object, scan_func: Callable[..., Any], name: str | None = None) -> Any:
        """Make each element of one of this Dataset's and of the state that the one before has left.

        Args:
            initial_state: Array or structure of arrays.
            scan_func: From the state and an element, whole, to the next state, of the same structure, dtypes and
                ranks, and the new element.
            name: Ignored.

        Returns:
            A Dataset that can only be iterated. A saved position holds the state.

        Example:
            >>> from stratax.data import Dataset
            >>> sums = Dataset.range(1, 5).scan(np.int64(0), lambda state, x: (state + x, state + x))
            >>> [int(x) for x in sums]
            [1, 3, 6, 10]
        """
        return self._derive(ops.try_functions(ops.Scan(self._node, initial_state, scan_func)))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: object,
        initial_dist: object = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Leave out, and repeat, elements so that classes come as often as they should.

        Args:
            class_func: The class of an element (unpacked like in `map`): an integer from 0.
            target_dist: The share that each class should have.
            initial_dist: The share that each has; counted while iterating if None.
            seed: Takes part in what is drawn.
            name: Ignored.

        Returns:
            A Dataset of pairs of a class and an element.

        Raises:
            BadArgumentError: The shares do not fit.
        """
        from stratax.data.dataset._resampling import resample

        check_callable("class_func", class_func, self._node)
        return resample(self, class_func, target_dist, initial_dist, seed)

    def assert_cardinality(self, expected_cardinality: int) -> Any:
        """Say how many elements there are: see `tf.data.experimental.assert_cardinality`.

        Args:
            expected_cardinality: The number, or INFINITE_CARDINALITY. While iterating, another one raises a
                FailedPreconditionError.
        """
        expected = as_count("expected_cardinality", expected_cardinality, INFINITE_CARDINALITY)
        if self._node.length == expected:
            return self._derive(self._node)
        return self._derive(ops.AssertCardinality(self._node, expected))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: object = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Any:
        """Take each element of a Dataset that is drawn at random.

        Args:
            datasets: Datasets with elements of one structure.
            weights: How often each is drawn, relative to the others, or a Dataset of such weights, one for each draw;
                all alike if None. Which Dataset is drawn is never what TensorFlow draws with the same seed.
            seed: Fixes the draws; drawn from Python's `random` now if None.
            stop_on_empty_dataset: Whether the first draw of a Dataset that has ended is the end; else such draws are
                passed over until all have ended.
            rerandomize_each_iteration: Whether each iteration has other draws.

        Raises:
            BadArgumentError: There is no Dataset, or not a weight for each.
            BadTypeError: Weights are no floats, or the Datasets' elements differ in structure or dtypes.

        Example:
            >>> from stratax.data import Dataset
            >>> a, b = Dataset.range(0, 5), Dataset.range(100, 105)
            >>> sorted(int(x) for x in Dataset.sample_from_datasets([a, b], weights=[0.5, 0.5], seed=1))
            [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
        """
        members = _members("sample_from_datasets", datasets)
        draws: Node = sources.Random(make_order(seed, reshuffle=bool(rerandomize_each_iteration)))
        if isinstance(weights, Deriving):
            if weights._node.has_known_spec:
                _check_weights(weights._node.spec.dtype, weights)
            draws = ops.WeightedNumbers(ops.Zip((draws, weights._node), flatten((0, 0))[1]))
        else:
            shares = _shares(weights, len(members))
            chosen = [i for i, share in enumerate(shares) if share > 0]
            if not chosen:
                # As TensorFlow: nothing is drawn.
                return members[0].take(0)
            if len(chosen) == 1:
                return members[chosen[0]]
            members = [members[i] for i in chosen]
            draws = ops.WeightedNumbers(draws, shares[chosen])
        return _choose(draws, members, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Any:
        """Take each element of the Dataset whose number comes next.

        Args:
            datasets: Datasets with elements of one structure.
            choice_dataset: A Dataset of numbers of Datasets, int64 scalars.
            stop_on_empty_dataset: Whether the first choice of a Dataset that has ended is the end; else such choices
                are passed over.

        Raises:
            BadArgumentError: There is no Dataset.
            BadTypeError: Something is no Dataset, elements differ in structure or dtypes, or the choices are no int64.

        Example:
            >>> from stratax.data import Dataset
            >>> words = [Dataset.from_tensors(word).repeat() for word in ("foo", "bar")]
            >>> choice = Dataset.range(2).repeat(2)
            >>> list(Dataset.choose_from_datasets(words, choice).as_numpy_iterator())
            [b'foo', b'bar', b'foo', b'bar']
        """
        members = _members("choose_from_datasets", datasets)
        _members("choose_from_datasets", [choice_dataset])
        return _choose(choice_dataset._node, members, stop_on_empty_dataset)


def _members(where: str, datasets: Sequence[Any]) -> list[Any]:
    members = list(datasets)
    if not members:
        raise BadArgumentError(f"{where} needs at least one Dataset. Received: datasets={shown(datasets)}.")
    for member in members:
        if not isinstance(member, Deriving):
            raise BadTypeError(
                f"{where} needs Datasets. Received: {shown(member)} of type {type(member).__name__}. "
                "Make one with Dataset.from_tensor_slices or Dataset.from_tensors."
            )
    return members


def _shares(weights: object, count: int) -> np.ndarray:
    given = np.ones(count) if weights is None else np.asarray(weights)
    _check_weights(given.dtype, weights)
    shares = given.astype(np.float64)
    if shares.shape != (count,) or (shares < 0).any() or not np.isfinite(shares).all():
        raise BadArgumentError(
            "sample_from_datasets needs a weight, a number of at least 0, for each Dataset. "
            f"Expected: {count} weights. Received: weights={shown(weights)}."
        )
    return shares


def _check_weights(dtype: np.dtype, weights: object) -> None:
    """Raise unless weights are fractions, as TensorFlow wants: whole numbers are often meant as numbers of elements."""
    if dtype not in (np.float32, np.float64):
        raise BadTypeError(
            f"Weights of sample_from_datasets are float32 or float64. Received: weights={shown(weights)} of dtype "
            f"{dtype}. Pass floats, such as [0.5, 0.5]."
        )


def _choose(choices: Node, members: list[Any], stops_on_empty: bool) -> Any:
    node = ops.Choose(choices, [member._node for member in members], stops_on_empty=bool(stops_on_empty))
    if all(child.has_known_spec for child in node.children):
        # Asked for now, so that structures that do not fit are reported where they are put together.
        _ = node.spec
    first, *others = members
    return first._derive(node, *others)
