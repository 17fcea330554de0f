"""`tf.compat.v1.train.Saver`: variables saved and restored by name (v1 layer)."""

import abc
import dataclasses
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import Checkpoint, CheckpointManager, load_checkpoint
from stratax.checkpoint.named import NamedVariables
from stratax.tensorflow.checkpoints.values import NamedValues
from stratax.tensorflow.checkpoints.writing import remove_bundle, write_bundle, write_state
from stratax.tensorflow.v1._current import current_or_none

Variables = Mapping[str, keras.Variable] | Iterable[keras.Variable]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SaverDef:
    """What a `Saver` keeps, as TensorFlow's message of that name; it names no operation of a graph.

    Attributes:
        max_to_keep: How many checkpoints are kept; 0 for all.
        keep_checkpoint_every_n_hours: One checkpoint in so many hours is kept for good.
        sharded: What the Saver was given.
    """

    max_to_keep: int
    keep_checkpoint_every_n_hours: float
    sharded: bool


class HoldsValues(abc.ABC):
    """A session, in which variables have values."""

    @abc.abstractmethod
    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Return the values of fetches, as `tf.Session.run`."""

    @abc.abstractmethod
    def holding(self, variables: Iterable[keras.Variable]) -> AbstractContextManager[None]:
        """Have variables have their values of this session in a block, which gives them values.

        Args:
            variables: Those that have a value behind the block.
        """


class Saver:
    """Saves variables by name and restores them, as `tf.compat.v1.train.Saver`.

    As the `saver` of a `Scaffold` it says which variables the Estimator's checkpoints hold, under which names, and how
    many are kept. A function of a `Scaffold` or a hook may also call it itself; all workers call it alike then.

    Args:
        var_list: The variables, or a dict of them by the names that they have in checkpoints; None for all variables of
            the `model_fn` that it is made in, those that are made later too.
        reshape: Whether a value of another shape with as many elements is restored.
        sharded: Stands in `saver_def` alone: the chief writes.
        max_to_keep: How many checkpoints are kept; None or 0 for all.
        keep_checkpoint_every_n_hours: One checkpoint in so many hours is kept for good.
        name: Ignored.
        restore_sequentially: Ignored.
        saver_def: Must be None.
        builder: Must be None.
        defer_build: Whether `saver_def` is None until `build` is called.
        allow_empty: Whether there may be no variables.
        write_version: Ignored: checkpoints are written as Stratax does.
        pad_step_number: Ignored.
        save_relative_paths: Ignored.
        filename: Ignored.

    Attributes:
        max_to_keep: How many checkpoints are kept; None for all.
        keep_checkpoint_every_n_hours: See there.
        reshape: See there.

    Raises:
        BadArgumentError: If two variables have one name, or there are none.
        BadTypeError: If something in `var_list` is no variable.
        ModelScopeError: If it is made outside of a `model_fn` without `var_list`.
    """

    def __init__(
        self,
        var_list: Variables | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: None = None,
        builder: None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: object = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if saver_def is not None or builder is not None:
            raise errors.BadArgumentError(
                "A Saver has no graph. Expected: saver_def=None, builder=None. Received: "
                f"saver_def={shown(saver_def)}, builder={shown(builder)}. Pass var_list."
            )
        scope = current_or_none()
        if var_list is None and scope is None:
            raise errors.ModelScopeError(
                "A Saver of all variables is made in a model_fn. Received: var_list=None outside of one. Pass the "
                "variables."
            )
        # 0 and None keep all.
        self.max_to_keep = max_to_keep or None
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.reshape = reshape
        self._sharded = sharded
        self._is_built = not defer_build
        # The model's variables, with those that are made later.
        self._state = None if scope is None else scope.state
        self._given = None if var_list is None else by_name(var_list)
        if self._given is not None and not self._given and not allow_empty:
            raise errors.BadArgumentError("No variables to save. Received: var_list without any.")
        self._manager: CheckpointManager | None = None
        # What was saved of sessions.
        self._paths: list[str] = []

    @property
    def variables(self) -> dict[str, keras.Variable]:
        """The variables by the names that they have in checkpoints."""
        if self._given is not None:
            return dict(self._given)
        return {} if self._state is None else self._state.saved()

    @property
    def saver_def(self) -> SaverDef | None:
        """What it keeps; None before `build` where that was deferred."""
        return self.as_saver_def() if self._is_built else None

    def as_saver_def(self) -> SaverDef:
        """Return what it keeps."""
        return SaverDef(
            max_to_keep=self.max_to_keep or 0,
            keep_checkpoint_every_n_hours=self.keep_checkpoint_every_n_hours,
            sharded=self._sharded,
        )

    def build(self) -> None:
        """Have a `saver_def`; there is no graph to build."""
        self._is_built = True

    def save(
        self,
        sess: object,
        save_path: str | os.PathLike[str],
        global_step: object = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Save the variables' present values; all workers call it alike.

        Args:
            sess: The session whose values are saved, in TensorFlow's files; ignored where there is none.
            save_path: The checkpoint's path, without the step.
            global_step: The step, a number, a tensor or a variable; None for a path without one.
            latest_filename: What the file is called that names a session's checkpoints; by default `checkpoint`.
            meta_graph_suffix: Ignored.
            write_meta_graph: Ignored.
            write_state: Whether a session's checkpoint is named in that file.
            strip_default_attrs: Ignored.
            save_debug_info: Ignored.

        Returns:
            The checkpoint's path.
        """
        if isinstance(sess, HoldsValues):
            return self._save_session(sess, os.fspath(save_path), global_step, latest_filename, write_state)
        # A function: without `var_list` there may be variables that were made after the Saver.
        checkpoint = Checkpoint(NamedVariables(lambda: self.variables))
        # Without a step there is one checkpoint of the name, and nothing to keep or remove.
        if global_step is None:
            checkpoint.write(save_path)
            checkpoint.sync()
            return os.fspath(save_path)
        folder, name = os.path.split(os.path.abspath(os.fspath(save_path)))
        # Of this call: folder and name may be others than those of the last one.
        self._manager = CheckpointManager(
            checkpoint,
            folder,
            max_to_keep=self.max_to_keep,
            keep_checkpoint_every_n_hours=self.keep_checkpoint_every_n_hours,
            checkpoint_name=name,
        )
        # Where TensorFlow's `save` returns, the checkpoint is there: no write goes on behind it.
        saved = self._manager.save(checkpoint_number=int(np.asarray(global_step)))
        checkpoint.sync()
        return saved or ""

    def restore(self, sess: object, save_path: str | os.PathLike[str]) -> None:
        """Give the variables the values of a checkpoint, also of one that TensorFlow wrote.

        Args:
            sess: The session that gets the values; ignored where there is none.
            save_path: The checkpoint.

        Raises:
            RestoreError: If it lacks a value, or has another shape.
            FileMissingError: If there is none.
        """
        if save_path is None:
            raise errors.BadArgumentError("Can't load save_path when it is None. Pass a checkpoint's path.")
        values = NamedValues(load_checkpoint(save_path), save_path)
        if isinstance(sess, HoldsValues):
            with sess.holding(self.variables.values()):
                values.assign(self.variables, reshape=self.reshape)
            return
        values.assign(self.variables, reshape=self.reshape)

    def _save_session(
        self,
        session: "HoldsValues",
        save_path: str,
        global_step: Any,
        latest_filename: str | None,
        is_named: bool,
    ) -> str:
        if global_step is not None:
            is_number = isinstance(global_step, int | np.integer | np.ndarray)
            step = int(global_step if is_number else session.run(global_step))
            save_path = f"{save_path}-{step}"
        names = list(self.variables)
        write_bundle(
            save_path, dict(zip(names, session.run([self.variables[name] for name in names]), strict=True))
        )
        self._paths = [*(each for each in self._paths if each != save_path), save_path]
        while self.max_to_keep is not None and len(self._paths) > self.max_to_keep:
            remove_bundle(self._paths.pop(0))
        if is_named:
            write_state(os.path.dirname(save_path) or ".", self._paths, latest_filename)
        return save_path

    def recover_last_checkpoints(self, checkpoint_paths: Iterable[str]) -> None:
        """Count checkpoints that are there as ones that this saver has written.

        Args:
            checkpoint_paths: Their paths, oldest first.
        """
        self._paths = [path for path in checkpoint_paths if os.path.exists(f"{path}.index")]

    def set_last_checkpoints(self, last_checkpoints: Iterable[str]) -> None:
        """Count checkpoints as ones that this saver has written, as `recover_last_checkpoints`."""
        self._paths = list(last_checkpoints)

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return list(self._paths) if self._manager is None else self._manager.checkpoints


def by_name(given: Variables) -> dict[str, keras.Variable]:
    pairs = list(given.items() if isinstance(given, Mapping) else ((_path(each), each) for each in given))
    found: dict[str, keras.Variable] = {}
    for name, variable in pairs:
        if not isinstance(variable, keras.Variable):
            raise errors.BadTypeError(f"var_list must hold variables. Received: {shown(variable)}.")
        if found.setdefault(name, variable) is not variable:
            raise errors.BadArgumentError(
                f"At least two variables have the same name: {name}. Pass a dict with a name for each."
            )
    return found


def _path(variable: object) -> str:
    return variable.path if isinstance(variable, keras.Variable) else ""
