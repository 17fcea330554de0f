"""Which part of a Dataset each of several workers reads, by `Options.experimental_distribute` (data layer).

A plan is rewritten: by file, where it reads files, or by element. Either way every element is one worker's and one
worker's only, in whatever order they come, as long as all workers shuffle with the same seeds.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import cast

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.data.dataset._dataset import Dataset
from stratax.data.dataset._file_shards import FileShards
from stratax.data.dataset._options import AutoShardPolicy
from stratax.data.elements import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from stratax.data.ops import (
    Batch,
    Cache,
    Concatenate,
    Map,
    NamedColumns,
    PaddedBatch,
    Prefetch,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    Zip,
    make_batch,
    make_unbatch,
)
from stratax.data.plan import Drawing, Node, Order, as_count, walk
from stratax.errors import BadArgumentError, DataError

# Steps that make one batch of each.
_KEEP_BATCHES = Map | NamedColumns | Prefetch

_COST = " Every worker reads all the files then."
_warned: set[str] = set()


def auto_shard(
    dataset: Dataset,
    num_workers: int,
    index: int,
    *,
    split_batches: bool = True,
    seeds: Sequence[int] | None = None,
) -> Dataset:
    """Return the part of a Dataset that one of several workers reads.

    The policy is that of the Dataset's options:

    * FILE: each worker reads every `num_workers`-th file.
    * DATA: each worker takes every `num_workers`-th element, of batches every `num_workers`-th row, so that what all
      workers take in one step is what one process would. What others take is not made where that can be avoided.
      Behind batches of which one may have fewer rows than there are workers, as in `batch(64).repeat()` over a
      number of elements that is not known, workers take whole batches in turn instead.
    * AUTO, the default: FILE if there is at least one file for each worker, else DATA.
    * OFF: each worker reads everything.
    * HINT: as OFF; a program that shards by itself does.

    Args:
        dataset: The same in all workers, with batches of the global size.
        num_workers: How many workers there are.
        index: Which of them this is, from 0.
        split_batches: Whether batches become the worker's part of the global batch, `1 / num_workers` of its size.
        seeds: Those of the shuffles, as :func:`shuffle_seeds` gave them in one of the workers. Without, all shuffles
            need a `seed`, or all workers the same one from `keras.utils.set_random_seed`.

    Returns:
        A Dataset with the same options.

    Raises:
        DataError: FILE was asked for and there are fewer files than workers, or none; batches do not divide by the
            number of workers.
    """
    number, position = as_count("num_workers", num_workers, 1), as_count("index", index, 0)
    if position >= number:
        raise BadArgumentError(
            f"index counts the workers from 0. Expected: 0 <= index < num_workers={number}. "
            f"Received: index={shown(index)}."
        )
    node = _Division(number, position, split_batches=split_batches).of(dataset._node, _policy(dataset))
    # One worker reads everything: its plan is the Dataset's own, and so is the position in it.
    result = dataset._derive(dataset._node if number == 1 else node)
    return result if seeds is None else with_seeds(result, dataset, seeds)


def with_seeds(part: Dataset, dataset: Dataset, seeds: Sequence[int]) -> Dataset:
    """Return a worker's part of a Dataset, with the seeds that all workers shuffle with.

    Args:
        part: What :func:`auto_shard` returned; it is changed.
        dataset: The Dataset of which it is a part.
        seeds: What :func:`shuffle_seeds` returned in one of the workers.

    Returns:
        The part.
    """
    orders = _orders(dataset._node)
    part._epochs.continue_after(-1, {id(o): s for o, s in zip(orders, seeds, strict=True)})
    return part


def steps_of(dataset: Dataset) -> str:
    """Return the names of a plan's steps, which are the same in all workers if they divide a Dataset in the same way.

    Args:
        dataset: What :func:`auto_shard` returned.
    """
    return " < ".join(type(step).__name__ for step in walk(dataset._node))


def is_read_whole(dataset: Dataset, num_workers: int) -> bool:
    """Return whether each worker reads whole batches and keeps its rows, and not a part that :func:`auto_shard` makes.

    It does where that costs little, because they are gathered from memory, and where the batches can't be divided
    otherwise: they come from another library or a generator, which says nothing of their size.

    Args:
        dataset: The same in all workers.
        num_workers: How many workers there are.
    """
    policy, node = _policy(dataset), dataset._node
    if policy not in (AutoShardPolicy.AUTO, AutoShardPolicy.DATA):
        return False
    # Nothing but gathers: to read a whole batch costs little.
    if dataset.is_indexable and not any(isinstance(step, Map) for step in walk(node)):
        return True
    division = _Division(num_workers, 0, split_batches=True)
    by_file = policy == AutoShardPolicy.AUTO and division.finds_files(node)
    return not by_file and not division.finds_batches(node)


def shuffle_seeds(dataset: Dataset) -> list[int]:
    """Return the seeds of everything random in a Dataset, drawn now where none were given.

    Args:
        dataset: The Dataset.

    Returns:
        What :func:`auto_shard` takes as `seeds` in every worker, for an equal Dataset.
    """
    return [order.seed for order in _orders(dataset._node)]


def _orders(node: Node) -> list[Order]:
    return list({id(step.order): step.order for step in walk(node) if step.order is not None}.values())


def _policy(dataset: Dataset) -> AutoShardPolicy:
    policy = dataset.options().experimental_distribute.auto_shard_policy
    return AutoShardPolicy.AUTO if policy is None else policy


class _Division:
    """How plans are divided between workers.

    Args:
        num_workers: How many there are.
        index: Which of them this is.
        split_batches: Whether batches are divided, too.
    """

    def __init__(self, num_workers: int, index: int, *, split_batches: bool) -> None:
        self._number = num_workers
        self._index = index
        self._splits = split_batches

    def of(self, node: Node, policy: AutoShardPolicy) -> Node:
        """Return a worker's part of a plan."""
        if policy in (AutoShardPolicy.OFF, AutoShardPolicy.HINT):
            return self._divide(node, _same)
        if policy == AutoShardPolicy.DATA:
            return self._divide(node, self._shard)
        files = FileShards(self._shard, self._over)
        by_file = files.of(node)
        if policy == AutoShardPolicy.AUTO and not self._chooses_files(files):
            return self._divide(node, self._shard)
        self._check_files(files)
        return self._divide(by_file, _same)

    def finds_files(self, node: Node) -> bool:
        """Return whether a plan reads files."""
        files = FileShards(self._shard, self._over)
        files.of(node)
        return bool(files.counts)

    def finds_batches(self, node: Node) -> bool:
        """Return whether the batches of a plan can be divided by what they are made of."""
        return node.batch_size is not None or self._below(node, self._shard) is not None

    def _chooses_files(self, files: FileShards) -> bool:
        if not files.counts:
            return False
        is_enough = UNKNOWN_CARDINALITY not in files.counts and self._fewest(files.counts) >= self._number
        if not is_enough:
            self._tell("DATA", f"{_number_of(files.counts)} files for {self._number} workers", _COST)
        elif files.obstacle:
            self._tell("DATA", f"{files.obstacle} needs the elements of all files in order", _COST)
        else:
            self._tell("FILE", f"{_number_of(files.counts)} files for {self._number} workers", "")
        return is_enough and not files.obstacle

    def _fewest(self, counts: list[int]) -> int:
        return min((count for count in counts if count != INFINITE_CARDINALITY), default=self._number)

    def _tell(self, policy: str, reason: str, cost: str) -> None:
        message = (
            f"The auto_shard_policy AUTO chose {policy}: {reason}.{cost} "
            "Set options.experimental_distribute.auto_shard_policy to choose yourself."
        )
        # One worker says it for all.
        # Once per process, too: a dataset may be divided many times.
        if self._index == 0 and message not in _warned:
            _warned.add(message)
            warnings.warn(message, UserWarning, stacklevel=stack_level())

    def _check_files(self, files: FileShards) -> None:
        count = self._fewest(files.counts) if files.counts else 0
        if 0 <= count < self._number:
            raise DataError(
                "auto_shard_policy FILE needs at least one file for each worker. "
                f"Received: {count} files for num_workers={self._number}. Write more files, or choose "
                "AutoShardPolicy.DATA."
            )
        if files.has_unpaired:
            raise DataError(
                "auto_shard_policy FILE can't divide a zip of files with something else. "
                f"Received: num_workers={self._number}. Choose AutoShardPolicy.DATA."
            )

    def _over(self, node: Node, *children: Node) -> Node:
        """Return a step over parts of its nodes; what a function draws differs between the workers."""
        if isinstance(node, Drawing):
            return node.shard(children[0], self._number, self._index)
        return node.over(*children)

    # By element

    def _shard(self, node: Node) -> Node:
        """Take every n-th element; what only costs something for each element comes behind it."""
        if isinstance(node, Prefetch):
            return node.over(self._shard(node.children[0]))
        if isinstance(node, Map) and not node.is_indexable:
            return node.shard(self._shard(node.child), self._number, self._index)
        return Shard(node, self._number, self._index)

    def _divide(self, node: Node, part: Callable[[Node], Node]) -> Node:
        """Return the batches of a plan divided over a part of what they are made of; its own part where it has none."""
        if not self._splits:
            return part(node)
        divided = self._below(node, part)
        if divided is not None:
            return divided
        size = node.batch_size
        if size is None:
            return part(node)
        # Batches of unknown making are taken apart and made anew, smaller.
        return make_batch(make_unbatch(part(node)), self._share(size), drop_remainder=False)

    def _below(self, node: Node, part: Callable[[Node], Node]) -> Node | None:
        """Return the plan with its batches divided; None if they can't be reached through what is done to them."""
        if isinstance(node, Batch | PaddedBatch):
            return self._batch(node, part)
        if isinstance(node, Zip):
            return self._zip(node, part)
        if not isinstance(node, _KEEP_BATCHES | Repeat | Shuffle | Take | Skip | Cache | Concatenate):
            return None
        if part is not _same and not isinstance(node, _KEEP_BATCHES) and not self._keep_step(node):
            return None
        children = [self._below(child, part) for child in node.children]
        found = [child for child in children if child is not None]
        return self._over(node, *found) if len(found) == len(children) else None

    def _keep_step(self, node: Node) -> bool:
        """Return whether every batch below has rows for all workers: else they would not have equally many batches."""
        batches = (step for step in walk(node) if isinstance(step, Batch | PaddedBatch))
        return all(
            batch.drop_remainder or self._is_for_all(batch.child.length, batch.size) for batch in batches
        )

    def _is_for_all(self, length: int, size: int) -> bool:
        if length == UNKNOWN_CARDINALITY:
            return False
        last = 0 if length == INFINITE_CARDINALITY else length % size
        # A last batch with fewer rows than there are workers would leave one of them without a batch.
        return last == 0 or last >= self._number

    def _zip(self, node: Zip, part: Callable[[Node], Node]) -> Node | None:
        """Divide what is zipped with batches, such as their numbers, which stays as it is."""
        children = [self._below(child, part) for child in node.children]
        if not any(children):
            return None
        pairs = zip(children, node.children, strict=True)
        return node.over(*(whole if child is None else child for child, whole in pairs))

    def _batch(self, node: Batch | PaddedBatch, part: Callable[[Node], Node]) -> Node:
        whole = _whole_batches(node) if node.drop_remainder and part is not _same else node.child
        batch = cast(Batch, node.over(part(whole)))
        batch.size = self._share(node.size)
        return batch

    def _share(self, size: int) -> int:
        if size % self._number:
            raise DataError(
                "The size of a global batch has to divide by the number of workers. "
                f"Received: batch_size={size}, num_workers={self._number}. Choose a multiple of {self._number}."
            )
        return size // self._number


def _same(node: Node) -> Node:
    return node


def _whole_batches(node: Batch | PaddedBatch) -> Node:
    """Return the elements of a batch's child without those of the last batch if it is short."""
    length = node.child.length
    if length == INFINITE_CARDINALITY:
        return node.child
    if length >= 0:
        return Take(node.child, length - length % node.size)
    return make_unbatch(node.over(node.child))


def _number_of(counts: list[int]) -> str:
    fewest = min((count for count in counts if count != INFINITE_CARDINALITY), default=INFINITE_CARDINALITY)
    return "no known number of" if fewest < 0 else str(fewest)
