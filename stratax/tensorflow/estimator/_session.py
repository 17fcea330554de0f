"""Session hooks at the joints of the loop of steps (estimator layer)."""

import collections
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import engine, errors
from stratax.base.shown import shown
from stratax.core import storage
from stratax.engine import RunningLoop, StepProgram
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.estimator._model import FETCHED, LOSS, EstimatorModel, Key, KnownTensor
from stratax.tensorflow.estimator._results import ResultsHook
from stratax.tensorflow.estimator.hooks import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from stratax.tensorflow.v1 import Operation, entering, reading
from stratax.tensorflow.v1.train import Saver

# Each dispatch's loss is looked at when so many more are on their way: it is there by then, and nobody waits.
_DISPATCHES_BEHIND = 2
# Tensors of so many numbers stay among the results of the program once they were asked for: compiling another program
# would take longer.
_SMALL = 1024
# Likewise, in all steps of a dispatch together: what the summaries of a canned model's layers are made of.
_SMALL_TOGETHER = 1 << 16
# What hooks get that have asked for nothing.
_NOTHING = SessionRunValues(results=None, options=None, run_metadata=None, each_step=None)


class HookSession:
    """What hooks know of the training or evaluation that they hang on; what a TensorFlow session is to them.

    Attributes:
        global_step: How many steps are done.
        steps: How many steps the dispatch runs that is about to begin, or has ended.
        is_chief: Whether this process writes files.
        model_dir: The folder of the model.
    """

    def __init__(
        self,
        model: EstimatorModel,
        model_dir: str,
        is_chief: bool,
        save: Callable[[str | None], str] | None = None,
    ) -> None:
        self.global_step = 0
        self.steps = 0
        self.is_chief = is_chief
        self.model_dir = model_dir
        self._model = model
        self._save = save

    @property
    def saver(self) -> Saver | None:
        """What says which variables :meth:`save` saves; None for all."""
        return self._model.saver

    def save(self, path_prefix: str | None = None) -> str:
        """Save a checkpoint of the model and the position of its input; all workers call it at the same step.

        Args:
            path_prefix: The path before the step; None for the model's folder.

        Raises:
            ModelScopeError: If nothing is trained.
        """
        if self._save is None:
            raise errors.ModelScopeError("Checkpoints are saved in training only.")
        return self._save(path_prefix)

    def run(self, fetches: object, feed_dict: object = None) -> Any:
        """Return the present values of variables, and of tensors that depend on variables and constants alone.

        Args:
            fetches: A variable or its name, such as ``"dense/kernel:0"``, what its `assign` has just given, a tensor or
                its name, or a structure of them; operations that do nothing, such as
                `tf.global_variables_initializer()`, give None.
            feed_dict: Must be None.

        Raises:
            BadTypeError: If something else is asked for: tensors of a batch are asked for in `before_run`.
        """
        leaves, treedef = jax.tree.flatten(fetches, is_leaf=_is_fetch)
        leaves = [self._find_named(leaf) if isinstance(leaf, str) else leaf for leaf in leaves]
        if feed_dict is not None or not all(map(self._is_known, leaves)):
            raise errors.BadTypeError(
                "A hook's session gives what depends on variables alone. Expected: a variable, such a tensor, or the "
                "name of one. Tensors that depend on the batch are asked for in before_run, which returns "
                f"SessionRunArgs(fetches). Received: fetches={shown(fetches)}."
            )
        return jax.tree.unflatten(treedef, [self._present(leaf) for leaf in leaves])

    def _find_named(self, name: str) -> Any:
        """Return the variable or tensor of a name; the name itself if there is none."""
        found, scope = name.removesuffix(":0"), self._model.scope
        tensors = {} if scope is None else scope.names.tensors()
        return self._model.state.variables.get(found, tensors.get(found, name))

    def _is_known(self, leaf: object) -> bool:
        """Return whether something has a value outside of a step."""
        if isinstance(leaf, Operation):
            return leaf.does_nothing
        if isinstance(leaf, jax.core.Tracer):
            scope = self._model.scope
            return scope is not None and scope.values.is_known(leaf)
        return isinstance(leaf, jax.Array | keras.Variable | np.ndarray | np.generic)

    def _present(self, leaf: object) -> Any:
        scope = self._model.scope
        if isinstance(leaf, Operation):
            return None
        if isinstance(leaf, keras.Variable):
            (leaf,) = storage.read_all([leaf])
        return np.asarray(leaf if scope is None else scope.values.value_later(leaf))


class SessionHooks(engine.Hook):
    """Calls session hooks around each dispatch of training, and gives them what they ask for.

    Args:
        model: The model.
        hooks: The hooks, in the order in which they are called.
        session: What they get as session.
        make_program: Compiles steps that give what is asked for; by default steps of training.
    """

    def __init__(
        self,
        model: EstimatorModel,
        hooks: Sequence[SessionRunHook],
        session: HookSession,
        make_program: Callable[[frozenset[Key]], StepProgram] | None = None,
    ) -> None:
        self.session = session
        self._make_program = make_program or model.train_program
        self._model = model
        self._hooks = list(hooks)
        self._before = [hook for hook in self._hooks if _has_own(hook, "before_run")]
        self._after = [hook for hook in self._hooks if _has_own(hook, "after_run")]
        self._results = [hook for hook in self._hooks if isinstance(hook, ResultsHook)]
        # What they want of every dispatch, once the model is built.
        self._wanted: list[tuple[ResultsHook, Any, list[Key]]] | None = None
        self._programs: dict[frozenset[Key], StepProgram] = {}
        self._kept: set[Key] = set()
        self._asked: dict[int, tuple[Any, list[Key]]] = {}
        self._losses: collections.deque[tuple[int, Any]] = collections.deque()
        self._context: Any = None

    @property
    def has_hooks(self) -> bool:
        """Whether a hook is called at dispatches."""
        return bool(self._before or self._after or self._results)

    def program(self, steps: int, element: object) -> Any:
        """Run steps with the program that gives what was asked for."""
        asked = [*self._asked.values(), *((treedef, keys) for _, treedef, keys in self._wanted or ())]
        wanted = frozenset({*self._kept, *(key for _, keys in asked for key in keys if _is_computed(key))})
        program = self._programs.get(wanted)
        if program is None:
            program = self._programs[wanted] = self._make_program(wanted)
        return program(steps, element)

    def begin_hooks(self) -> None:
        """Call the hooks' `begin`, in the scope of the model that was built."""
        scope = self._model.scope
        with contextlib.nullcontext() if scope is None else entering(scope):
            for hook in self._hooks:
                hook.begin()

    def begin(self, loop: RunningLoop) -> None:
        self.session.global_step = loop.step
        with self._reading():
            for hook in self._hooks:
                if _has_own(hook, "after_create_session"):
                    hook.after_create_session(self.session, None)

    def before_dispatch(self, loop: RunningLoop, steps: int) -> None:
        self._asked.clear()
        self.session.steps = steps
        for hook, arguments in self._call_before(loop):
            _check_nothing_fed(hook, arguments)
            if arguments is not None and arguments.fetches is not None:
                self._asked[id(hook)] = self._keys_of(arguments.fetches)
        if self._wanted is None:
            self._wanted = [(hook, *self._keys_of(hook.fetches)) for hook in self._results]
        self._stop_if_asked(loop)

    def after_dispatch(self, loop: RunningLoop, steps: int, outputs: Any) -> None:
        self.session.global_step, self.session.steps = loop.step, steps
        if LOSS in outputs:
            self._losses.append((loop.step - steps, outputs[LOSS]))
        while len(self._losses) > _DISPATCHES_BEHIND:
            self._check_loss(*self._losses.popleft())
        for results, treedef, keys in self._wanted or ():
            values = jax.tree.unflatten(treedef, [_results(outputs, key, steps) for key in keys])
            results.receive(loop.step - steps, steps, values)
        for key, values in outputs[FETCHED].items():
            is_small = math.prod(values.shape[1:]) <= _SMALL or values.size <= _SMALL_TOGETHER
            if key not in self._kept and is_small:
                self._kept.add(key)
        with self._reading():
            for hook in self._after:
                hook.after_run(self._context, self._values(hook, outputs))
        self._stop_if_asked(loop)

    def end_of_pass(self, loop: RunningLoop) -> None:
        # As in TensorFlow, where the step that finds no batch begins like all others.
        self._call_before(loop)

    def _call_before(self, loop: RunningLoop) -> list[tuple[SessionRunHook, Any]]:
        """Call the hooks' `before_run`, and return what each of them asks for."""
        self.session.global_step = loop.step
        self._context = SessionRunContext(None, self.session)
        with self._reading():
            return [(hook, hook.before_run(self._context)) for hook in self._before]

    @property
    def is_stop_asked(self) -> bool:
        """Whether a hook has asked for the end."""
        return self._context is not None and self._context.stop_requested

    def check_losses(self) -> None:
        """Wait for the losses of all steps, and look at them: before a checkpoint is written, and at the end."""
        while self._losses:
            self._check_loss(*self._losses.popleft())

    def on_error(self, loop: RunningLoop, error: BaseException) -> None:
        for hook in self._results:
            hook.finish()

    def end(self, loop: RunningLoop) -> None:
        self.check_losses()
        for results in self._results:
            results.finish()
        self.session.global_step = loop.step
        with self._reading():
            for hook in self._hooks:
                if _has_own(hook, "end"):
                    hook.end(self.session)

    def _reading(self) -> contextlib.AbstractContextManager[None]:
        """Have a hook find the model's variables, as `tf.train.get_global_step` gives them."""
        return reading(self._model.scope)

    def _keys_of(self, fetches: object) -> tuple[Any, list[Key]]:
        # Names, variables and operations are no arrays, and stay whole.
        leaves, treedef = jax.tree.flatten(fetches, is_leaf=_is_fetch)
        return treedef, [self._model.key_of(leaf) for leaf in leaves]

    def _values(self, hook: object, outputs: object) -> Any:
        if id(hook) not in self._asked:
            return _NOTHING
        treedef, keys = self._asked[id(hook)]
        steps = self.session.steps
        each = [None if key[0] == "operation" else np.asarray(_results(outputs, key, steps)) for key in keys]
        last = [None if values is None else values[-1] for values in each]
        return SessionRunValues(
            results=jax.tree.map(_encode, jax.tree.unflatten(treedef, last), is_leaf=_is_summary),
            options=None,
            run_metadata=None,
            each_step=jax.tree.unflatten(treedef, each),
        )

    def _stop_if_asked(self, loop: RunningLoop) -> None:
        if self._context.stop_requested:
            loop.request_stop()

    def _check_loss(self, before: int, losses: object) -> None:
        values = np.asarray(losses)
        # First the question alone, which is asked at every dispatch.
        if np.isnan(values).any():
            wrong = np.flatnonzero(np.isnan(values))
            raise errors.NanLossDuringTrainingError(
                f"NaN loss during training, at step {before + int(wrong[0]) + 1}. The variables are spoilt since; the "
                "last checkpoint is from before it. Lower the learning rate; or look for a logarithm of 0 in the loss, "
                "for labels that are no class, and for NaN in the input."
            )


def _check_nothing_fed(hook: object, arguments: SessionRunArgs | None) -> None:
    if arguments is not None and arguments.feed_dict:
        raise errors.BadArgumentError(
            "A step is compiled with the input of input_fn, so a hook can't feed. Expected: SessionRunArgs without "
            f"feed_dict. Received: feed_dict={shown(arguments.feed_dict)} of {shown(hook)}. Have input_fn return a "
            "Dataset with these values, for example Dataset.from_generator(...) or Dataset.zip((dataset, values))."
        )


def _is_summary(value: object) -> bool:
    return isinstance(value, SummaryRecord)


def _encode(value: object) -> Any:
    """Return the bytes of a summary, which are its value in TensorFlow; everything else as it is."""
    return value.to_proto().SerializeToString() if isinstance(value, SummaryRecord) else value


def _is_computed(key: Key) -> bool:
    return not isinstance(key[1], KnownTensor)


def _results(outputs: Any, key: Key, steps: int) -> Any:
    """Return what each step gave for a key."""
    constant = key[1]
    if isinstance(constant, KnownTensor):
        return np.broadcast_to(constant.value, (steps, *constant.value.shape))
    return outputs[FETCHED][key]


def _is_fetch(leaf: object) -> bool:
    return isinstance(leaf, keras.Variable | Operation)


def _has_own(hook: object, name: str) -> bool:
    """Return whether a hook has a method that does something."""
    return getattr(type(hook), name, None) is not getattr(SessionRunHook, name)
