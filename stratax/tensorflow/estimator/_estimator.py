"""`Estimator`: training, evaluation and prediction of a model that a function describes (estimator layer)."""

import copy
import logging
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base import tracebacks
from stratax.base.shown import shown
from stratax.core import CompiledPrograms
from stratax.distribute import InputContext, Strategy
from stratax.distribute.replicas import get_strategy
from stratax.distribute.strategies import OneOfMany, StepByStep, default_strategy
from stratax.tensorflow.checkpoints.values import give
from stratax.tensorflow.estimator import (
    _beginning,
    _beside,
    _calls,
    _checkpoints,
    _evaluation,
    _inputs,
    _prediction,
    _training,
)
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._model import EstimatorModel
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator._session import HookSession
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator._warm_start import check_settings, warm_start_model
from stratax.tensorflow.estimator.hooks import check_hooks, check_listeners, closing_writers
from stratax.tensorflow.v1 import ModelState
from stratax.tensorflow.v1.parts import leave_graph

_logger = logging.getLogger("stratax")


class Estimator:
    """Trains, evaluates and applies the model that a function describes, as `tf.estimator.Estimator`.

    The function is one step's: it is traced and compiled for each mode, runs on every replica of the strategy in
    `config`, and its variables are found by name, in memory and in checkpoints. Every call of a method begins with the
    last checkpoint in `model_dir`; :meth:`train` writes others.

    Args:
        model_fn: A function of `features`, and of those of `labels`, `mode`, `params` and `config` that it names.
            Returns an :class:`EstimatorSpec`.
        model_dir: Where checkpoints and summaries are; by default that of `config`, or a temporary folder.
        config: A :class:`RunConfig`.
        params: What `model_fn` and `input_fn` get as `params`, each time a deep copy of it: a dict, or any other object
            with settings, such as `HParams`.
        warm_start_from: A checkpoint (or a folder of them, such as another Estimator's `model_dir`), whose values
            trained variables begin with; or a :class:`WarmStartSettings`. It counts as long as `model_dir` has no
            checkpoint.

    Raises:
        BadTypeError: If an argument has the wrong type.
        BadArgumentError: If `model_fn` has other arguments, or `model_dir` is not that of `config`.

    Example:
        >>> import stratax.tf as tf, stratax.estimator as estimator
        >>> def model_fn(features, labels, mode):
        ...     w = tf.Variable(0.0, name="w")
        ...     loss = tf.reduce_mean((features * w - labels) ** 2)
        ...     train_op = None
        ...     return estimator.EstimatorSpec(mode, predictions=features * w, loss=loss, train_op=train_op)
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike | None = None,
        config: RunConfig | None = None,
        params: object = None,
        warm_start_from: object = None,
    ) -> None:
        _calls.check_model_fn(model_fn, params)
        if config is not None and not isinstance(config, RunConfig):
            raise errors.BadTypeError(
                f"config must be an instance of stratax.estimator.RunConfig. Received: config={shown(config)}."
            )
        self._warm_start = check_settings(warm_start_from)
        self._config = _with_model_dir(config or RunConfig(), model_dir)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        # Every call traces model_fn anew; what comes out the same is not compiled again.
        self._compiled = CompiledPrograms()
        # Made when it is first asked for: a cluster may have parameter servers.
        self._on_servers: Strategy | None = None

    @property
    def config(self) -> RunConfig:
        """The configuration that it runs with."""
        return self._config

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        return self._config.model_dir or ""

    @property
    def params(self) -> Any:
        """A deep copy of what was given as `params`, as `model_fn` gets it; an empty dict if nothing was."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The function with the arguments `features, labels, mode, config`."""

        def public(features: object, labels: object, mode: str, config: object) -> Any:
            return _calls.call_model_fn(self._model_fn, features, labels, mode, self.params, config)

        return public

    def eval_dir(self, name: str | None = None) -> str:
        """Return where an evaluation writes its summaries.

        Args:
            name: The evaluation's name.
        """
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def latest_checkpoint(self) -> str | None:
        """Return the path of the last checkpoint; None without one."""
        return _checkpoints.latest(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the last checkpoint.

        Raises:
            UntrainedModelError: If there is none.
        """
        return [name for name in _checkpoints.values_of(self._find_trained()).names if name != "save_counter"]

    def get_variable_value(self, name: str) -> np.ndarray:
        """Return the value of a variable in the last checkpoint.

        Args:
            name: Its name.

        Raises:
            BadArgumentError: If there is no such variable.
            UntrainedModelError: If there is no checkpoint.
        """
        return _checkpoints.variable_value(self._find_trained(), name)

    @leave_graph
    @tracebacks.shortened
    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[Any] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
    ) -> "Estimator":
        """Train, from the last checkpoint on, and save another one at the end.

        Args:
            input_fn: Returns the input: a Dataset of batches of `(features, labels)`, or these tensors. Called once for
                each worker; each replica takes one of its batches per step. May take `mode`, `params`, `config` and
                `input_context`.
            hooks: Session hooks.
            steps: How many steps to train; None until the input ends.
            max_steps: The global step to end at, exactly. Not together with `steps`.
            saving_listeners: Called around the saving of checkpoints.

        Returns:
            This estimator.

        Raises:
            BadArgumentError: If both `steps` and `max_steps` are given, or one is not positive.
            RestoreError: If the checkpoint is of another model.
            NanLossDuringTrainingError: If a loss is NaN.
            CheckpointError: If another job trains in `model_dir`.
            FileAccessError: If `model_dir` can't be written.
            ClusterError: If this task does not train, or several do that have no strategy of several workers.
        """
        steps, max_steps = _check_steps(steps, max_steps)
        given_hooks, listeners = check_hooks(hooks, "hooks"), check_listeners(saving_listeners)
        strategy = self._training_strategy()
        _check_trains(self._config, strategy)
        with (
            _beginning.training_in(self.model_dir, strategy) as start,
            _beside.side_by_side(strategy, self._config, start) as side,
            closing_writers(),
        ):
            start = side.start
            if max_steps is not None and start.step >= max_steps:
                side.begin(start.step)
                _logger.info("Skipping training since max_steps has already saved.")
                return self
            model = self._model(ModeKeys.TRAIN, strategy, start.checkpoint)
            with self._input(strategy, input_fn, ModeKeys.TRAIN) as given:
                given.build(model)
                if start.checkpoint is None and side.gives_values:
                    self._start(model, strategy)
                run = _training.Training(
                    model,
                    strategy,
                    self._config,
                    hooks=given_hooks,
                    listeners=listeners,
                    steps_per_dispatch=self._steps_per_dispatch(),
                    side=side,
                )
                begins_at = run.begin(start)
                side.begin(begins_at)
                run.run(given.steps, max_steps if steps is None else begins_at + steps)
        _logger.info("Loss for final step: %s.", run.last_loss())
        return self

    @leave_graph
    @tracebacks.shortened
    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluate a checkpoint.

        Args:
            input_fn: As in :meth:`train`.
            steps: How many batches; None for all.
            hooks: Session hooks.
            checkpoint_path: The checkpoint; by default the last one. Without one the model is evaluated as it is made.
            name: The name of this evaluation, for its folder.

        Returns:
            The metrics by name, with ``"loss"`` and ``"global_step"``.

        Raises:
            BadArgumentError: If `steps` is not positive.
            RestoreError: If the checkpoint is of another model.
        """
        steps, _ = _check_steps(steps, None)
        given_hooks = check_hooks(hooks, "hooks")
        strategy = self._strategy("eval_distribute")
        path = checkpoint_path or self.latest_checkpoint()
        model = self._model(ModeKeys.EVAL, strategy, path)
        with self._input(strategy, input_fn, ModeKeys.EVAL) as given, closing_writers():
            given.build(model)
            self._read(model, strategy, path)
            found = _evaluation.evaluate(
                model,
                strategy,
                given.steps,
                steps,
                given_hooks,
                self.model_dir,
                self.eval_dir(name),
            )
        shown_metrics = ", ".join(f"{key} = {found[key]}" for key in sorted(found))
        _logger.info("Saving dict for global step %d: %s", found["global_step"], shown_metrics)
        return found

    @leave_graph
    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Apply a checkpoint, on all replicas of the strategy; on several workers, each on its own devices.

        Args:
            input_fn: Returns features; labels are passed over. Each replica takes one of its batches.
            predict_keys: Which of the predictions to give, where they are a dict; None for all.
            hooks: Session hooks.
            checkpoint_path: The checkpoint; by default the last one. Without one the model is applied as it is made.
            yield_single_examples: Whether to give the predictions of each example by itself.

        Yields:
            Predictions: NumPy arrays, or dicts of them.

        Raises:
            BadArgumentError: If no prediction has one of `predict_keys`.
        """
        given_hooks = check_hooks(hooks, "hooks")
        path = checkpoint_path or self.latest_checkpoint()
        strategy = self._predicting()
        model = self._model(ModeKeys.PREDICT, strategy, path)
        model.predict_keys = _prediction.as_keys(predict_keys)
        # A generator: each of its steps is made within.
        with tracebacks.shortened, self._input(strategy, input_fn, ModeKeys.PREDICT) as given:
            if not given.build(model, may_be_empty=True):
                return
            self._read(model, strategy, path)
            yield from _prediction.predictions(
                model,
                strategy,
                given.steps,
                single=yield_single_examples,
                replicas=self._batches_in_step(strategy),
                model_dir=self.model_dir,
                hooks=given_hooks,
            )

    def export_saved_model(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Write the model of a checkpoint as an export, which `stratax serve` serves and `stratax.export.load` calls.

        What the function does with text and images, the host does when the export runs; the `model_fn` in mode infer
        becomes compiled programs. Where TensorFlow is installed (the extra ``savedmodel``), the folder is a SavedModel
        besides, which TensorFlow Serving loads; `stratax.export.convert_to_saved_model` makes one later.

        Args:
            export_dir_base: The folder in which the export gets one, named by the seconds since 1970.
            serving_input_receiver_fn: Makes placeholders and the features of them; returns a
                `tf.estimator.export.ServingInputReceiver`. It is called several times, as the `model_fn` is.
            assets_extra: By a path below the export's `assets.extra`, the path of a file that is copied there.
            as_text: Ignored: what an export says of itself is text.
            checkpoint_path: The checkpoint; by default the last one.
            experimental_mode: Of which mode the model is. For `ModeKeys.EVAL` or `ModeKeys.TRAIN`, the function is one
                of `tf.estimator.experimental.build_raw_supervised_input_receiver_fn`, and the export's signature,
                ``"eval"`` or ``"train"``, gives loss, predictions and metrics of a batch. It changes nothing: metrics
                are those of one batch, and no step is made.

        Returns:
            The path of the export's folder, as bytes.

        Raises:
            BadArgumentError: Nothing can be exported, or there is no such mode.
            BadTypeError: The function gives something else.
            UntrainedModelError: There is no checkpoint.
            FileMissingError: A file of `assets_extra` is not there.
            TracingError: The model can't be compiled for any number of examples.
        """
        return self.experimental_export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
        )

    def export_savedmodel(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Do as :meth:`export_saved_model`, by TensorFlow 1's name.

        Args:
            export_dir_base: As there.
            serving_input_receiver_fn: As there.
            assets_extra: As there.
            as_text: As there.
            checkpoint_path: As there.
            strip_default_attrs: Ignored: programs have no attributes.
        """
        del strip_default_attrs
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    @leave_graph
    def experimental_export_all_saved_models(
        self,
        export_dir_base: str | os.PathLike[str],
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """Do as :meth:`export_saved_model`, with the functions of several modes, for one export with all of them.

        Args:
            export_dir_base: As there.
            input_receiver_fn_map: By mode, the function.
            assets_extra: As there.
            as_text: As there.
            checkpoint_path: As there.

        Raises:
            BadArgumentError: There is no mode, or an unknown one.
        """
        # Late: most programs export nothing.
        from stratax.tensorflow.estimator import _exporting

        del as_text
        modes = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
        if not input_receiver_fn_map or not set(input_receiver_fn_map) <= set(modes):
            raise errors.BadArgumentError(
                f"An export has models of some modes. Expected: at least one of {', '.join(modes)}. Received: "
                f"{shown(list(input_receiver_fn_map))}."
            )
        functions = {mode: input_receiver_fn_map[mode] for mode in modes if mode in input_receiver_fn_map}
        files = _exporting.extra_files(assets_extra)
        path = checkpoint_path or self.latest_checkpoint()
        if path is None and not self._has_values:
            path = self._find_trained()
        with tracebacks.shortened:
            # A program of one device, whatever the strategy: a server has its own.
            strategy = default_strategy()

            def write(servings: Mapping[str, "_exporting.Serving"]) -> str:
                signatures: dict[str, Any] = {}
                state = self._state(path, trains=ModeKeys.TRAIN in servings)
                for mode, serving in servings.items():
                    element, infos = serving.blank()
                    # Their variables are in the export once.
                    model = EstimatorModel(
                        self._calling(mode, exports=True), mode, strategy, state, self._compiled
                    )
                    model.build(element)
                    self._read(model, strategy, path)
                    signatures.update(_exporting.signatures_of(model, serving, infos))
                return _exporting.write_export(signatures, export_dir_base, files)

            folder = _exporting.write_with_sizes(write, functions)
        _logger.info("Export written to: %s", folder)
        return os.fsencode(folder)

    def _calling(self, mode: str, *, exports: bool = False) -> Callable[[Any, Any], EstimatorSpec]:
        def call(features: object, labels: object) -> EstimatorSpec:
            spec = self._call_model_fn(features, labels, mode, exports=exports)
            if not isinstance(spec, EstimatorSpec):
                raise errors.BadTypeError(
                    "model_fn should return an EstimatorSpec. "
                    f"Received: {shown(spec)}. Return stratax.estimator.EstimatorSpec(mode, ...)."
                )
            return spec

        return call

    def _call_model_fn(self, features: object, labels: object, mode: str, *, exports: bool = False) -> Any:
        del exports
        labels = None if mode == ModeKeys.PREDICT else labels
        return _calls.call_model_fn(self._model_fn, features, labels, mode, self.params, self._config)

    def _input(self, strategy: Strategy, input_fn: Callable[..., Any], mode: str) -> _inputs.ModelInput:
        def make(context: InputContext) -> Any:
            return _calls.call_input_fn(input_fn, self._input_arguments(mode, context))

        return (_inputs.in_order if mode == ModeKeys.PREDICT else _inputs.make_distributed)(strategy, make)

    def _input_arguments(self, mode: str, context: InputContext) -> dict[str, Any]:
        return {"mode": mode, "params": self.params, "config": self._config, "input_context": context}

    def _strategy(self, field: str) -> Strategy:
        return getattr(self._config, field) or get_strategy()

    def _training_strategy(self) -> Strategy:
        """Return the strategy of training: as in TensorFlow, a cluster with parameter servers has them used."""
        strategy = self._strategy("train_distribute")
        if strategy is not default_strategy() or not self._config.num_ps_replicas:
            return strategy
        if self._on_servers is None:
            # Late: it needs an extra.
            from stratax.distribute.strategies import ParameterServerStrategyV1

            self._on_servers = ParameterServerStrategyV1()
        return self._on_servers

    def _predicting(self) -> Strategy:
        """Return the strategy of predictions: workers do not wait for one another while they are used."""
        return self._of_this_worker(self._config.eval_distribute or self._strategy("train_distribute"))

    @staticmethod
    def _of_this_worker(strategy: Strategy) -> Strategy:
        if isinstance(strategy.extended.execution, StepByStep):
            # What is on the servers is being trained.
            return default_strategy()
        return strategy.of_this_process()

    def _batches_in_step(self, strategy: Strategy) -> int:
        """Return how many of the input's batches a step of prediction takes."""
        return strategy.num_replicas_in_sync

    def _steps_per_dispatch(self) -> int:
        return 1

    def _model(self, mode: str, strategy: Strategy, checkpoint: str | None) -> EstimatorModel:
        state = self._state(checkpoint, trains=mode == ModeKeys.TRAIN)
        return EstimatorModel(self._calling(mode), mode, strategy, state, self._compiled)

    def _state(self, checkpoint: str | None, *, trains: bool) -> ModelState:
        state = ModelState(
            self._config.tf_random_seed, () if checkpoint is None else _checkpoints.names(checkpoint)
        )
        # What the model_fn takes from another model's checkpoint counts where there is none of this model.
        state.begins = checkpoint is None
        if not trains:
            # Few models ask for gradients elsewhere, and get them from a second trace: a tape traces the derivative of
            # each operation, too.
            state.derivatives = 0
        return state

    def _read(self, model: EstimatorModel, strategy: Strategy, checkpoint: str | None) -> None:
        if checkpoint is not None:
            _checkpoints.read_into(model.state, checkpoint, model.saver)
            return
        _logger.info("Could not find trained model in model_dir: %s, running initialization.", self.model_dir)
        self._start(model, strategy)

    def _start(self, model: EstimatorModel, strategy: Strategy) -> None:
        """Give the variables of a model without a checkpoint what they begin with."""
        if self._warm_start is not None and model.scope is not None:
            warm_start_model(model.scope, self._warm_start)
        given = model.state.given
        for name, value in zip(given, strategy.extended.membership.agree(list(given.values())), strict=True):
            give(model.state.variables[name], value)
        scaffold = model.spec.scaffold
        if scaffold is not None and scaffold.init_fn is not None:
            scaffold.init_fn(HookSession(model, self.model_dir, strategy.extended.membership.is_chief))

    @property
    def _has_values(self) -> bool:
        """Whether variables begin with values of another model, which are worth an export."""
        return self._warm_start is not None

    def _find_trained(self) -> str:
        path = self.latest_checkpoint()
        if path is None:
            raise errors.UntrainedModelError(
                f"Could not find trained model in model_dir: {self.model_dir}. Train first, or pass checkpoint_path."
            )
        return path


def _with_model_dir(config: RunConfig, model_dir: str | os.PathLike | None) -> RunConfig:
    """Return the configuration with the folder that counts."""
    given = None if model_dir is None else os.fspath(model_dir)
    if given is not None and config.model_dir not in (None, given):
        raise errors.BadArgumentError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"{shown(given)}, in `RunConfig`: {shown(config.model_dir)}."
        )
    folder = given or config.model_dir
    if folder is None:
        folder = tempfile.mkdtemp()
        _logger.warning("Using temporary folder as model directory: %s", folder)
    return config if config.model_dir == folder else config.replace(model_dir=folder)


def _check_trains(config: RunConfig, strategy: Strategy) -> None:
    """Check that a task trains, and with all others that do."""
    if config.task_type == "evaluator":
        raise errors.ClusterError(
            "This task is the cluster's evaluator, which does not train. Expected: a task of type chief or worker. "
            "Received: TF_CONFIG with the task's type 'evaluator'. Call train_and_evaluate in all tasks, or evaluate "
            "here."
        )
    trains_beside = isinstance(strategy.extended.membership, OneOfMany)
    if isinstance(strategy.extended.execution, StepByStep) and not trains_beside:
        raise errors.ClusterError(
            "In an Estimator each worker runs a loop of its own. Expected: "
            "tf.compat.v1.distribute.experimental.ParameterServerStrategy(), or no strategy in a cluster with "
            f"parameter servers. Received: train_distribute={shown(strategy)}, whose chief schedules what workers run."
        )
    is_alone = strategy.extended.membership.share.processes == 1 and not trains_beside
    if config.num_worker_replicas > 1 and is_alone:
        raise errors.ClusterError(
            f"TF_CONFIG has {config.num_worker_replicas} tasks that train, and each of them would train alone and "
            "write into the same folder. Expected: a strategy of several workers. Received: "
            f"train_distribute={shown(config.train_distribute)}. Pass "
            "RunConfig(train_distribute=tf.distribute.MultiWorkerMirroredStrategy())."
        )


def _check_steps(steps: float | None, max_steps: float | None) -> tuple[int | None, int | None]:
    if steps is not None and max_steps is not None:
        raise errors.BadArgumentError(
            f"Can not provide both steps and max_steps. Received: steps={shown(steps)}, max_steps={shown(max_steps)}."
        )
    return _whole("steps", steps), _whole("max_steps", max_steps)


def _whole(name: str, value: float | None) -> int | None:
    """Return a number of steps; programs divide for it, and of a part of a step TensorFlow makes a whole one."""
    if value is None:
        return None
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise errors.BadTypeError(
            f"{name} must be a number or None. Received: {name}={shown(value)}. Convert it with int()."
        )
    if value <= 0:
        raise errors.BadArgumentError(f"Must specify {name} > 0, given: {value}")
    return math.ceil(value)
