"""Dataset: a pipeline of elements with tf.data's names and meaning (data layer)."""

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from stratax.base.recording import makes_dataset
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.tracing import TRACING
from stratax.base.typing import DTypeLike, PyTree, StrPath
from stratax.data import ops, sources, vectorise
from stratax.data.dataset._deriving import node_of
from stratax.data.dataset._grouping import Grouping
from stratax.data.dataset._options import Options, fix
from stratax.data.dataset._selecting import Selecting
from stratax.data.elements import (
    INFINITE_CARDINALITY,
    Count,
    DatasetSpec,
    as_element,
    flatten,
    refuse_numpy,
)
from stratax.data.iteration import (
    DatasetIterator,
    Epochs,
    Iteration,
    tracing_region,
)
from stratax.data.plan import Node, as_count, check_callable, fingerprint, make_order, threads_of, walk
from stratax.errors import BadArgumentError, BadTypeError, DataError, OutOfRangeError, UnimplementedError

# What gives `make_one_shot_iterator` on a thread; None for what `iter` gives.
ONE_SHOT: Slot[Callable[["Dataset"], Any] | None] = Slot("one-shot iterators", None)


# Those of a Dataset don't change, so that one object does for all that have none.
_UNSET = fix(Options())


class Dataset(Selecting, Grouping):
    """A sequence of elements, described by what is to be done; nothing happens before it is iterated.

    Names, arguments, defaults and meaning are those of `tf.data.Dataset`. An element is an array or a structure
    (tuple, namedtuple, dict) of arrays. What iterating gives are NumPy arrays on the host; no device is started for
    it unless a function given to `map` does.

    Over arrays in memory a pipeline is index arithmetic, and a batch is one gather per component. Differences from
    TensorFlow that follow, and others:

    * `shuffle` permutes all of an in-memory Dataset, whatever `buffer_size` (except 1, which does nothing).
    * An iteration's order is a function of (seed, how often this Dataset object was iterated before).
    * Functions get NumPy arrays, are called anew in every pass, and only for elements that are asked for. Only
      those known to have neither side effects nor hidden inputs are called once for many elements, and tried with
      zeros when a Dataset is made of them: what can never fit is told there.
    * `prefetch` in the middle of an in-memory pipeline reads the whole pipeline ahead.

    Example:
        >>> import numpy as np
        >>> from stratax.data import Dataset
        >>> ds = Dataset.from_tensor_slices(np.arange(5.0)).map(lambda x: x * 2).batch(2)
        >>> [batch.tolist() for batch in ds]
        [[0.0, 2.0], [4.0, 6.0], [8.0]]
    """

    def __init__(self, node: Node, options: Options | None = None) -> None:
        self._node = node
        self._options = options or _UNSET
        self._epochs = Epochs()

    def _derive(self, node: Node, *others: "Dataset") -> "Dataset":
        """Make a Dataset over this one's elements and those of others, whose options take precedence."""
        options = self._options
        for other in others:
            options = options.merge(other._options)
        return Dataset(node, options)

    # Sources

    @staticmethod
    @makes_dataset
    def from_tensors(tensors: PyTree, name: str | None = None) -> "Dataset":
        """Make a Dataset of one element: `tensors` whole."""
        return Dataset(sources.as_slices("Tensor", tensors, add_axis=True))

    @staticmethod
    @makes_dataset
    def from_tensor_slices(tensors: PyTree, name: str | None = None) -> "Dataset":
        """Make a Dataset of the slices of an array, or of all arrays of a structure, along the first axis.

        Args:
            tensors: Arrays with the same first dimension; kept, not copied, so leave them unchanged. A list is data.
            name: Ignored.

        Raises:
            DataError: First dimensions differ, or a component has none.
        """
        return Dataset(sources.as_slices("TensorSlice", tensors, add_axis=False))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: object = None,
        output_shapes: object = None,
        args: PyTree = None,
        output_signature: object = None,
        name: str | None = None,
    ) -> "Dataset":
        """Make a Dataset of what the iterable of `generator(*args)` yields; it is called for every iteration.

        Args:
            generator: Gives an iterable.
            output_types: Structure of dtypes, the older form of `output_signature`.
            output_shapes: Structure of shapes, with `output_types`.
            args: Arguments for `generator`, as NumPy arrays.
            output_signature: Structure of TensorSpec, SparseTensorSpec or RaggedTensorSpec that every element fits.
            name: Ignored.
        """
        return Dataset(sources.make_generator(generator, output_types, output_shapes, args, output_signature))

    @staticmethod
    def range(*args: object, output_type: object = np.int64, name: str | None = None) -> "Dataset":
        """Make a Dataset of the numbers of `range(*args)`, int64 unless `output_type` says otherwise."""
        return Dataset(sources.make_range(args, output_type))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> "Dataset":
        """Make endless random integers from 0 to 2**32 - 1 (int64), the same in every iteration unless rerandomized."""
        return Dataset(sources.Random(make_order(seed, reshuffle=bool(rerandomize_each_iteration))))

    @staticmethod
    def counter(
        start: float = 0, step: float = 1, dtype: DTypeLike = np.int64, name: str | None = None
    ) -> "Dataset":
        """Count from `start` in steps of `step`, without an end."""
        return Dataset(sources.make_counter(start, step, dtype))

    @staticmethod
    def list_files(
        file_pattern: StrPath, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> "Dataset":
        """Make a Dataset of the names (bytes) of the files that fit a pattern, as they are found now.

        Args:
            file_pattern: A path or URL, or a list of them, with `*`, `?` and `[...]`.
            shuffle: Whether each iteration has another order; None means True. If False, the names are sorted.
            seed: Fixes the order.
            name: Ignored.

        Raises:
            FileMissingError: No file fits.
        """
        names = sources.matching_files(file_pattern)
        if shuffle is not None and not shuffle:
            return Dataset(names)
        # By default the names are shuffled over all of them, as in TensorFlow.
        return Dataset(ops.make_shuffle(names, names.length, seed, True))

    @staticmethod
    def zip(*args: object, datasets: object = None, name: str | None = None) -> "Dataset":
        """Put elements of several Datasets side by side, as long as the shortest.

        Args:
            *args: Datasets, or one structure (tuple, dict) of Datasets.
            datasets: The structure, in TensorFlow's older form.
            name: Ignored.
        """
        if bool(args) == (datasets is not None):
            raise BadTypeError(
                "zip takes Datasets as arguments, or `datasets`. "
                f"Received: args={shown(args)}, datasets={shown(datasets)}. Pass Dataset.zip(a, b)."
            )
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        members, structure = flatten(nest)
        for member in members:
            _check_dataset("zip", member)
        if not members:
            raise DataError(f"zip needs at least one Dataset. Received: datasets={shown(nest)}.")
        first, *others = members
        return first._derive(ops.Zip(tuple(member._node for member in members), structure), *others)

    # Which elements, and in which order

    def concatenate(self, dataset: "Dataset", name: str | None = None) -> "Dataset":
        """Append the elements of `dataset` to this one's; both need the same structure and dtypes."""
        _check_dataset("concatenate", dataset)
        node = ops.Concatenate(self._node, dataset._node)
        if self._has_known_spec and dataset._has_known_spec:
            # Asked for now, so that structures that do not fit are reported where they are put together.
            _ = node.spec
        return self._derive(node, dataset)

    def repeat(self, count: int | None = None, name: str | None = None) -> "Dataset":
        """Repeat the pass `count` times; without an end if `count` is None or -1, unless one is empty."""
        return self._derive(ops.make_repeat(self._node, count))

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> "Dataset":
        """Shuffle the elements.

        Args:
            buffer_size: Over a stream, how many elements the next one is drawn from; UNKNOWN_CARDINALITY for all of
                them, which are kept in memory. In memory the order is a permutation of all elements and only 1 (no
                shuffling) matters.
            seed: Fixes the order. If None, a seed is drawn from Python's `random` now. Processes that each take a
                shard of the shuffled elements have to give the same seed.
            reshuffle_each_iteration: Whether every iteration, and every pass of a later `repeat`, has a new order.
            name: Ignored.
        """
        return self._derive(ops.make_shuffle(self._node, buffer_size, seed, reshuffle_each_iteration))

    def take(self, count: int, name: str | None = None) -> "Dataset":
        """Take the first `count` elements; all if -1."""
        return self._derive(ops.make_take(self._node, count))

    def skip(self, count: int, name: str | None = None) -> "Dataset":
        """Leave out the first `count` elements; none if -1."""
        return self._derive(ops.make_skip(self._node, count))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> "Dataset":
        """Take every `num_shards`-th element from `index` on; the shards together are the whole, without duplicates."""
        return self._derive(ops.make_shard(self._node, num_shards, index))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> "Dataset":
        """Keep the elements for which `predicate` (of one element, unpacked like in `map`) gives True."""
        check_callable("predicate", predicate, self._node)
        return self._derive(ops.try_functions(ops.Filter(self._node, predicate)))

    # Elements made of others

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        num_processes: int | None = None,
    ) -> "Dataset":
        """Apply `map_func` to every element.

        The function gets the components of one element as NumPy arrays (a tuple's as several arguments, a dict as
        one) and may use NumPy, `jax.numpy` or `keras.ops`, which run on the CPU. It is called once for a whole block of
        elements if all that its code reaches is proved to be pure, and if that gives the same as calling it for the
        first elements one by one. A function that uses variables, random numbers, files or objects, or that changes
        something outside is called exactly once for each element, in the order in which elements are asked for.

        Args:
            map_func: The function.
            num_parallel_calls: Threads for a function that is called one by one, or AUTOTUNE. It then has to be
                thread-safe. The order stays.
            deterministic: Accepted; the order is always deterministic.
            synchronous: Ignored.
            use_unbounded_threadpool: Ignored.
            name: Ignored.
            num_processes: Worker processes that call the function instead of this one, or AUTOTUNE; for Python
                functions that hold the interpreter's lock. The order, and what is drawn at random, stay. The function
                and its variables are sent by cloudpickle, elements and results through pipes; a function that changes
                something changes it in a worker only. The processes start with each iterator, in about half a second,
                and end with it; they import no JAX unless the function does. TensorFlow has no such argument.

        Raises:
            WorkerError: While iterating: a worker process died.
            DataError: `map_func` does not take an element. While iterating: its results differ in structure, dtype
                or rank. What `map_func` raises itself is raised with a note that names the element.
        """
        if num_processes is None:
            return self._derive(ops.make_map(self._node, map_func, num_parallel_calls))
        # loky, which starts the processes, takes as long to import as all the rest of a Dataset.
        from stratax.data.workers import make_worker_map

        return self._derive(make_worker_map(self._node, map_func, num_parallel_calls, num_processes))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> "Dataset":
        """Join the elements of the Datasets that `map_func` makes of each element, one Dataset after another.

        Shuffles inside that were given no seed get one that belongs to the element.
        """
        check_callable("map_func", map_func, self._node)
        return self._derive(ops.try_functions(ops.FlatMap(self._node, map_func, node_of)))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Take the elements of the Datasets that `map_func` makes of each element, in turns.

        `cycle_length` Datasets are open at a time and give `block_length` elements each in turn; one that ends leaves
        its place to the next. The order is exactly TensorFlow's, whatever `num_parallel_calls` is.

        Args:
            map_func: Makes a Dataset of an element, of one file's name for instance.
            cycle_length: How many take turns. If None or AUTOTUNE, as in TensorFlow: the number of cores, at most
                `num_parallel_calls`, or a third of the cores if that is AUTOTUNE. The order depends on it, so a
                position can't be restored on a machine with another number of cores then.
            block_length: Elements in a turn; 1 if None.
            num_parallel_calls: How many of them are read at a time, a little ahead, on threads; or AUTOTUNE. None for
                no threads.
            deterministic: Accepted; the order is always deterministic.
            name: Ignored.

        Returns:
            A Dataset of unknown length that can only be iterated. Shuffles that `map_func` makes without a seed get
            one that belongs to the element, so their order is restored too.

        Example:
            >>> from stratax.data import Dataset
            >>> ds = Dataset.range(1, 4).interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2)
            >>> [int(x) for x in ds]
            [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        return self._derive(
            ops.make_interleave(
                self._node,
                map_func,
                cycle_length,
                block_length,
                num_parallel_calls,
                node_of,
            )
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> "Dataset":
        """Leave out the elements that raise an error when they are made.

        Of a record file that is a damaged record where the format allows to find the next one, else the rest of that
        file. An iterator counts them: `num_ignored_errors`. The death of a worker process is not ignored.

        Args:
            log_warning: Whether each error is logged (logger `stratax`).
            name: Ignored.

        Example:
            >>> from stratax.data import Dataset
            >>> iterator = iter(Dataset.range(4).map(lambda x: 6 // int(x - 2)).ignore_errors())
            >>> [int(x) for x in iterator], iterator.num_ignored_errors
            ([-3, -6, 6], 1)
        """
        return self._derive(ops.IgnoreErrors(self._node, log_warning=bool(log_warning)))

    def enumerate(self, start: int = 0, name: str | None = None) -> "Dataset":
        """Pair each element with an int64 count from `start`."""
        first = as_count("start", start, None)
        numbers = sources.Range(first, 1, INFINITE_CARDINALITY, np.dtype(np.int64))
        return self._derive(ops.Zip((numbers, self._node), flatten((0, 0))[1]))

    def apply(self, transformation_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Return `transformation_func(self)`, which has to be a Dataset."""
        check_callable("transformation_func", transformation_func)
        result = transformation_func(self)
        _check_dataset("apply (as the result of transformation_func)", result)
        return result

    # Groups

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Stack `batch_size` consecutive elements on a new leading axis.

        Args:
            batch_size: Elements of a batch, at least 1. For a strategy it is the global batch.
            drop_remainder: Whether the last batch is left out if it is short.
            num_parallel_calls: Checked, not needed.
            deterministic: Accepted; the order is always deterministic.
            name: Ignored.
        """
        # Only checked: batches are made by gathers, which need no threads of their own.
        threads_of(num_parallel_calls)
        return self._derive(ops.make_batch(self._node, batch_size, drop_remainder=drop_remainder))

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: object = None,
        padding_values: object = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """Pad `batch_size` consecutive elements at the ends of their axes to one shape, and stack them.

        Args:
            batch_size: Elements of a batch, at least 1.
            padded_shapes: For each component a shape, with None or -1 for the longest in the batch; default all None.
            padding_values: One value, or one for each component; default zeros (or empty, or False).
            drop_remainder: Whether the last batch is left out if it is short.
            name: Ignored.
        """
        node = ops.make_padded_batch(
            self._node, batch_size, padded_shapes, padding_values, drop_remainder=drop_remainder
        )
        return self._derive(node)

    def unbatch(self, name: str | None = None) -> "Dataset":
        """Split each element into its slices along the first axis."""
        return self._derive(ops.make_unbatch(self._node))

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> "Dataset":
        """Form batches of another size of the same elements in the same order.

        Args:
            batch_size: Elements of a batch; or several such numbers, which take turns.
            drop_remainder: Whether the last batch is left out if it is short.
            name: Ignored.

        Example:
            >>> from stratax.data import Dataset
            >>> [batch.tolist() for batch in Dataset.range(8).batch(4).rebatch([1, 3])]
            [[0], [1, 2, 3], [4], [5, 6, 7]]
        """
        return self._derive(ops.make_rebatch(self._node, batch_size, drop_remainder=bool(drop_remainder)))

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """Group `size` elements; each component of a group is a Dataset.

        Args:
            size: Elements of a window, at least 1.
            shift: Distance of the starts of two windows; `size` if None.
            stride: Distance of the elements of one window.
            drop_remainder: Whether windows at the end that are short are left out.
            name: Ignored.
        """
        width = as_count("size", size, 1)
        node = ops.Window(
            self._node,
            width,
            width if shift is None else as_count("shift", shift, 1),
            as_count("stride", stride, 1),
            drop_remainder=bool(drop_remainder),
            wrap=Dataset,
        )
        return self._derive(node)

    # How it runs

    def cache(self, filename: str | os.PathLike[str] = "", name: str | None = None) -> "Dataset":
        """Keep every element once it was made; the order below stays that of the first iteration.

        Args:
            filename: Nothing to keep elements in memory; else a folder, or URL of one, that the first whole pass
                writes and every later pass reads, in this process or another. A pass that is not whole leaves
                nothing that counts. Of several that are written at a time the first to end stays.
            name: Ignored.

        Raises:
            DataError: While iterating: the folder holds elements of another structure, dtype or number.
        """
        if filename in ("", b"", None):
            return self._derive(ops.make_cache(self._node))
        # Files of elements, as for `save` and `load`, are imported with their first use: most pipelines keep none.
        from stratax.data.snapshots import make_file_cache

        return self._derive(make_file_cache(self._node, filename))

    def snapshot(
        self,
        path: StrPath,
        compression: str | None = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Keep all elements in a folder, which the first whole pass writes: :meth:`cache` with a `filename`.

        Args:
            path: The folder, or URL of one.
            compression: Ignored: elements are kept as they are, so that any position is read at once.
            reader_func: Must be None: elements are read in the order in which they were written.
            shard_func: Must be None.
            name: Ignored.

        Raises:
            BadArgumentError: A function is given.
        """
        if reader_func is not None or shard_func is not None:
            raise BadArgumentError(
                "A snapshot is read in the order in which it was written, without reader_func and shard_func. "
                f"Received: reader_func={shown(reader_func)}, shard_func={shown(shard_func)}. Use save(path, "
                "shard_func=...) and Dataset.load(path, reader_func=...)."
            )
        return self.cache(path)

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: object = None,
    ) -> None:
        """Write all elements into a folder, for :meth:`load`.

        The folder counts as written only when all is there; what was saved there before stays until then. In a compiled
        function it is written whenever the function has run.

        Args:
            path: The folder, or URL of one that fsspec writes to.
            compression: None or "NONE", "GZIP" or "ZLIB"; without, on this machine, what is loaded is indexable.
            shard_func: The number of an element's file, an integer from 0; one file if None.
            checkpoint_args: Not supported: a save that was interrupted begins anew.

        Raises:
            DataError: A component is a Dataset, or of a structure or dtype that files can't hold.

        Example:
            >>> import tempfile
            >>> from stratax.data import Dataset
            >>> folder = tempfile.mkdtemp()
            >>> Dataset.range(3).map(lambda n: {"n": n}).save(folder)
            >>> list(Dataset.load(folder).as_numpy_iterator())
            [{'n': np.int64(0)}, {'n': np.int64(1)}, {'n': np.int64(2)}]
        """
        if TRACING.get() and tracing_region() is not None:
            from stratax.core import programs

            # As in TensorFlow, whenever the function runs.
            programs.after_run(
                self, lambda dataset: dataset.save(path, compression, shard_func, checkpoint_args)
            )
            return
        from stratax.data.snapshots import save

        save(iter(self), self.element_spec, path, compression, shard_func, checkpoint_args)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        element_spec: PyTree = None,
        compression: str | None = None,
        reader_func: Callable[["Dataset"], "Dataset"] | None = None,
        wait: bool = False,
    ) -> "Dataset":
        """Read the elements that :meth:`save` wrote, as they were: structure, dtypes, strings.

        Of several files as many take turns as the machine has processors, as in TensorFlow.

        Uncompressed files of this machine are read at any position, so a `shuffle` is one of all elements, and a
        pipeline over them is restored at once. A namedtuple comes back with its names, as a class of its own unless
        `element_spec` brings the old one.

        Args:
            path: The folder, or URL of one that fsspec reads.
            element_spec: Checked against what was saved; what was saved if None.
            compression: Checked likewise.
            reader_func: Makes a Dataset of a Dataset of Datasets, one for each file.
            wait: Whether to wait for what is still being saved.

        Raises:
            FileMissingError: Nothing was saved there, or not to its end, and `wait` is False.
            DataError: The elements are others than `element_spec` says.
            DataLossError: A file is damaged; where it is an element, while iterating.
        """
        from stratax.data.snapshots import load

        loaded: Dataset = load(path, element_spec, compression, reader_func, Dataset, wait=wait)
        return loaded

    def prefetch(self, buffer_size: int | None, name: str | None = None) -> "Dataset":
        """Make up to `buffer_size` elements ahead on a background thread.

        Args:
            buffer_size: How many; 0 for none, AUTOTUNE or None for a good depth.
            name: Ignored.
        """
        return self._derive(ops.make_prefetch(self._node, buffer_size))

    def with_options(self, options: Options, name: str | None = None) -> "Dataset":
        """Return the same Dataset with options; later ones take precedence."""
        if not isinstance(options, Options):
            raise BadTypeError(
                f"with_options takes stratax.data.Options. Received: options={shown(options)} of type "
                f"{type(options).__name__}."
            )
        return Dataset(self._node, self._options.merge(options))

    def options(self) -> Options:
        """Return a copy of the options in force, which refuses changes, as these would have no effect."""
        made: Options = fix(self._options.merge(Options()))
        return made

    # What it is

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the elements: TensorSpec, SparseTensorSpec, RaggedTensorSpec or DatasetSpec.

        A size is None where it differs between elements: the leading one of batches where the last may be short.
        Behind a function that was not called before, it is called on the first element (and on the last, in memory);
        a size that turns out to differ between its results becomes None when that is seen. Datasets that a function
        makes for `flat_map` or `interleave` are taken to differ in their numbers of elements.
        """
        return self._node.spec

    @property
    def batch_size(self) -> int | None:
        """The size of full batches if the elements are batches of a known size, else None."""
        return self._node.batch_size

    @property
    def is_indexable(self) -> bool:
        """Whether any position is reached at once: the pipeline is index arithmetic over data in memory."""
        return self._node.is_indexable

    def cardinality(self, name: str | None = None) -> Count:
        """Return the number of elements, INFINITE_CARDINALITY (-1) or UNKNOWN_CARDINALITY (-2).

        It is a number of Python with the methods of a tensor, `numpy()` among them.
        """
        return Count(self._node.length)

    def fingerprint(self) -> Any:
        """Return a number of 64 bits that is equal for Datasets of equal operations, functions and arguments.

        What is in files that they read does not count.

        Example:
            >>> from stratax.data import Dataset
            >>> first, second = Dataset.range(3).map(lambda x: x + 1), Dataset.range(3).map(lambda x: x + 1)
            >>> bool(first.fingerprint() == second.fingerprint())
            True
            >>> bool(first.fingerprint() == first.take(2).fingerprint())
            False
        """
        return as_element(np.uint64(fingerprint(self._node)))

    def at(self, index: int) -> Any:
        """Return the element at a position of an indexable Dataset: see `tf.data.experimental.at`.

        Raises:
            UnimplementedError: The Dataset can only be iterated.
            OutOfRangeError: It has no such element.
        """
        position, length = as_count("index", index, None), self._node.length
        if not self._node.is_indexable:
            raise UnimplementedError(
                "Random access is not implemented for this Dataset: its elements come one after another only. "
                f"Expected: a Dataset over arrays or a range. Received: {shown(self)}. "
                "Use next(iter(dataset.skip(index)))."
            )
        if position < 0 or 0 <= length <= position:
            raise OutOfRangeError(
                f"The Dataset has no such element. Expected: 0 <= index < {length}. Received: index={position}."
            )
        return next(self.skip(position)._iterator())

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element.

        Raises:
            BadArgumentError: There is none, or more than one.

        Example:
            >>> from stratax.data import Dataset
            >>> Dataset.range(3).batch(3).get_single_element().tolist()
            [0, 1, 2]
        """
        advice = (
            f"Expected: exactly one element. Received: {shown(self)}. Batch all elements, or use take(1)."
        )
        none, several = f"Dataset was empty. {advice}", f"Dataset had more than one element. {advice}"
        if TRACING.get() and tracing_region() is not None:
            from stratax.core import programs

            return programs.single(self, none, several)
        with self.take(2)._iterator() as elements:
            found = list(elements)
        if len(found) != 1:
            raise BadArgumentError(several if found else none)
        return found[0]

    def __len__(self) -> int:
        length = self._node.length
        if length < 0:
            raise BadTypeError(
                f"This Dataset has {'no end' if length == -1 else 'an unknown length'}, so it has no len(). "
                f"Received: cardinality={length}. Use cardinality(), or take(n) first."
            )
        return length

    def __bool__(self) -> bool:
        return True

    @property
    def _has_known_spec(self) -> bool:
        return self._node.has_known_spec

    def __repr__(self) -> str:
        spec = repr(self.element_spec) if self._has_known_spec else "known when its functions are called"
        return f"<{self._node.label}Dataset element_spec={spec}>"

    # Use

    @property
    def stream_signature(self) -> Hashable:
        """What two Datasets have in common when one compiled function serves both as its argument."""
        return (Dataset, repr(self.element_spec) if self._has_known_spec else None)

    def __iter__(self) -> DatasetIterator:
        if TRACING.get() and (region := tracing_region()) is not None:
            found: DatasetIterator = region.iterate(self)
            return found
        return self._iterator()

    def _iterator(self, *, as_numpy: bool = False) -> DatasetIterator:
        # Steps whose spec was not known when they were made are checked now.
        _check_specs(self._node)
        max_threads = self._options.threading.private_threadpool_size
        return DatasetIterator(self._node, self._epochs, max_threads, as_numpy=as_numpy)

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator, as TensorFlow 1: see :func:`stratax.data.make_one_shot_iterator`."""
        make = ONE_SHOT.get()
        return iter(self) if make is None else make(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator of a graph, which a session initializes, as TensorFlow 1.

        Args:
            shared_name: Ignored.

        Raises:
            BadArgumentError: If no graph is built.
        """
        from stratax.data import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Iterate like `iter`: elements are NumPy arrays, scalars and `bytes`; sparse ones come as dense arrays.

        Raises:
            BadTypeError: A component is a Dataset.
        """
        if self._node.has_known_spec:
            for spec in self._node.composites.values():
                if isinstance(spec, DatasetSpec):
                    refuse_numpy(spec)
        return iter(self) if TRACING.get() else self._iterator(as_numpy=True)

    def reduce(
        self, initial_state: object, reduce_func: Callable[[Any, Any], Any], name: str | None = None
    ) -> Any:
        """Fold the elements into one: `state = reduce_func(state, element)` for each.

        Args:
            initial_state: Array or structure of arrays. An array on a device has no 64-bit dtype, so `reduce_func` may
                give the one of 64 bits instead: `tf.constant(0, tf.int64)` is the beginning of a sum of int64.
            reduce_func: Gives the new state, of the structure, dtypes and ranks of the old one.
            name: Ignored.

        Returns:
            The last state, of NumPy arrays, with a tensor's methods in programs that import `stratax.tf`; in a compiled
            function an array that it computes.

        Raises:
            BadTypeError: If the function gives a state of another structure, dtype or rank.
        """
        check_callable("reduce_func", reduce_func)
        if TRACING.get() and tracing_region() is not None:
            from stratax.core import autograph, control

            return control.reduce(self, initial_state, autograph.convert(reduce_func))
        state = ops.Folded(initial_state)
        with iter(self) as elements:
            for element in elements:
                with vectorise.on_host(), vectorise.user_code(vectorise.name_of(reduce_func)):
                    new = reduce_func(state.argument(), ops.argument_of(element))
                # Checks that structure and dtypes stay, as a compiled loop would demand.
                state.follow(new)
        return vectorise.make_tensors(state.value())


def _check_dataset(where: str, value: object) -> None:
    if not isinstance(value, Dataset):
        raise BadTypeError(
            f"{where} needs a Dataset. Received: {shown(value)} of type {type(value).__name__}. "
            "Make one with Dataset.from_tensor_slices or Dataset.from_tensors."
        )


def open_cursor(dataset: Dataset) -> Iteration:
    """Begin an iteration over a Dataset, for what reads the cursor of its plan."""
    _check_specs(dataset._node)
    return Iteration(dataset._node, dataset._epochs, dataset._options.threading.private_threadpool_size)


def _check_specs(node: Node) -> None:
    """Compare the Datasets that are joined, before anything is read of the first one."""
    for step in walk(node):
        if isinstance(step, ops.Concatenate):
            _ = step.spec
