"""`tf.tpu.rewrite` and its like: a function's computation on the cores (estimator layer)."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import CORE_OF_REPLICA, Topology, initialize_tpu_system, shutdown_tpu_system
from stratax.core import function
from stratax.distribute import MirroredStrategy, Strategy, detect_strategy, get_strategy, has_strategy
from stratax.distribute.replicas import in_replica
from stratax.tensorflow.v1 import current_or_none

_HOST_ONLY = (
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.ConcretizationTypeError,
)


class PaddingSpec(enum.IntEnum):
    """How inputs are filled up, as `tf.tpu.PaddingSpec`; without a meaning here, as shapes are known."""

    AUTO = 0
    POWER_OF_TWO = 1


class XLAOptions(NamedTuple):
    """Options of XLA, as `tf.tpu.XLAOptions`; without a meaning here.

    Attributes:
        use_spmd_for_xla_partitioning: Ignored.
        enable_xla_dynamic_padder: Ignored.
    """

    use_spmd_for_xla_partitioning: bool = True
    enable_xla_dynamic_padder: bool = True


def initialize_system(
    embedding_config: object = None,
    job: str | None = None,
    compilation_failure_closes_chips: bool = True,
    tpu_cancellation_closes_chips: bool | None = None,
) -> Topology:
    """Make the TPU ready and return how its cores are arranged, as `tf.tpu.initialize_system`.

    Args:
        embedding_config: Must be None.
        job: Ignored: the TPU is that of this program.
        compilation_failure_closes_chips: Ignored.
        tpu_cancellation_closes_chips: Ignored.

    Raises:
        BadArgumentError: If `embedding_config` is given.
        NoTPUError: If there is no TPU.
    """
    if embedding_config is not None:
        raise errors.BadArgumentError(
            "Embeddings on the hosts of a TPU are not supported. Received: "
            f"embedding_config={shown(embedding_config)}. Use an embedding layer."
        )
    return initialize_tpu_system()


def shutdown_system(job: str | None = None) -> None:
    """Wait for what the TPU still does, as `tf.tpu.shutdown_system`.

    Args:
        job: Ignored.

    Raises:
        NoTPUError: If there is no TPU.
    """
    shutdown_tpu_system()


def core(num: int) -> str:
    """Return the name of a core of a replica, as `tf.tpu.core`; there is one.

    Args:
        num: Must be 0.

    Raises:
        BadArgumentError: If it is another one.
    """
    if num != 0:
        raise errors.BadArgumentError(
            f"Each replica has one core: a model on several is not supported. Expected: 0. Received: num={shown(num)}."
        )
    return CORE_OF_REPLICA


def outside_compilation(computation: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Call a function of a step, as `tf.tpu.outside_compilation`.

    TensorFlow moves its operations to the host. Here what can be computed is computed on the device, and what is for
    the host (summaries, `tf.print`) is sent there while the step runs, so nothing has to be moved.

    Args:
        computation: The function.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Raises:
        TracingError: If it needs the numbers themselves, on the host.
    """
    try:
        return computation(*args, **kwargs)
    except _HOST_ONLY as error:
        raise errors.TracingError(
            "outside_compilation can't hand a step's numbers to functions of the host in the middle of the step. "
            "Expected: functions of tf, stratax or jax.numpy, of summaries or tf.print. Received: "
            f"{shown(computation)}. Use a host_call, which gets them behind the step, or jax.pure_callback."
        ) from error


def rewrite(
    computation: Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    infeed_queue: object = None,
    device_assignment: object = None,
    name: str | None = None,
    xla_options: XLAOptions | None = None,
) -> Any:
    """Compile a function and run it on one core, as `tf.tpu.rewrite`; in a step, call it.

    Args:
        computation: The function.
        inputs: Its arguments.
        infeed_queue: Must be None.
        device_assignment: Must be None.
        name: Ignored.
        xla_options: Ignored.

    Returns:
        What the function returns; a single value in a tuple.

    Raises:
        BadArgumentError: If `infeed_queue` or `device_assignment` is given.
    """
    given = None if inputs is None else [list(inputs)]
    return replicate(computation, given, infeed_queue, device_assignment, name, xla_options=xla_options)[0]


def replicate(
    computation: Callable[..., Any],
    inputs: Sequence[Sequence[Any]] | None = None,
    infeed_queue: object = None,
    device_assignment: object = None,
    name: str | None = None,
    maximum_shapes: object = None,
    padding_spec: PaddingSpec | None = None,
    xla_options: XLAOptions | None = None,
) -> list[Any]:
    """Compile a function and run it on several cores, as `tf.tpu.replicate`.

    The cores are those of the strategy that is in force, or the first ones that there are. In the function,
    `cross_replica_sum` and replica contexts work as in `strategy.run`.

    Args:
        computation: The function.
        inputs: Its arguments on each core, of the same shapes; None for one core without arguments.
        infeed_queue: Must be None.
        device_assignment: Must be None.
        name: Ignored.
        maximum_shapes: Ignored: shapes are known.
        padding_spec: Ignored.
        xla_options: Ignored.

    Returns:
        What the function returns on each core; a single value in a tuple.

    Raises:
        BadArgumentError: If `infeed_queue` or `device_assignment` is given, there are fewer cores, or the numbers of
            arguments differ.
        StrategyError: If it is called in a replica for more than one core.
    """
    for key, value in (("infeed_queue", infeed_queue), ("device_assignment", device_assignment)):
        if value is not None:
            raise errors.BadArgumentError(
                f"Cores take their arguments from inputs, in their order. Received: {key}={shown(value)}."
            )
    own = [[]] if inputs is None else [list(arguments) for arguments in inputs]
    if not own or len({len(arguments) for arguments in own}) != 1:
        raise errors.BadArgumentError(
            "inputs must have a list of arguments for each core, all of one length. Received: lists of lengths "
            f"{', '.join(str(len(arguments)) for arguments in own) or 'none'}."
        )
    if current_or_none() is not None or in_replica():
        if len(own) > 1:
            raise errors.StrategyError(
                "A replica can't divide itself among cores. Expected: arguments for one core. Received: "
                f"{len(own)} lists of arguments. Call it outside of a model_fn or replica."
            )
        return [_as_tuple(computation(*own[0]))]
    if len(own) == 1 and not has_strategy():
        return [_as_tuple(function(computation)(*own[0]))]
    strategy = _on_cores(len(own))
    count = strategy.num_replicas_in_sync

    def of_core(context: Any) -> Any:
        return tuple(own[context.replica_id_in_sync_group if len(own) == count else 0])

    arguments = strategy.experimental_distribute_values_from_function(of_core) if own[0] else ()
    results = strategy.run(computation, args=tuple(arguments))
    leaves, treedef = jax.tree.flatten(results, is_leaf=lambda leaf: hasattr(leaf, "values"))
    columns = [strategy.experimental_local_results(leaf) for leaf in leaves]
    return [
        _as_tuple(jax.tree.unflatten(treedef, [column[index] for column in columns]))
        for index in range(len(own))
    ]


def shard(
    computation: Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    num_shards: int = 1,
    input_shard_axes: Sequence[int] | None = None,
    outputs_from_all_shards: bool | Sequence[bool] = True,
    output_shard_axes: Sequence[int] | None = None,
    infeed_queue: object = None,
    device_assignment: object = None,
    name: str | None = None,
    xla_options: XLAOptions | None = None,
) -> list[Any]:
    """Divide arrays among cores, run a function there and put its results together, as `tf.tpu.shard`.

    Args:
        computation: The function.
        inputs: The arrays.
        num_shards: How many cores.
        input_shard_axes: Along which dimension each array is divided; None for the first of all.
        outputs_from_all_shards: Whether a result is made of those of all cores, or is the first core's; for each, or
            one for all.
        output_shard_axes: Along which dimension each result is put together; None for the first of all.
        infeed_queue: Must be None.
        device_assignment: Must be None.
        name: Ignored.
        xla_options: Ignored.

    Returns:
        The results; scalars of all cores are stacked.

    Raises:
        BadArgumentError: If a number of dimensions is not that of the arrays, or an array does not divide.
    """
    if num_shards <= 0:
        raise errors.BadArgumentError(
            f"num_shards must be a positive integer. Received: num_shards={num_shards}."
        )
    arrays = [jnp.asarray(given) for given in inputs or ()]
    axes = _for_each("input_shard_axes", input_shard_axes, 0, len(arrays))
    for array, axis in zip(arrays, axes, strict=True):
        if array.shape[axis] % num_shards:
            raise errors.BadArgumentError(
                f"An array of shape {array.shape} does not divide along dimension {axis} among {num_shards} shards."
            )
    parts = [jnp.split(array, num_shards, axis) for array, axis in zip(arrays, axes, strict=True)]
    own = [[part[index] for part in parts] for index in range(num_shards)]
    results = replicate(computation, own, infeed_queue, device_assignment, name, xla_options=xla_options)
    flat = [jax.tree.leaves(result) for result in results]
    joins = _for_each("output_shard_axes", output_shard_axes, 0, len(flat[0]))
    if isinstance(outputs_from_all_shards, bool):
        outputs_from_all_shards = [outputs_from_all_shards] * len(flat[0])
    of_all = _for_each("outputs_from_all_shards", outputs_from_all_shards, True, len(flat[0]))
    return [
        _join(column, axis) if is_of_all else column[0]
        for column, axis, is_of_all in zip(zip(*flat, strict=True), joins, of_all, strict=True)
    ]


def _join(parts: Sequence[Any], axis: int) -> Any:
    """Return the results of cores as one, on the first core."""
    (home,) = parts[0].devices()
    here = [jax.device_put(part, home) for part in parts]
    return jnp.concatenate(here, axis) if here[0].ndim else jnp.stack(here)


def batch_parallel(
    computation: Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    num_shards: int = 1,
    infeed_queue: object = None,
    device_assignment: object = None,
    name: str | None = None,
    xla_options: XLAOptions | None = None,
) -> list[Any]:
    """Divide batches among cores, run a function there and put its results together, as `tf.tpu.batch_parallel`.

    Args:
        computation: The function.
        inputs: The arrays, whose first dimension is divided.
        num_shards: How many cores.
        infeed_queue: Must be None.
        device_assignment: Must be None.
        name: Ignored.
        xla_options: Ignored.
    """
    return shard(
        computation,
        inputs,
        num_shards,
        infeed_queue=infeed_queue,
        device_assignment=device_assignment,
        name=name,
        xla_options=xla_options,
    )


def _on_cores(count: int) -> Strategy:
    """Return the strategy in force if it has so many cores, or is asked for one; else one of the first cores."""
    strategy = get_strategy() if has_strategy() else detect_strategy()
    if strategy.num_replicas_in_sync == count or (count == 1 and has_strategy()):
        return strategy
    devices = jax.local_devices()
    if count > len(devices):
        raise errors.BadArgumentError(
            f"There are fewer cores. Expected: at most {len(devices)}. Received: arguments for {count}."
        )
    return MirroredStrategy(devices[:count])


def _as_tuple(result: object) -> Any:
    """Return a single value in a tuple, as TensorFlow does."""
    return result if result is None or isinstance(result, list | tuple | dict) else (result,)


def _for_each(name: str, given: Sequence[Any] | None, default: object, count: int) -> list[Any]:
    found = [default] * count if given is None else list(given)
    if len(found) != count:
        raise errors.BadArgumentError(
            f"Length of {name} must be equal to the number of arrays. Expected: {count}. Received: "
            f"{name}={shown(found)}."
        )
    return found
