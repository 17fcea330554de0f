"""Operations that make, shape, take apart and join arrays (saved_models layer)."""

from typing import Any

import numpy as np

from stratax.base.bounds import check_bytes
from stratax.base.tracing import is_traced
from stratax.data.elements import TensorShape
from stratax.tensorflow.ops.arrays import arrays, blocks, indexing, ordering, ranges, shapes
from stratax.tensorflow.ops.calls import creation
from stratax.tensorflow.ops.random import random, stateless
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import (
    OperationContext,
    Value,
    as_number,
    as_numbers,
    define,
    plain,
)

_FLOAT = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)

define("Const", lambda run, node: node["value"])
plain(
    "Identity Snapshot PreventGradient CheckNumerics CheckNumericsV2 PlaceholderWithDefault DeepCopy RefIdentity",
    lambda x, *_: x,
)
plain("StopGradient", arrays.stop_gradient)
define("IdentityN", lambda run, node, *values: values)
define("Shape", lambda run, node, x: arrays.shape(x, node.get("out_type", _INT32)))
define(
    "ShapeN",
    lambda run, node, *values: tuple(arrays.shape(x, node.get("out_type", _INT32)) for x in values),
)
define("Size", lambda run, node, x: arrays.size(x, node.get("out_type", _INT32)))
define("Rank", lambda run, node, x: np.int32(np.ndim(x)))
plain("Reshape", lambda x, shape: arrays.reshape(x, shape), static=(1,))
plain("ExpandDims", lambda x, axis: arrays.expand_dims(x, as_number(axis)), static=(1,))
define("Squeeze", lambda run, node, x: arrays.squeeze(x, node.get("squeeze_dims") or None))
plain("Transpose", lambda x, perm: arrays.transpose(x, as_numbers(perm)), static=(1,))
plain("ConjugateTranspose", lambda x, perm: arrays.transpose(x, as_numbers(perm), True), static=(1,))
plain("BroadcastTo", lambda x, shape: arrays.broadcast_to(x, shape), static=(1,))
plain("Tile", lambda x, multiples: arrays.tile(x, multiples), static=(1,))
plain("Fill", lambda dims, value: creation.fill(dims, value), static=(0,))
plain("ZerosLike", creation.zeros_like)
plain("OnesLike", creation.ones_like)
plain("BroadcastArgs", shapes.broadcast_dynamic_shape, static=(0, 1))
define("Pack", lambda run, node, *values: arrays.stack(list(values), node.get("axis", 0)))
define(
    "Unpack",
    lambda run, node, x: tuple(arrays.unstack(x, node.get("num"), node.get("axis", 0))),
)
plain("ConcatV2", lambda *values: _concat(values[:-1], values[-1]))
plain("Concat", lambda axis, *values: _concat(values, axis), static=(0,))
define(
    "Split",
    lambda run, node, axis, x: tuple(arrays.split(x, node["num_split"], as_number(axis))),
    static=(0,),
)
plain(
    "SplitV", lambda x, sizes, axis: tuple(arrays.split(x, as_numbers(sizes), as_number(axis))), static=(1, 2)
)
plain("Slice", indexing.slice, static=(2,))
define("StridedSlice", lambda run, node, *operands: _take_slice(node, *operands), static=(3,))
plain("Pad", lambda x, paddings: arrays.pad(x, paddings), static=(1,))
plain("PadV2", lambda x, paddings, value: arrays.pad(x, paddings, constant_values=value), static=(1,))
define("MirrorPad", lambda run, node, x, paddings: arrays.pad(x, paddings, node.text("mode")), static=(1,))
plain("ReverseV2", lambda x, axis: arrays.reverse(x, as_numbers(axis)) if np.size(axis) else x, static=(1,))
plain("Roll", lambda x, shift, axis: indexing.roll(x, shift, as_numbers(axis)), static=(1, 2))
define("Gather ResourceGatherOfValue", lambda run, node, x, indices: arrays.gather(x, indices, axis=0))
define(
    "GatherV2",
    lambda run, node, x, indices, axis: arrays.gather(
        x, indices, axis=as_number(axis), batch_dims=node.get("batch_dims", 0)
    ),
    static=(2,),
)
plain("GatherNd", lambda x, indices: indexing.gather_nd(x, indices))
plain("ScatterNd", lambda indices, updates, shape: indexing.scatter_nd(indices, updates, shape), static=(2,))
plain("TensorScatterUpdate", indexing.tensor_scatter_nd_update)
plain("TensorScatterAdd", indexing.tensor_scatter_nd_add)
plain("TensorScatterSub", indexing.tensor_scatter_nd_sub)
plain("TensorScatterMax", indexing.tensor_scatter_nd_max)
plain("TensorScatterMin", indexing.tensor_scatter_nd_min)
plain("InvertPermutation", ordering.invert_permutation)
define(
    "LowerBound",
    lambda run, node, table, values: ordering.searchsorted(
        table, values, "left", node.get("out_type", _INT32)
    ),
)
define(
    "UpperBound",
    lambda run, node, table, values: ordering.searchsorted(
        table, values, "right", node.get("out_type", _INT32)
    ),
)
define(
    "TopKV2",
    lambda run, node, x, k: tuple(ordering.top_k(x, as_number(k), node.get("sorted", True))),
    outputs="values indices",
    static=(1,),
)
define(
    "TopK",
    lambda run, node, x: tuple(ordering.top_k(x, node["k"], node.get("sorted", True))),
    outputs="values indices",
)
define(
    "OneHot",
    lambda run, node, indices, depth, on, off: arrays.one_hot(
        indices, as_number(depth), on, off, node.get("axis", -1), node["T"]
    ),
    static=(1,),
)
define("Range", lambda run, node, *bounds: _range(node, *bounds), static=(0, 1, 2))
plain("LinSpace", lambda start, stop, num: ranges.linspace(start, stop, as_number(num)), static=(2,))
define(
    "ReverseSequence",
    lambda run, node, x, lengths: indexing.reverse_sequence(
        x, lengths, node["seq_dim"], node.get("batch_dim", 0)
    ),
)
plain(
    "SpaceToBatchND",
    lambda x, block, paddings: blocks.space_to_batch(x, as_numbers(block), np.asarray(paddings)),
    static=(1, 2),
)
plain(
    "BatchToSpaceND",
    lambda x, block, crops: blocks.batch_to_space(x, as_numbers(block), np.asarray(crops)),
    static=(1, 2),
)
define(
    "SpaceToDepth",
    lambda run, node, x: blocks.space_to_depth(x, node["block_size"], node.text("data_format", "NHWC")),
)
define(
    "DepthToSpace",
    lambda run, node, x: blocks.depth_to_space(x, node["block_size"], node.text("data_format", "NHWC")),
)
plain("SelectV2", lambda condition, x, y: arrays.where(condition, x, y))
plain("DynamicStitch ParallelDynamicStitch", lambda *parts: _stitch(parts))
define(
    "DynamicPartition",
    lambda run, node, x, places: tuple(indexing.dynamic_partition(x, places, node["num_partitions"])),
    host=True,
)
plain("Where", lambda condition: arrays.where(condition), host=True)
define(
    "Unique",
    lambda run, node, x: tuple(ordering.unique(x, node.get("out_idx", _INT32))),
    outputs="y idx",
    host=True,
)
define(
    "UniqueV2",
    lambda run, node, x, axis: tuple(ordering.unique(x, node.get("out_idx", _INT32))),
    outputs="y idx",
    host=True,
)
define(
    "UniqueWithCounts",
    lambda run, node, x: tuple(ordering.unique_with_counts(x, node.get("out_idx", _INT32))),
    outputs="y idx count",
    host=True,
)
define(
    "ListDiff",
    lambda run, node, x, y: tuple(ordering.setdiff1d(x, y, node.get("out_idx", _INT32))),
    outputs="out idx",
    host=True,
)


def _take_slice(node: FileNode, x: Value, begin: Value, end: Value, strides: Value) -> Any:
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = [node.get(f"{each}_mask", 0) for each in names]
    if is_traced(end):
        # Of a dimension that is dropped, or goes on to its end, nobody has to know it.
        ignored = masks[1] | masks[2] | masks[3] | masks[4]
        end = [0 if ignored >> place & 1 else end[place] for place in range(end.shape[0])]
    return indexing.strided_slice(x, begin, end, strides, *masks)


def _range(node: FileNode, start: Value, limit: Value, delta: Value) -> Any:
    dtype = node.get("Tidx", _INT32)
    if any(map(is_traced, (start, limit, delta))):
        return ranges.range_array(start, limit, delta, dtype)
    bounds = [np.asarray(each).item() for each in (start, limit, delta)]
    if bounds[2]:
        check_bytes("Making a range", (max(0, int((bounds[1] - bounds[0]) / bounds[2])),), dtype.itemsize)
    return np.arange(*bounds, dtype=dtype)


def _concat(values: Value, axis: Value) -> Any:
    return values[0] if len(values) == 1 else arrays.concat(list(values), as_number(axis))


def _stitch(parts: tuple[Any, ...]) -> Any:
    half = len(parts) // 2
    return indexing.dynamic_stitch(list(parts[:half]), list(parts[half:]))


def _select(condition: Value, x: Value, y: Value) -> Any:
    """Choose as TensorFlow 1: a vector of truths is of the rows."""
    if np.ndim(condition) == 1 and np.ndim(x) > 1:
        condition = arrays.reshape(condition, [-1] + [1] * (np.ndim(x) - 1))
    return arrays.where(condition, x, y)


plain("Select", _select)


def _ensure_shape(run: OperationContext, node: FileNode, x: Value) -> Any:
    shape = node.get("shape")
    return x if shape is None else shapes.ensure_shape(x, TensorShape(shape))


define("EnsureShape", _ensure_shape)


def _broadcast_gradient_args(first: Value, second: Value) -> tuple[Any, Any]:
    """Return the axes that the gradient of a broadcast operand is summed over, of both operands."""
    x, y = as_numbers(first), as_numbers(second)
    rank = max(len(x), len(y))
    x, y = [1] * (rank - len(x)) + x, [1] * (rank - len(y)) + y
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (a, b) in enumerate(zip(x, y, strict=True)):
        if a == b == 1:
            axes[0].append(axis)
            axes[1].append(axis)
        elif a == 1:
            axes[0].append(axis)
        elif b == 1:
            axes[1].append(axis)
    return np.array(axes[0], np.int32), np.array(axes[1], np.int32)


plain("BroadcastGradientArgs", _broadcast_gradient_args, outputs="r0 r1", static=(0, 1))


def _empty(run: OperationContext, node: FileNode, shape: Value) -> Any:
    return creation.zeros(as_numbers(shape), node["dtype"])


define("Empty", _empty, static=(0,))
# Random numbers: those of a file's seed are TensorFlow's own kernels', of which only the distribution is the same.
define(
    "RandomUniform",
    lambda run, node, shape: random.uniform(as_numbers(shape), dtype=node["dtype"]),
    static=(0,),
    stateful=True,
)
define(
    "RandomUniformInt",
    lambda run, node, shape, low, high: random.uniform(as_numbers(shape), low, high, dtype=node["Tout"]),
    static=(0,),
    stateful=True,
)
define(
    "RandomStandardNormal",
    lambda run, node, shape: random.normal(as_numbers(shape), dtype=node["dtype"]),
    static=(0,),
    stateful=True,
)
define(
    "TruncatedNormal",
    lambda run, node, shape: random.truncated_normal(as_numbers(shape), dtype=node["dtype"]),
    static=(0,),
    stateful=True,
)
plain("RandomShuffle", random.shuffle, stateful=True)


def _multinomial(run: OperationContext, node: FileNode, logits: Value, count: Value) -> Any:
    return random.categorical(logits, as_number(count), dtype=node.get("output_dtype", np.dtype(np.int64)))


define("Multinomial", _multinomial, static=(1,), stateful=True)
define(
    "StatelessRandomUniform",
    lambda run, node, shape, seed: stateless.stateless_uniform(
        as_numbers(shape), seed, dtype=node.get("dtype", _FLOAT)
    ),
    static=(0,),
)
define(
    "StatelessRandomNormal",
    lambda run, node, shape, seed: stateless.stateless_normal(
        as_numbers(shape), seed, dtype=node.get("dtype", _FLOAT)
    ),
    static=(0,),
)


def _key_counter(seed: Value) -> tuple[Any, Any]:
    """Keep the seed: the functions of numbers that take the key take it in the key's place."""
    return seed, np.zeros(2, np.int64)


plain("StatelessRandomGetKeyCounter", _key_counter, outputs="key counter")
plain("StatelessRandomGetAlg", lambda: np.int32(1))
define(
    "StatelessRandomUniformV2",
    lambda run, node, shape, key, counter, alg: stateless.stateless_uniform(
        as_numbers(shape), key, dtype=node.get("dtype", _FLOAT)
    ),
    static=(0,),
)
define(
    "StatelessRandomNormalV2",
    lambda run, node, shape, key, counter, alg: stateless.stateless_normal(
        as_numbers(shape), key, dtype=node.get("dtype", _FLOAT)
    ),
    static=(0,),
)
define(
    "StatelessTruncatedNormalV2",
    lambda run, node, shape, key, counter, alg: stateless.stateless_truncated_normal(
        as_numbers(shape), key, dtype=node.get("dtype", _FLOAT)
    ),
    static=(0,),
)
define(
    "StatelessRandomUniformIntV2",
    lambda run, node, shape, key, counter, alg, low, high: stateless.stateless_uniform(
        as_numbers(shape), key, low, high, dtype=node["dtype"]
    ),
    static=(0,),
)
