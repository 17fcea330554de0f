"""From a Dataset method's arguments to a node: checks, and the rewriting of plans (data layer).

The rewriting keeps a plan indexable and its work small:

* `cache` after `batch` caches elements instead of batches, and caches nothing where all is in memory anyway;
* `shuffle` after an endless `repeat` shuffles each pass;
* `unbatch` after `batch` undoes it.
"""

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax._tracing import TRACING
from stratax.data.elements._spec import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    DatasetSpec,
    Shape,
    TensorSpec,
    as_dtype,
    as_shape,
)
from stratax.data.elements._structure import as_array, flatten, leaf_names, unflatten
from stratax.data.files._access import as_file_name
from stratax.data.ops._cache import Cache
from stratax.data.ops._index_ops import Repeat, Shard, Shuffle, Skip, Take
from stratax.data.ops._prefetch import Prefetch
from stratax.data.ops.batch._node import Batch, PaddedBatch, Unbatch
from stratax.data.ops.interleave._node import Interleave
from stratax.data.ops.map._node import Map
from stratax.data.plan._cores import num_cores
from stratax.data.plan._node import Node, Order, walk
from stratax.data.sources._memory import Generator, Random, Range
from stratax.errors import BadArgumentError, BadTypeError, DataError, TracingError

_MAX_THREADS = 16
_THREADS_PER_TURN = 3


def as_count(name: str, value: Any, minimum: int | None) -> int:
    """An integer argument, at least `minimum`."""
    try:
        number = operator.index(value.item() if isinstance(value, np.ndarray) and not value.ndim else value)
    except (TypeError, AttributeError) as e:
        if TRACING.depth:
            raise TracingError(
                f"{name} of a dataset in a compiled function has to be known while it is traced. Expected: a Python "
                f"integer. Received: {name}={shown(value)}. Pass the dataset, or the number as an int, to the function."
            ) from e
        raise BadTypeError(
            f"{name} has to be an integer. Received: {name}={shown(value)} of type {type(value).__name__}. "
            f"Convert it with int()."
        ) from e
    if isinstance(value, bool) or (minimum is not None and number < minimum):
        limit = "" if minimum is None else f" of at least {minimum}"
        raise BadArgumentError(
            f"{name} has to be an integer{limit}. Received: {name}={shown(value)}. Pass a number{limit}."
        )
    return number


def has_known_spec(node: Node) -> bool:
    """Whether the form of a plan's elements is known without calling its functions."""
    return not any(
        isinstance(step, Interleave) or (isinstance(step, Map) and not step.is_vectorised)
        for step in walk(node)
    )


def check_callable(name: str, function: Any, node: Node | None = None) -> None:
    """Raises unless `function` can be called, with an element of `node` where its structure is known."""
    if not callable(function):
        raise BadTypeError(
            f"{name} has to be callable. Received: {name}={shown(function)} of type {type(function).__name__}. "
            "Pass a function of one element."
        )
    if node is None or not has_known_spec(node):
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    spec = node.spec
    arguments = spec if type(spec) is tuple else (spec,)
    try:
        signature.bind(*arguments)
    except TypeError as e:
        raise DataError(
            f"{name} can't be called with an element: {e}. Expected: a function of {len(arguments)} argument(s), the "
            f"components of element_spec={shown(spec)}. Received: {name}={shown(function)} with signature {signature}. "
            "A tuple is unpacked into arguments, a dict is one argument."
        ) from e


def threads_of(num_parallel_calls: Any) -> int:
    """The number of threads that `num_parallel_calls` asks for; 1 for none."""
    if num_parallel_calls is None:
        return 1
    number = as_count("num_parallel_calls", num_parallel_calls, AUTOTUNE)
    if number == 0:
        raise BadArgumentError(
            "num_parallel_calls has to be positive or AUTOTUNE. Received: num_parallel_calls=0. Leave it out to call "
            "the function in one thread."
        )
    return min(num_cores(), _MAX_THREADS) if number == AUTOTUNE else number


def make_range(args: tuple[Any, ...], output_type: Any) -> Range:
    """`range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
    if not 1 <= len(args) <= 3:
        raise BadTypeError(
            "range takes (stop), (start, stop) or (start, stop, step). "
            f"Received: {len(args)} arguments, args={shown(args)}."
        )
    numbers = [as_count(f"args[{i}]", value, None) for i, value in enumerate(args)]
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1
    if step == 0:
        raise BadArgumentError(
            "The step of a range is not zero. Received: step=0. Pass a step such as 1 or -1."
        )
    if any(not -(1 << 63) <= number < 1 << 63 for number in numbers):
        raise BadArgumentError(
            f"The numbers of a range are int64. Received: args={shown(args)}. Pass numbers from -2**63 to 2**63 - 1."
        )
    return Range(start, step, len(range(start, stop, step)), as_dtype(output_type))


def make_interleave(
    node: Node, function: Any, cycle_length: Any, block_length: Any, num_parallel_calls: Any, open_node: Any
) -> Interleave:
    """`interleave`, with TensorFlow's rule for a cycle length that is not given."""
    check_callable("map_func", function, node)
    block = 1 if block_length is None else as_count("block_length", block_length, 1)
    threads = 0 if num_parallel_calls is None else threads_of(num_parallel_calls)
    cycle = AUTOTUNE if cycle_length is None else as_count("cycle_length", cycle_length, AUTOTUNE)
    if cycle == 0:
        raise BadArgumentError(
            "cycle_length has to be positive or AUTOTUNE. Received: cycle_length=0. Pass the number of Datasets "
            "that take turns."
        )
    if cycle == AUTOTUNE:
        is_chosen = num_parallel_calls in (None, AUTOTUNE)
        cores = num_cores() if num_parallel_calls is None else -(-num_cores() // _THREADS_PER_TURN)
        cycle = cores if is_chosen else min(threads, num_cores())
    return Interleave(node, function, open_node, cycle, block, threads)


def make_generator(
    generator: Any, output_types: Any, output_shapes: Any, args: Any, output_signature: Any
) -> Generator:
    """A generator source from either form of its signature."""
    check_callable("generator", generator)
    if (output_types is None) == (output_signature is None):
        raise BadTypeError(
            "from_generator needs output_signature, or in the old form output_types, and not both. "
            f"Received: output_types={shown(output_types)}, output_signature={shown(output_signature)}. "
            "Pass output_signature=TensorSpec(shape, dtype) or a structure of them."
        )
    signature = output_signature if output_types is None else _old_signature(output_types, output_shapes)
    for spec in flatten(signature)[0]:
        if not isinstance(spec, TensorSpec):
            raise BadTypeError(
                "output_signature is a TensorSpec or a structure (tuple, dict) of them. "
                f"Received: {shown(spec)} in output_signature={shown(output_signature)}."
            )
    return Generator(generator, tuple(np.asarray(arg)[()] for arg in args or ()), signature)


def _old_signature(types: Any, shapes: Any) -> Any:
    dtypes, structure = flatten(types, is_leaf=lambda part: False)
    if shapes is None:
        return unflatten(structure, [TensorSpec(None, dtype) for dtype in dtypes])
    listed, other = flatten(shapes, is_leaf=_is_shape_of(types))
    if structure != other:
        raise BadArgumentError(
            "output_shapes needs the structure of output_types. "
            f"Received: output_types={shown(types)}, output_shapes={shown(shapes)}. Pass output_signature instead."
        )
    specs = [TensorSpec(shape, dtype) for shape, dtype in zip(listed, dtypes, strict=True)]
    return unflatten(structure, specs)


def _is_shape_of(types: Any) -> Callable[[Any], bool]:
    def is_shape(value: Any) -> bool:
        is_sizes = isinstance(value, list | tuple) and all(
            size is None or isinstance(size, int) for size in value
        )
        return value is None or (is_sizes and not (value == () and types == ()))

    return is_shape


def make_take(node: Node, count: Any) -> Node:
    """`take`."""
    return Take(node, as_count("count", count, -1))


def make_skip(node: Node, count: Any) -> Node:
    """`skip`."""
    return Skip(node, as_count("count", count, -1))


def make_repeat(node: Node, count: Any) -> Node:
    """`repeat`."""
    return Repeat(node, -1 if count is None else as_count("count", count, -1))


def make_shard(node: Node, num_shards: Any, index: Any) -> Node:
    """`shard`."""
    number, place = as_count("num_shards", num_shards, 1), as_count("index", index, 0)
    if place >= number:
        raise BadArgumentError(
            f"index counts the shards from 0. Expected: 0 <= index < num_shards={number}. Received: "
            f"index={shown(index)}."
        )
    return Shard(node, number, place)


def make_order(seed: Any, reshuffle: bool) -> Order:
    """The key of a random order."""
    return Order(None if seed is None else as_count("seed", seed, None), reshuffle)


# More elements than fit into any memory.
_EVERYTHING = 1 << 62


def make_shuffle(node: Node, buffer_size: Any, seed: Any, reshuffle: bool | None) -> Node:
    """`shuffle`; after an endless `repeat`, of each pass."""
    order = make_order(seed, reshuffle is not False)
    takes_all = as_count("buffer_size", buffer_size, None) == UNKNOWN_CARDINALITY
    size = _EVERYTHING if takes_all else as_count("buffer_size", buffer_size, 1)
    if size == 1:
        return node
    if isinstance(node, Repeat) and node.is_indexable and node.length == INFINITE_CARDINALITY:
        return Repeat(Shuffle(node.child, size, order), node.count)
    if takes_all and node.length == INFINITE_CARDINALITY:
        raise BadArgumentError(
            "shuffle(UNKNOWN_CARDINALITY) keeps all elements in memory before it gives any, and these have no end. "
            f"Received: buffer_size={shown(buffer_size)}. Shuffle before repeat(), or pass a number of elements."
        )
    return Shuffle(node, size, order)


def make_batch(node: Node, batch_size: Any, drop_remainder: bool) -> Node:
    """`batch`."""
    return Batch(node, as_count("batch_size", batch_size, 1), bool(drop_remainder))


def make_unbatch(node: Node) -> Node:
    """`unbatch`; directly after `batch` it undoes it."""
    inner = node.child if isinstance(node, Prefetch) else node
    if not isinstance(inner, Batch):
        return Unbatch(node)
    length = inner.child.length
    if not inner.drop_remainder or length == INFINITE_CARDINALITY:
        return inner.child
    return Take(inner.child, inner.length * inner.size) if length >= 0 else Unbatch(node)


def make_cache(node: Node, filename: Any) -> Node:
    """`cache`, below the batches of an indexable plan."""
    if isinstance(node, Batch) and node.is_indexable:
        return Batch(make_cache(node.child, filename), node.size, node.drop_remainder)
    if isinstance(node, Prefetch) and node.is_indexable:
        return Prefetch(make_cache(node.child, filename), node.depth)
    if filename not in ("", b"", None):
        from stratax.data.snapshots._file_cache import FileCache

        return FileCache(node, as_file_name(filename))
    costs_something = any(isinstance(step, Map | Shuffle | Random | Cache) for step in walk(node))
    if node.is_indexable and not costs_something and not isinstance(node, PaddedBatch):
        return node
    return Cache(node)


def make_prefetch(node: Node, buffer_size: Any) -> Node:
    """`prefetch`."""
    depth = AUTOTUNE if buffer_size is None else as_count("buffer_size", buffer_size, AUTOTUNE)
    return Prefetch(node, depth)


def make_map(node: Node, function: Any, num_parallel_calls: Any, num_processes: Any = None) -> Node:
    """`map`."""
    check_callable("map_func", function, node)
    if num_processes is not None:
        return _map_in_processes(node, function, num_parallel_calls, num_processes)
    return Map(node, function, threads_of(num_parallel_calls))


def _map_in_processes(node: Node, function: Any, num_parallel_calls: Any, num_processes: Any) -> Node:
    from stratax.data.workers._map import WorkerMap

    number = as_count("num_processes", num_processes, AUTOTUNE)
    if number == 0 or num_parallel_calls is not None:
        raise BadArgumentError(
            "num_processes is positive or AUTOTUNE, and takes the place of num_parallel_calls. "
            f"Received: num_processes={shown(num_processes)}, num_parallel_calls={shown(num_parallel_calls)}. "
            "Leave one out."
        )
    return WorkerMap(node, function, num_cores() if number == AUTOTUNE else number)


def make_padded_batch(node: Node, batch_size: Any, shapes: Any, values: Any, drop_remainder: bool) -> Node:
    """`padded_batch`."""
    size = as_count("batch_size", batch_size, 1)
    specs, structure = flatten(node.spec)
    names = leaf_names(structure)
    for spec, name in zip(specs, names, strict=True):
        if isinstance(spec, DatasetSpec):
            raise DataError(
                f"Datasets can't be padded. Received: {name}={shown(spec)}. Flatten the windows first."
            )
    listed: list[Shape | None] = [None] * len(specs)
    if shapes is not None:
        parts = _matching(shapes, structure, names, "padded_shapes", is_leaf=_is_shape_of(None))
        listed = [as_shape(part) for part in parts]
    for shape, spec, name in zip(listed, specs, names, strict=True):
        if shape is not None and spec.shape is not None and len(shape) != len(spec.shape):
            raise DataError(
                f"padded_shapes needs the rank of each component. Expected: a shape of rank {len(spec.shape)} for "
                f"{name}={shown(spec)}. Received: {shape}."
            )
    given = [None] * len(specs)
    if values is not None:
        is_one = not isinstance(values, tuple | dict)
        given = [values] * len(specs) if is_one else _matching(values, structure, names, "padding_values")
    padding = [_padding(value, spec, name) for value, spec, name in zip(given, specs, names, strict=True)]
    return PaddedBatch(node, size, bool(drop_remainder), listed, padding)


def _matching(
    value: Any,
    structure: Any,
    names: list[str],
    argument: str,
    is_leaf: Callable[[Any], bool] = lambda part: part is None or isinstance(part, list),
) -> list[Any]:
    parts, other = flatten(value, is_leaf)
    if other != structure:
        raise DataError(
            f"{argument} needs the structure of the elements, with components {names}. "
            f"Received: {argument}={shown(value)}."
        )
    return parts


def _padding(value: Any, spec: TensorSpec, name: str) -> Any:
    if value is None:
        return b"" if spec.dtype.hasobject else np.zeros((), spec.dtype)[()]
    array = np.asarray(as_array(value))
    if not array.ndim and _fits(array, spec.dtype):
        return array.astype(spec.dtype)[()]
    raise DataError(
        f"padding_values has to be one value of the component's dtype. Expected: {spec.dtype} for {name}. "
        f"Received: padding_values={shown(value)}. Pass a number that the dtype holds, or bytes for strings."
    )


def _fits(value: np.ndarray, dtype: np.dtype) -> bool:
    """Whether a dtype holds a value: a number may be written as another kind of number."""
    is_string = value.dtype.kind in "OS"
    if is_string or dtype.hasobject:
        return is_string and dtype.hasobject
    if dtype.kind in "iu" and value.dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max)
    return np.can_cast(value.dtype, dtype, "same_kind") or (value.dtype.kind in "iu" and dtype.kind in "fc")
