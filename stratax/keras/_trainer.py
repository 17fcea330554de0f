"""What a compiled Keras model gets so that it trains under a strategy (keras layer).

Keras keeps its loop, callbacks, progress bar and history. A :class:`Trainer` replaces, on one model, the methods that
make the compiled steps and those that pass state around: variables stay where they are and always hold their
current values, so callbacks read and write them as they are. What users call (`fit`, ...) comes here from
`keras.Model`, after overrides of the user's own.
"""

import contextlib
import sys
import types
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax import engine, errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import storage
from stratax.distribute import Strategy, keras_hooks, strategies
from stratax.distribute.replicas import enter_contexts, get_strategy, has_strategy
from stratax.distribute.strategies import InStep, ScheduledSteps, workers_of
from stratax.keras import (
    _callback_list,
    _epochs,
    _logs,
    _steps,
    _text,
    _writers,
)
from stratax.keras._creator import DatasetCreator
from stratax.seams import keras as seam

_METHODS = (
    "make_train_function",
    "make_test_function",
    "make_predict_function",
    "jax_state_sync",
    "_get_jax_state",
    "_symbolic_build",
)
# Keras' own: those of `keras.Model` are replaced, and lead here.
_KERAS: dict[str, Callable[..., Any]] = {
    name: seam.original(f"keras.src.backend.jax.trainer:JAXTrainer.{name}") for name in seam.CALLS
}
_KERAS_BUILD = seam.JAXTrainer._symbolic_build


def attach(model: keras.Model, strategy: Strategy) -> "Trainer":
    """Make a model train under a strategy; called when it is compiled."""
    trainer = Trainer(model, strategy)
    # Around Keras' own bookkeeping of attributes, which looks for layers and variables in what it is given.
    for name in _METHODS:
        model.__dict__[name] = getattr(trainer, name)
    model.__dict__["_stratax_trainer"] = trainer
    # Also those that were created before the model was compiled.
    trainer.own_variables()
    return trainer


def detach(model: keras.Model) -> None:
    """Give a model Keras' own methods back; called when it is compiled anew."""
    for name in (*_METHODS, "_stratax_trainer"):
        model.__dict__.pop(name, None)


def trainer_of(model: keras.Model) -> "Trainer | None":
    """Return the trainer that a model was given, or None."""
    return model.__dict__.get("_stratax_trainer")


class Trainer:
    """Runs one model's steps under one strategy. Its methods stand in for the model's own of the same names."""

    def __init__(self, model: keras.Model, strategy: Strategy) -> None:
        self.model = model
        self.strategy = strategy
        self._loops = _Loops(self._make_loop)
        # What the host computes for a model that takes text, and whether it is known that it takes none.
        self._text: Any = None
        self._is_numeric = False
        # By id, of the variables that the present programs train.
        self._trainable: tuple[int, ...] = ()

    # What Keras' loop asks for.

    def make_train_function(self, force: bool = False) -> None:
        """See `keras.Model.make_train_function`."""
        self._make("train", self._train, force=force)

    def make_test_function(self, force: bool = False) -> None:
        """See `keras.Model.make_test_function`."""
        self._make("test", self._test, force=force)

    def make_predict_function(self, force: bool = False) -> None:
        """See `keras.Model.make_predict_function`."""
        self._make("predict", self._predict, force=force)

    def jax_state_sync(self) -> None:
        """See `keras.Model.jax_state_sync`: the variables hold the state, once workers have run their steps."""
        scheduled = self._find_scheduled()
        # Keras calls it also while an interrupt passes: then workers may have gone, and `cancel` is next.
        if scheduled is not None and not isinstance(sys.exception(), KeyboardInterrupt | SystemExit):
            scheduled.settle()

    def _symbolic_build(self, iterator: object = None, data_batch: object = None) -> None:
        """Do nothing: Keras' loop calls it to build the model on a batch, which :meth:`build` has done."""

    def _get_jax_state(
        self,
        trainable_variables: bool = False,
        non_trainable_variables: bool = False,
        optimizer_variables: bool = False,
        metrics_variables: bool = False,
        purge_model_variables: bool = False,
    ) -> tuple[None, ...]:
        wanted = (trainable_variables, non_trainable_variables, optimizer_variables, metrics_variables)
        # Keras 3.15 hands this to the step and takes as many parts apart again; there is no state to pass.
        return (None,) * sum(wanted)

    def _make(self, name: str, run: Callable[..., Any], *, force: bool) -> None:
        trainable = tuple(map(id, self.model.trainable_variables))
        # A program is traced for the variables that it trains: a layer that was frozen since needs another.
        if force or trainable != self._trainable:
            self._loops.clear()
            self._trainable = trainable
        # Keras' loop calls the attribute; what it finds there it does not compile again.
        setattr(self.model, f"{name}_function", run)

    def _train(
        self, state: tuple[None, ...], iterator: engine.StepIterator | _epochs.NoSteps
    ) -> tuple[Any, tuple[None, ...]]:
        # An epoch whose steps were all done before the interruption: only its logs are reported.
        if isinstance(iterator, _epochs.NoSteps):
            return iterator.logs or self._results(), state
        return self._loops["train"].dispatch(iterator), state

    def _test(self, state: tuple[None, ...], iterator: engine.StepIterator) -> tuple[Any, tuple[None, ...]]:
        return self._loops["test"].dispatch(iterator), state

    def _predict(
        self, state: tuple[None, ...], iterator: engine.StepIterator
    ) -> tuple[Any, tuple[None, ...]]:
        return self._loops["predict"].dispatch(iterator), state

    def _make_loop(self, name: str) -> engine.StepLoop:
        return engine.StepLoop(self.strategy, self._program(name))

    def refuse_exhausted(self, error: jax.errors.JaxRuntimeError) -> None:
        """Raise an error that names the largest variables in the place of one that says that no memory is left."""
        optimizer: keras.optimizers.Optimizer | None = self.model.optimizer
        variables = [*self.model.variables, *([] if optimizer is None else optimizer.variables)]
        storage.refuse_exhausted(error, strategies.list_places(variables, self.strategy))

    def _find_scheduled(self) -> ScheduledSteps | None:
        """Return what has workers run training steps, where they do and have begun to."""
        loop = self._loops.get("train")
        return loop.program if loop and isinstance(loop.program, ScheduledSteps) else None

    def cancel(self) -> None:
        """Give up steps that workers have not run yet."""
        scheduled = self._find_scheduled()
        if scheduled is not None:
            scheduled.cancel()

    def _program(self, name: str) -> Callable[[int, Any], Any]:
        function = f"{name}_function"
        if name == "predict":
            return engine.StepProgram.of_examples(
                self.strategy,
                self._with_text(_steps.predict_step(self.model), gives_text=True),
                name=function,
            )
        step = self._with_text((_steps.train_step if name == "train" else _steps.test_step)(self.model))
        program = engine.StepProgram.of_updates(self.strategy, step, self._results, name=function)
        workers = workers_of(self.strategy.extended.execution) if name == "train" else None
        return program if workers is None else workers.program_of(program)

    def _with_text(self, step: Callable[[Any], Any], *, gives_text: bool = False) -> Callable[[Any], Any]:
        """Return a step that gives the model symbols in the place of text."""
        return step if self._text is None else self._text.in_step(step, gives_text=gives_text)

    def _prepare(self, x: PyTree) -> tuple[PyTree, Any]:
        """Return an input, and what the host computes of its text; None where there is none."""
        if not _text.takes_text(self.model, x):
            self._is_numeric = seam.functional_of(self.model) is not None
            return x, None
        from stratax.keras import _model_text

        if self._text is None:
            # What was traced before knows of no text, and of nothing that layers learn later.
            self._text = _model_text.TextOfModel(self.model, self.strategy, self._loops.clear)
        return self._text.prepare(x)  # type: ignore[no-any-return]

    def _results(self) -> dict[str, Any]:
        return dict(self.model.get_metrics_result())

    def step_program(self, name: str) -> Callable[[int, Any], Any]:
        """Return what runs the steps of a loop: ``"train"``, ``"test"`` or ``"predict"``."""
        return self._loops[name].program

    # What users call.

    def fit(
        self,
        x: PyTree = None,
        y: PyTree = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: object = "auto",
        callbacks: object = None,
        validation_split: float = 0.0,
        validation_data: object = None,
        shuffle: bool = True,
        class_weight: object = None,
        sample_weight: PyTree = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: object = 1,
    ) -> keras.callbacks.History:
        """See `keras.Model.fit`. `x` may also be a `stratax.data.Dataset` or a `DistributedDataset`."""
        self.model._assert_compile_called("fit")
        _check_batch_size(batch_size)
        # As Keras does: the last part, before anything is shuffled.
        if validation_split and validation_data is None:
            split = seam.array_slicing.train_validation_split
            if _text.takes_text(self.model, x):
                from stratax.keras._model_text import split
            (x, y, sample_weight), validation_data = split(
                (x, y, sample_weight), validation_split=validation_split
            )
        verbose = self._choose_verbosity(verbose)
        if isinstance(x, DatasetCreator) and steps_per_epoch:
            workers = workers_of(self.strategy.extended.execution)
            x = x if workers is None else workers.input_of(self._prepare(x)[0], class_weight)
        steps = self._adapter(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight)
        # Before anything is read: an initial epoch above 0 skips passes.
        steps.begin_training(steps.number_passes(self.model), initial_epoch, steps_per_epoch)
        # The input is closed even if building the model fails.
        with steps, _Computing(self, steps):
            validation: Any = None
            if validation_data is not None:
                val_x, val_y, val_weight = seam.data_adapter_utils.unpack_x_y_sample_weight(validation_data)
                validation = self._adapter(
                    val_x,
                    val_y,
                    val_weight,
                    validation_batch_size or batch_size,
                    validation_steps,
                    False,
                    None,
                )
            if verbose and self.strategy.num_replicas_in_sync > 1:
                plan = engine.describe(
                    self.strategy,
                    batch_size=steps.global_batch_size(),
                    last_batch_size=steps.last_batch_size(),
                    steps_per_epoch=steps_per_epoch or steps.num_batches,
                    steps_per_dispatch=self.model.steps_per_execution,
                )
                seam.print_msg(plan)
            made = _callback_list.callback_list(
                callbacks,
                model=self.model,
                strategy=self.strategy,
                is_training=True,
                add_history=True,
                add_progbar=verbose != 0,
                verbose=verbose,
                epochs=epochs,
                steps=steps_per_epoch or steps.num_batches,
            )
            # Only for the call: the callbacks are the user's objects.
            with _writers.following_strategy(made, self.model, self.strategy, steps):
                history = _KERAS["fit"](
                    self.model,
                    steps,
                    epochs=epochs,
                    verbose=verbose,
                    callbacks=made,
                    validation_data=validation,
                    initial_epoch=initial_epoch,
                    steps_per_epoch=steps_per_epoch,
                    validation_steps=validation_steps,
                    validation_freq=validation_freq,
                )
        # Beside Keras' own fields, for who tunes a pipeline.
        history.input_wait = steps.wait_share()
        steps.warn_if_waiting(history.input_wait)
        return history

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """See `keras.Model.evaluate`. Every example counts exactly once, whatever the batches and replicas."""
        self.model._assert_compile_called("evaluate")
        _check_batch_size(batch_size)
        # Keras' `fit` evaluates with the adapter that it has got.
        cached = kwargs.get("_use_cached_eval_dataset", False)
        adapter = x if cached else self._adapter(x, y, sample_weight, batch_size, steps, False, None)
        verbose = self._choose_verbosity(verbose)
        with _Computing(self, adapter), self.strategy.extended.membership.phase("evaluating"):
            return _KERAS["evaluate"](
                self.model,
                adapter,
                verbose=verbose,
                steps=steps,
                callbacks=self._callbacks(callbacks, verbose, steps or adapter.num_batches),
                return_dict=return_dict,
                **kwargs,
            )

    def predict(
        self,
        x: PyTree,
        batch_size: int | None = None,
        verbose: object = "auto",
        steps: int | None = None,
        callbacks: object = None,
    ) -> Any:
        """See `keras.Model.predict`. One row for every example, in the order of the input.

        The first few batches are computed by a program that is compiled sooner, whose last bits may be others.
        """
        _check_batch_size(batch_size)
        adapter = self._adapter(x, None, None, batch_size, steps, False, None)
        verbose = self._choose_verbosity(verbose)
        with _Computing(self, adapter, predicting=True):
            self._expect_predictions(adapter.num_batches if steps is None else steps)
            predicted = _KERAS["predict"](
                self.model,
                adapter,
                verbose=verbose,
                steps=steps,
                callbacks=self._callbacks(callbacks, verbose, steps or adapter.num_batches),
            )
        return predicted if self._text is None else self._text.results(predicted)

    def train_on_batch(
        self,
        x: PyTree,
        y: PyTree = None,
        sample_weight: PyTree = None,
        class_weight: object = None,
        return_dict: bool = False,
    ) -> Any:
        """See `keras.Model.train_on_batch`. The batch is the global one."""
        self.model._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise errors.BadArgumentError(
                    "sample_weight and class_weight can't be given together. Received: "
                    f"sample_weight={shown(sample_weight)}, class_weight={shown(class_weight)}."
                )
            sample_weight = seam.data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        logs = self._on_batch("train", _pack(x, y, sample_weight), reset=True)
        return logs if return_dict else self.model._flatten_metrics_in_order(logs)

    def test_on_batch(
        self, x: PyTree, y: PyTree = None, sample_weight: PyTree = None, return_dict: bool = False
    ) -> Any:
        """See `keras.Model.test_on_batch`."""
        self.model._assert_compile_called("test_on_batch")
        logs = self._on_batch("test", _pack(x, y, sample_weight), reset=True)
        return logs if return_dict else self.model._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x: PyTree) -> Any:
        """See `keras.Model.predict_on_batch`."""
        outputs = jax.tree.map(np.asarray, self._on_batch("predict", (x,), reset=False))
        return outputs if self._text is None else self._text.results(outputs)

    def _expect_predictions(self, steps: int | None) -> None:
        self.make_predict_function()
        program = self._loops["predict"].program
        # Programs of several workers have to be the same, and what one of them expects is its own.
        if isinstance(program, engine.StepProgram):
            is_in_step = isinstance(self.strategy.extended.membership, InStep)
            program.expect(None if is_in_step else steps)

    def _callbacks(self, callbacks: object, verbose: object, steps: int | None) -> Any:
        """Return the callbacks of `evaluate` and `predict`: Keras' own, unless several workers stop together."""
        # Only then may a callback's wish to stop not take effect at once.
        is_agreed_on = isinstance(self.strategy.extended.membership, InStep)
        if not is_agreed_on or isinstance(callbacks, keras.callbacks.CallbackList):
            return callbacks
        return _callback_list.callback_list(
            callbacks,
            model=self.model,
            strategy=self.strategy,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=1,
            steps=steps,
        )

    def _choose_verbosity(self, verbose: object) -> Any:
        """Return how much to show: with `"auto"`, one worker of several shows the progress of all."""
        return 0 if verbose == "auto" and not self.strategy.extended.membership.is_chief else verbose

    def _on_batch(self, name: str, batch: Any, *, reset: bool) -> Any:
        x, *others = batch
        x, preparation = self._prepare(x)
        adapter = _epochs.StepAdapter.of_iterable([(x, *others)], self.strategy, preparation)
        with adapter, _Computing(self, adapter, predicting=name == "predict"):
            if name == "predict":
                self._expect_predictions(1)
            getattr(self.model, f"make_{name}_function")()
            if reset:
                # As Keras does: the logs of a single batch are of that batch alone.
                self.model.reset_metrics()
            iterator = adapter.open()
            # Finds the step that `dispatch` takes.
            iterator.available(1)
            result = self._loops[name].dispatch(iterator)
        return result if name == "predict" else _logs.pythonify_logs(result)

    # Around all of them.

    def _adapter(
        self,
        x: PyTree,
        y: PyTree,
        sample_weight: PyTree,
        batch_size: int | None,
        steps: int | None,
        shuffle: bool,
        class_weight: object,
    ) -> "_epochs.StepAdapter":
        is_ready = self._is_numeric or isinstance(x, _epochs.StepAdapter)
        x, preparation = (x, None) if is_ready else self._prepare(x)
        return _epochs.StepAdapter.of_input(
            self.strategy,
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps=steps,
            shuffle=shuffle,
            class_weight=class_weight,
            preparation=preparation,
        )

    def build(self, adapter: Any, *, predicting: bool) -> None:
        """Create what is not created yet (layers, metrics) for batches.

        Args:
            adapter: Says how many batches there are, `num_batches`, and gives one that shows their shapes, `example()`.
            predicting: Whether only layers are needed.
        """
        model = self.model
        if adapter.num_batches == 0:
            adapter.example()  # Raises: Keras would fail later, and not say why.
        # Variables that layers create now belong to the strategy.
        with enter_contexts(self.strategy, None):
            # `predict` needs the layers only, and their variables' shapes are found without computing.
            if predicting and not all(layer.built for layer in model._flatten_layers()):
                x, _, _ = seam.data_adapter_utils.unpack_x_y_sample_weight(
                    self._seen_by_layers(adapter.example())
                )
                seam.compute_output_spec(model, jax.tree.map(_symbol, x), training=False)
            elif not predicting and _steps.builds_model(model):
                pass
            elif not predicting and self._is_unbuilt():
                self._build_with(self._seen_by_layers(adapter.example()))
            # Its slots have to exist before the step is traced, so that a backup can restore them.
            elif not predicting and not model.optimizer.built:
                model.optimizer.build(model.trainable_variables)
            if not predicting and model.optimizer is not None and model.optimizer.built:
                # Whether or not it was built here: a loaded optimizer lacks the variable.
                keras_hooks.prepare(model.optimizer)
        self.own_variables()

    def _seen_by_layers(self, batch: PyTree) -> Any:
        """Return a replica's part of a batch, where it divides, as layers see it: some have a state for its rows."""
        count = self.strategy.num_replicas_in_sync
        leaves, treedef = jax.tree.flatten(batch)
        leaves = [_with_dtype_of_device(leaf) for leaf in leaves]
        # A model may be made for all rows of the batch.
        is_whole = leaves and any(
            each.shape[0] == leaves[0].shape[0] for each in getattr(self.model, "inputs", None) or ()
        )
        if count > 1 and not is_whole and all(_divides(leaf, count) for leaf in leaves):
            leaves = [
                jax.ShapeDtypeStruct((leaf.shape[0] // count, *leaf.shape[1:]), leaf.dtype) for leaf in leaves
            ]
        part = jax.tree.unflatten(treedef, leaves)
        return part if self._text is None else self._text.symbolic(part)

    def _build_with(self, batch: PyTree) -> None:
        try:
            _KERAS_BUILD(self.model, data_batch=batch)
        except Exception:
            # A step of the model's own may mean something else by a batch than (x, y, sample_weight), such as the
            # three images of a triplet. TensorFlow's Keras calls nothing but that step.
            if not _steps.trains_by_itself(self.model):
                raise
            layers = self.model._flatten_layers(include_self=False)
            if not self.model.optimizer.built and all(layer.built for layer in layers):
                self.model.optimizer.build(self.model.trainable_variables)

    def _is_unbuilt(self) -> bool:
        """Return whether Keras would look at a batch to build the model; see `Trainer._symbolic_build` there."""
        parts = (self.model._compile_metrics, self.model._compile_loss)
        unbuilt = any(part is not None and not part.built for part in parts)
        return unbuilt or not all(layer.built for layer in self.model._flatten_layers())

    def own_variables(self) -> None:
        """Note that the model's variables belong to the strategy."""
        optimizer = getattr(self.model, "optimizer", None)  # Only a compiled model has the attribute.
        variables = [*self.model.variables, *(optimizer.variables if optimizer is not None else ())]
        strategies.own(variables, self.strategy)


def _with_dtype_of_device(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    """Return what a device has of it: where Keras builds a model, JAX 0.11 warns of others. Text stays as it is."""
    if leaf.dtype.kind not in "iufc":
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))


class _Loops(dict[str, engine.StepLoop]):
    """The loops that Keras' loops take their blocks through, by their kind; each is made when it is first used.

    They are kept, as their programs keep what was compiled.

    Args:
        make: Makes the loop of a kind.
    """

    def __init__(self, make: Callable[[str], engine.StepLoop]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> engine.StepLoop:
        loop = self[name] = self._make(name)
        return loop


class _Computing:
    """The time of a call of `fit`, `evaluate` or `predict`: the model is built, Keras sees no distribution."""

    def __init__(self, trainer: Trainer, adapter: "_epochs.StepAdapter", *, predicting: bool = False) -> None:
        self._trainer = trainer
        self._adapter = adapter
        self._predicting = predicting
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> None:
        strategy = self._trainer.strategy
        if has_strategy() and get_strategy() is not strategy:
            raise errors.StrategyError(
                "A model that was compiled in the scope of one strategy was used in the scope of another. Received: a "
                f"model of {shown(strategy)} in the scope of {shown(get_strategy())}. Build and "
                "compile it there, or "
                "leave that scope."
            )
        # Undone also if building fails.
        with contextlib.ExitStack() as stack:
            stack.enter_context(seam.without_distribution())
            self._trainer.build(self._adapter, predicting=self._predicting)
            self._undo = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: types.TracebackType | None
    ) -> None:
        self._undo.close()
        if kind is not None:
            self._trainer.cancel()
        # A model without `call` has created its variables in its first step.
        self._trainer.own_variables()
        if isinstance(error, jax.errors.JaxRuntimeError):
            # Some devices compute behind the call that dispatches a step, and say here that they could not.
            self._trainer.refuse_exhausted(error)


def _pack(x: PyTree, y: PyTree, sample_weight: PyTree) -> Any:
    """Return a batch without what was not given, as datasets have it: a model's own step may unpack `x, y = data`."""
    return seam.data_adapter_utils.pack_x_y_sample_weight(x, y, sample_weight)


def _symbol(value: Any) -> keras.KerasTensor:
    return keras.KerasTensor(value.shape, keras.backend.standardize_dtype(value.dtype))


def _divides(leaf: Any, count: int) -> bool:
    """Return whether an array of numbers has rows that divide."""
    shape: Any = getattr(leaf, "shape", None)
    if not shape or not isinstance(shape[0], int) or np.dtype(leaf.dtype).kind not in "biufcV":
        return False
    return shape[0] > 0 and shape[0] % count == 0


def _check_batch_size(batch_size: object) -> None:
    if batch_size is not None and (
        isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer))
    ):
        raise errors.BadTypeError(f"batch_size must be an int. Received: batch_size={shown(batch_size)}.")
    if batch_size is not None and batch_size < 1:
        raise errors.BadArgumentError(
            "batch_size must be at least 1; it is the size of the global batch. Received: "
            f"batch_size={shown(batch_size)}."
        )
