"""`TPUEstimator`: an Estimator with batch sizes of its own and many steps per program (estimator layer)."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import Dataset
from stratax.distribute import InputContext, ShardedStrategy, Strategy, TPUStrategy, detect_strategy
from stratax.distribute.replicas import get_strategy, split_to_devices
from stratax.distribute.strategies import default_strategy
from stratax.tensorflow.estimator import _calls, _inputs
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.tpu._config import InputPipelineConfig, RunConfig
from stratax.tensorflow.estimator.tpu._context import Deployment, TPUContext
from stratax.tensorflow.estimator.tpu._spec import TPUEstimatorSpec

_BATCH_SIZE, _CONTEXT, _USE_TPU = "batch_size", "context", "use_tpu"
_SIZES = {
    ModeKeys.TRAIN: "train_batch_size",
    ModeKeys.EVAL: "eval_batch_size",
    ModeKeys.PREDICT: "predict_batch_size",
}
_ALONE = 0
# Where batches of several cores are divided among them.
_DIVIDED = (InputPipelineConfig.PER_HOST_V1, InputPipelineConfig.SLICED)


class TPUEstimator(Estimator):
    """An Estimator that gives its input and `model_fn` their batch size, as `tf.estimator.tpu.TPUEstimator`.

    With `use_tpu` it runs on the cores of the TPU in `config`, or of the one that there is, real or simulated; without
    a TPU on the GPUs, or on the processor. Many steps are one program (`TPUConfig.iterations_per_loop`). Evaluation and
    prediction take every example once, whatever divides: in TensorFlow the caller has to see to that.

    Args:
        model_fn: As of `Estimator`; returns a :class:`TPUEstimatorSpec` or an `EstimatorSpec`. Its `params` have
            ``"batch_size"``, of one core, ``"context"`` and ``"use_tpu"``.
        model_dir: As of `Estimator`.
        config: A `stratax.estimator.tpu.RunConfig`.
        params: What `model_fn` and `input_fn` get as `params`, beside those: a dict, or `HParams`.
        use_tpu: Whether to run on a TPU's cores; else on one device.
        train_batch_size: The size of a batch of all cores in training.
        eval_batch_size: That in evaluation.
        predict_batch_size: That in prediction.
        batch_axis: For each tensor of the input, features first, which of its dimensions is the batch's; None for the
            first. Where each core has batches of its own (`PER_HOST_V2`, `PER_SHARD_V1`), and on one device, it is
            ignored.
        eval_on_tpu: Whether evaluation runs on all cores too.
        export_to_tpu: Ignored.
        export_to_cpu: Ignored.
        warm_start_from: As of `Estimator`.
        embedding_config_spec: Must be None: embeddings on TPUs' hosts are not supported.
        export_saved_model_api_version: Ignored.

    Raises:
        BadArgumentError: If a batch size is missing or does not divide, `params` has a reserved key, or something is
            asked for that is not supported.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike | None = None,
        config: RunConfig | None = None,
        params: object = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: object = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: object = None,
        embedding_config_spec: object = None,
        export_saved_model_api_version: object = None,
    ) -> None:
        if config is None or not isinstance(config, RunConfig):
            raise errors.BadArgumentError(
                "`config` must be provided with type stratax.estimator.tpu.RunConfig. "
                f"Received: config={shown(config)}."
            )
        given: Any = params or {}
        reserved = [name for name in (_BATCH_SIZE, _CONTEXT) if name in given]
        if reserved:
            raise errors.BadArgumentError(
                f"{', '.join(reserved)} are reserved keys but existed in params. "
                f"Received: params={shown(params)}. The estimator gives them."
            )
        if embedding_config_spec is not None:
            raise errors.BadArgumentError(
                "Embeddings on the hosts of a TPU are not supported. Received: "
                f"embedding_config_spec={shown(embedding_config_spec)}. Use an embedding layer in model_fn."
            )
        self._batch_axis = [0] if batch_axis is None else _leaves(batch_axis)
        if not all(isinstance(axis, int) and axis >= 0 for axis in self._batch_axis):
            raise errors.BadArgumentError(
                "batch_axis must say for each tensor of the input which of its dimensions is the batch. Expected: "
                f"numbers from 0. Received: batch_axis={shown(batch_axis)}."
            )
        if use_tpu and train_batch_size is None:
            raise errors.BadArgumentError(
                "`train_batch_size` cannot be `None`. Pass the size of a batch of all cores."
            )
        self._use_tpu = use_tpu
        self._eval_on_tpu = eval_on_tpu
        self._sizes = {
            "train_batch_size": train_batch_size,
            "eval_batch_size": eval_batch_size,
            "predict_batch_size": predict_batch_size,
        }
        for name, size in self._sizes.items():
            if size is not None and (not isinstance(size, int) or size < 1):
                raise errors.BadArgumentError(
                    f"{name} must be a positive integer. Received: {name}={shown(size)}."
                )
        self._tpu_strategy: Strategy | None = None
        super().__init__(model_fn, model_dir, config, params, warm_start_from)
        if use_tpu:
            self._check_divides()

    @property
    def _tpu_config(self) -> Any:
        return self._config.tpu_config  # type: ignore[attr-defined]

    def _check_divides(self) -> None:
        replicas = self._on_cores().num_replicas_in_sync
        shards = self._tpu_config.num_shards
        if shards is not None and shards != replicas:
            raise errors.BadArgumentError(
                f"TPUConfig.num_shards is not set correctly. Expected: {replicas}, the number of cores. "
                f"Received: {shards}."
            )
        for name, size in self._sizes.items():
            if size is not None and size % replicas:
                raise errors.BadArgumentError(
                    f"{name.replace('_', ' ')} {size} must be divisible by number of replicas {replicas}."
                )

    def _on_cores(self) -> Strategy:
        """Return the strategy of all cores; made once, as the TPU is initialised with it."""
        if self._tpu_strategy is None:
            given = self._config.train_distribute
            if given is not None:
                self._tpu_strategy = given
            elif self._config.cluster is not None:  # type: ignore[attr-defined]
                self._tpu_strategy = TPUStrategy(self._config.cluster)  # type: ignore[attr-defined]
            else:
                self._tpu_strategy = detect_strategy()
            cores = self._tpu_config.num_cores_per_replica or 1
            if cores > 1:
                self._tpu_strategy = _with_cores(self._tpu_strategy, cores)
        return self._tpu_strategy

    def _strategy(self, field: str) -> Strategy:
        if not self._use_tpu or (field == "eval_distribute" and not self._eval_on_tpu):
            return get_strategy()
        return self._on_cores()

    def _predicting(self) -> Strategy:
        return self._of_this_worker(self._strategy("train_distribute"))

    def _batches_in_step(self, strategy: Strategy) -> int:
        # Whole batches of all cores, as in TensorFlow.
        return 1

    def _steps_per_dispatch(self) -> int:
        found: int = self._tpu_config.iterations_per_loop
        return found if self._use_tpu else 1

    def _batch_size(self, mode: str) -> int | None:
        """Return the size of a batch of all cores."""
        name = _SIZES[mode]
        size = self._sizes[name]
        if size is None and self._use_tpu:
            method = "predict" if mode == ModeKeys.PREDICT else mode
            raise errors.BadArgumentError(
                f"{name} in TPUEstimator constructor must not be `None` if .{method} is running on TPU."
            )
        return size

    def _call_model_fn(self, features: object, labels: object, mode: str, *, exports: bool = False) -> Any:
        params = self.params
        if exports:
            # As in TensorFlow: an export runs on a CPU, with any number of examples.
            _calls.add_param(params, _USE_TPU, False)
            _calls.add_param(params, _CONTEXT, TPUContext(default_strategy()))
            spec = _calls.call_model_fn(self._model_fn, features, None, mode, params, self._config)
            return self._check_spec(spec)
        if mode == ModeKeys.PREDICT:
            strategy = self._predicting()
        else:
            strategy = self._strategy("train_distribute" if mode == ModeKeys.TRAIN else "eval_distribute")
        size = self._batch_size(mode)
        if size is not None:
            each = size // strategy.num_replicas_in_sync
            # A last batch that does not divide has a size of its own: TensorFlow would fill it up, or leave it out.
            own = each if mode == ModeKeys.TRAIN else _rows(features, each)
            _calls.add_param(params, _BATCH_SIZE, own)
        is_on_tpu = self._use_tpu and (mode != ModeKeys.EVAL or self._eval_on_tpu)
        _calls.add_param(params, _USE_TPU, is_on_tpu)
        _calls.add_param(params, _CONTEXT, TPUContext(strategy))
        if self._pipeline(mode, strategy) in _DIVIDED:
            features, labels = self._batch_back(features, labels)
        labels = None if mode == ModeKeys.PREDICT else labels
        dims = self._tpu_config.input_partition_dims
        if dims is not None and strategy.mesh.shape["model"] > 1:
            features = _divide_input(features, dims[0], strategy)
            labels = _divide_input(labels, dims[1] if len(dims) > 1 else None, strategy)
        return self._check_spec(
            _calls.call_model_fn(self._model_fn, features, labels, mode, params, self._config)
        )

    def _check_spec(self, spec: object) -> EstimatorSpec:
        if isinstance(spec, TPUEstimatorSpec):
            return spec.as_estimator_spec(self._tpu_config.experimental_host_call_every_n_steps)
        if not isinstance(spec, EstimatorSpec):
            raise errors.BadTypeError(
                f"model_fn should return a TPUEstimatorSpec or an EstimatorSpec. Received: {shown(spec)}."
            )
        return spec

    def _input(self, strategy: Strategy, input_fn: Callable[..., Any], mode: str) -> _inputs.ModelInput:
        if "params" not in _calls.arguments_of(input_fn) and not _calls.takes_any(input_fn):
            raise errors.BadArgumentError(
                "input_fn must take params, which has the batch size. Received: arguments "
                f"{', '.join(_calls.arguments_of(input_fn)) or 'none'}."
            )
        share, replicas = strategy.extended.membership.share, strategy.num_replicas_in_sync
        pipeline = self._pipeline(mode, strategy)
        size = self._batch_size(mode)
        # Of how many calls of input_fn the batches together have a step's examples.
        parts = {_ALONE: 1, InputPipelineConfig.SLICED: 1, InputPipelineConfig.PER_HOST_V1: share.processes}
        own = None if size is None else size // parts.get(pipeline, replicas)
        calls = {InputPipelineConfig.PER_SHARD_V1: replicas, InputPipelineConfig.SLICED: 1}
        count = calls.get(pipeline, share.processes)

        def make(index: int) -> Dataset:
            host = share.index if pipeline != InputPipelineConfig.SLICED else 0
            deployment = Deployment(host=host, index=index, count=count, replicas=replicas // count)
            params = self.params
            _calls.add_param(params, _CONTEXT, TPUContext(strategy, deployment))
            if own is not None:
                _calls.add_param(params, _BATCH_SIZE, own)
            context = InputContext(
                num_input_pipelines=count, input_pipeline_id=index, num_replicas_in_sync=replicas
            )
            given = {"params": params, "mode": mode, "config": self._config, "input_context": context}
            dataset = _inputs.as_dataset(_calls.call_input_fn(input_fn, given))
            return self._batch_first(dataset) if pipeline in _DIVIDED else dataset

        if pipeline == InputPipelineConfig.PER_SHARD_V1:
            mine = range(replicas)[share.of(replicas)]
            return _inputs.make_distributed(strategy, lambda _: _in_turns([make(index) for index in mine]))
        if pipeline in _DIVIDED and (share.processes == 1 or pipeline == InputPipelineConfig.SLICED):
            # One process divides its batches itself, without taking them apart; so do all that read the same.
            return _inputs.make_divided(strategy, make(0))
        if pipeline == InputPipelineConfig.PER_HOST_V1:
            each = (size or replicas) // replicas
            return _inputs.make_distributed(strategy, lambda _: _by_core(make(share.index), each))
        return _inputs.make_distributed(strategy, lambda _: make(share.index))

    def _pipeline(self, mode: str, strategy: Strategy) -> int:
        """Return how the input of a mode is divided; `_ALONE` where one device takes it."""
        config = self._tpu_config
        # Also while one core computes a remainder for all.
        if strategy.extended.execution.num_replicas == 1:
            return _ALONE
        if mode != ModeKeys.TRAIN:
            if config.eval_training_input_configuration == InputPipelineConfig.SLICED:
                return InputPipelineConfig.SLICED
            if config.per_host_input_for_training == InputPipelineConfig.PER_SHARD_V1:
                # One call for each core is for training only.
                return InputPipelineConfig.PER_HOST_V1
        found: int = config.per_host_input_for_training
        return found

    def _batch_first(self, dataset: Dataset) -> Dataset:
        """Return a dataset whose arrays have the batch's dimension in front."""
        axes = self._batch_axis
        if not any(axes):
            return dataset

        def move(*element: object) -> Any:
            return _each_moved(element, axes, lambda array, axis: np.moveaxis(array, axis, 0))

        return dataset.map(move)

    def _batch_back(self, features: object, labels: object) -> tuple[Any, Any]:
        """Return a core's features and labels with the batch's dimension where `input_fn` has it."""
        if not any(self._batch_axis):
            return features, labels
        given: Any = _each_moved(
            (features,) if labels is None else (features, labels),
            self._batch_axis,
            lambda array, axis: jnp.moveaxis(array, 0, axis) if axis else array,
        )
        return (given[0], None) if labels is None else given


def _with_cores(strategy: Strategy, cores: int) -> Strategy:
    """Return a strategy on the devices of another one, of which so many share a replica."""
    if strategy.extended.membership.share.processes > 1:
        raise errors.UnimplementedError(
            "Replicas of several cores are for the cores of one host. Expected: num_cores_per_replica=None. Received: "
            f"num_cores_per_replica={cores} with {shown(strategy)}."
        )
    count = len(strategy.devices)
    cores = min(cores, count)
    if cores == 1 or strategy.mesh.shape["model"] == cores:
        return strategy
    if count % cores:
        raise errors.BadArgumentError(
            f"num_cores_per_replica must divide the {count} cores. Received: num_cores_per_replica={cores}."
        )
    return ShardedStrategy(list(strategy.devices), replicas=count // cores, model=cores)


def _divide_input(value: Any, dims: Any, strategy: Strategy) -> Any:
    """Return tensors whose work the cores of a replica divide, as `input_partition_dims` says."""
    if dims is None or value is None:
        return value
    if isinstance(value, Mapping):
        by_name = dims if isinstance(dims, Mapping) else {}
        return {key: _divide_input(each, by_name.get(key), strategy) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(
            _divide_input(each, part, strategy) for each, part in zip(value, dims, strict=True)
        )
    return split_to_devices(value, dims, strategy.mesh)


def _each_moved(element: object, axes: Sequence[int], move: Callable[[Any, int], Any]) -> Any:
    leaves, treedef = jax.tree.flatten(element)
    if len(axes) not in (1, len(leaves)):
        raise errors.BadArgumentError(
            f"batch_axis must have a dimension for each tensor of the input. Expected: {len(leaves)} of them. "
            f"Received: batch_axis={shown(list(axes))}."
        )
    own = list(axes) * len(leaves) if len(axes) == 1 else list(axes)
    return jax.tree.unflatten(treedef, [move(leaf, axis) for leaf, axis in zip(leaves, own, strict=True)])


def _in_turns(datasets: Sequence[Dataset]) -> Dataset:
    """Return the elements of several datasets, one of each in turn."""
    return Dataset.range(len(datasets)).interleave(
        lambda index: datasets[int(index)], cycle_length=len(datasets), block_length=1
    )


def _by_core(dataset: Dataset, size: int) -> Dataset:
    """Return a host's batches as those of its cores."""
    return dataset.unbatch().batch(size)


def _leaves(value: object) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list | tuple) else [value]


def _rows(features: object, default: int) -> int:
    """Return how many examples a core's features have."""
    shapes = [getattr(leaf, "shape", None) for leaf in jax.tree.leaves(features)]
    return next((shape[0] for shape in shapes if shape), default)
