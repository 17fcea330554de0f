"""`stratax.tpu.compile`: one function or model, compiled for a TPU that isn't there (rehearsal layer)."""

from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.command.rehearsal._compiler import check_installed, compile_for
from stratax.command.rehearsal._report import ProgramReport
from stratax.command.rehearsal._topologies import Topology, parse_topology
from stratax.core import functions
from stratax.core.regions import MadeProgram
from stratax.distribute import Strategy, get_strategy
from stratax.distribute.replicas import (
    MODEL_AXIS,
    REPLICA_AXES,
    PerReplica,
    enter_contexts,
    is_per_replica,
)
from stratax.engine import StepProgram
from stratax.keras.trainers import Trainer, trainer_of


def compile(
    function_or_model: Callable[..., Any] | keras.Model, topology: str | Topology, *specs: object
) -> ProgramReport:
    """Compile a function or a training step for a TPU that isn't there, and say what it would take.

    Nothing is run and no TPU is needed, nor simulated devices: the strategy in force, or else the default one, is given
    the slice's devices, so the program is the one that a `TPUStrategy` there compiles. In a test of your own it tells
    whether a change still compiles and fits. Needs ``pip install 'stratax-train[tpu-compile]'``.

    Args:
        function_or_model: What each replica does with its part of a batch, as `strategy.run` takes it; or a model that
            is built and compiled, whose training step is meant.
        topology: A slice of a pod: ``"v5e:4x4"``, or as the cloud names it, ``"v5e-16"``, ``"v3-8"``.
        *specs: For each argument of the function, or for a model's x, y and sample weights, the type of a *global*
            batch: an array, a `TensorSpec`, a `jax.ShapeDtypeStruct`, or a structure of these. The first dimension is
            divided among the slice's devices.

    Returns:
        The report. It says whether the program compiles and fits (`fits`), and if not, why (`failure`).

    Raises:
        BadArgumentError: If there is no such topology, or a batch does not divide among its devices.
        MissingPackageError: If libtpu is not installed, or not in the version that JAX expects.
        StrategyError: If the strategy's variables are not on its replicas' devices.

    Example:
        >>> import jax, stratax as sx
        >>> report = sx.tpu.compile(
        ...     lambda x: x @ x.T, "v5e:2x4", jax.ShapeDtypeStruct((64, 128), "float32"))  # doctest: +SKIP
        >>> report.fits, report.estimate.bound  # doctest: +SKIP
        (True, 'memory')
    """
    chosen = topology if isinstance(topology, Topology) else parse_topology(topology)
    check_installed()
    trainer = _trainer_of(function_or_model)
    strategy = get_strategy() if trainer is None else trainer.strategy
    move = strategy.extended.move()
    if move is None:
        raise errors.StrategyError(
            "Only programs of strategies whose replicas are devices with a copy of each variable are compiled for a "
            f"TPU. Received: {shown(strategy)}. Use a TPUStrategy or MirroredStrategy."
        )
    count = chosen.num_devices // strategy.mesh.shape[MODEL_AXIS]
    parts = [
        jax.tree.map(lambda spec: _divide(spec, chosen, count), spec, is_leaf=_is_spec) for spec in specs
    ]
    function, arguments = _call_of(function_or_model, trainer, strategy, parts)
    sorted_arguments = functions.sort_arguments(arguments)

    def trace_for(devices: Any, per_device: int | None) -> MadeProgram:
        with move.to(devices) as alike:
            spread = NamedSharding(alike.mesh, PartitionSpec(REPLICA_AXES))
        types = [
            jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=spread) for each in sorted_arguments.dynamic
        ]
        with enter_contexts(strategy, None):
            return function.traced_for(sorted_arguments, types, move, devices)

    name = getattr(function_or_model, "__name__", type(function_or_model).__name__)
    return compile_for(MadeProgram(name=name, compiled=None, donated=(), traced_for=trace_for), chosen)


def _trainer_of(function_or_model: object) -> Trainer | None:
    """Return what trains a model; None for a function."""
    if isinstance(function_or_model, keras.Model):
        if not function_or_model.compiled:
            raise errors.BadArgumentError(
                "A model without a loss has no training step to compile for a TPU. Received: "
                f"{shown(function_or_model)}. Call `model.compile(optimizer, loss)` first."
            )
        return trainer_of(function_or_model) or Trainer(function_or_model, get_strategy())
    if not callable(function_or_model):
        raise errors.BadTypeError(
            f"stratax.tpu.compile takes a function or a model. Received: {shown(function_or_model)}."
        )
    return None


def _call_of(
    function_or_model: object, trainer: Trainer | None, strategy: Strategy, parts: list[Any]
) -> tuple[Any, Any]:
    """Return the compiled function, if there is one, and the arguments of a call that does what is wanted."""
    if trainer is None:
        run = strategy.extended.execution
        return getattr(run, "compiled_run", None), ((function_or_model, tuple(parts), {}), {})
    trainer.build(_Batch(parts), predicting=False)
    program = trainer.step_program("train")
    return (program.function, ((1, tuple(parts)), {})) if isinstance(program, StepProgram) else (None, ())


class _Batch:
    """A batch that shows what examples look like, to a model that is to be built for them.

    Args:
        parts: The model's x, y and sample weights, divided among devices.
    """

    num_batches = 1

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def example(self) -> Any:
        """Return one device's part."""
        return jax.tree.map(lambda part: part.array[0], tuple(self._parts), is_leaf=is_per_replica)


def _is_spec(value: object) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _divide(spec: Any, topology: Topology, count: int) -> PerReplica:
    """Return a stand-in for a batch that is divided among so many replicas on a topology."""
    if not _is_spec(spec):
        raise errors.BadTypeError(
            "stratax.tpu.compile needs the shape and dtype of each argument. Expected: an array, a TensorSpec or a "
            f"jax.ShapeDtypeStruct. Received: {shown(spec)}."
        )
    shape = [int(size) if size is not None else 0 for size in spec.shape]
    if not shape or not all(shape) or shape[0] % count:
        raise errors.BadArgumentError(
            f"A global batch is divided among {count} replicas on {topology.name}. Expected: a first dimension that "
            f"is a multiple of {count}, and no unknown sizes. Received: shape={tuple(spec.shape)}."
        )
    dtype = jax.dtypes.canonicalize_dtype(spec.dtype)
    # Takes no memory, whatever its shape.
    return PerReplica(np.broadcast_to(np.zeros((), dtype), (count, shape[0] // count, *shape[1:])))
