"""`Checkpoint`: saving and restoring the state of a program (checkpoint layer)."""

import dataclasses
import functools
import os
import pathlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import (
    _array_trees,
    _folder,
    _graph,
    _random_state,
    _restoration,
    _snapshot,
    _store,
    _together,
    _writer,
)
from stratax.checkpoint._options import CheckpointOptions as CheckpointOptions
from stratax.checkpoint._options import num_arguments
from stratax.checkpoint._status import CheckpointLoadStatus
from stratax.cluster import phase
from stratax.core import Variable, host, regions
from stratax.io import unfinished

# Read, never changed nor handed out.
_NO_OPTIONS = CheckpointOptions()


@dataclasses.dataclass(slots=True)
class _Own:
    """What a checkpoint keeps beside the attributes that it saves."""

    root: Any
    tracked: dict[str, Any] = dataclasses.field(default_factory=dict)
    write: unfinished.Write | None = None
    restoration: _restoration.Restoration | None = None
    counter: Variable | None = None


class Checkpoint(_graph.Trackable):
    """Saves and restores the state of a program: variables, the position of its input, and random states.

    Follows `tf.train.Checkpoint`. What is saved is found by its place below the checkpoint (attribute names, positions
    of layers, an optimizer's slots by the variable that they are for), never by names that Keras makes up, so it is
    restored into objects that were built anew. The arrays are whole ones: a checkpoint is restored under any strategy,
    on any number of devices and processes, or read as NumPy arrays (:func:`load_checkpoint`).

    A checkpoint is a folder, there whole or not at all. The values are copied to the host, and written while the
    program goes on; an error in that is raised at the next call, or at the end of the program. In a cluster all tasks
    call every method together; the chief writes, to a file system that all see.

    Args:
        root: A Keras object (or a Checkpoint) whose parts are saved as if they were attributes of this checkpoint.
        **kwargs: What is saved, by name: Keras models, layers, metrics, optimizers and seed generators, variables,
            iterators of Datasets and distributed datasets, checkpoints, and lists and dicts of them. They become
            attributes; further attributes may be set later. A compiled model has its optimizer with it. Trees of arrays
            (parameters of Flax NNX, states of Optax), too: set the attribute to the newest ones before a save, and take
            it behind a restore, which puts values where those of the attribute lie. Numbers, text and functions in
            them are not saved.

    Raises:
        BadTypeError: On the first use, if something can't be saved; at once for an array of NumPy in a tree.

    Example:
        >>> import stratax as sx, tempfile
        >>> step = sx.Variable(3)
        >>> checkpoint = sx.train.Checkpoint(step=step)
        >>> path = checkpoint.save(tempfile.mkdtemp() + "/ckpt")
        >>> _ = step.assign(9)
        >>> checkpoint.restore(path).assert_consumed() is not None
        True
        >>> int(step)
        3
    """

    _own: _Own

    def __init__(self, root: object = None, **kwargs: object) -> None:
        # Past `__setattr__`, which takes every attribute for something to save.
        object.__setattr__(self, "_own", _Own(root))
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") or name == "save_counter":
            raise errors.BadArgumentError(
                "Names that begin with an underscore, and save_counter, are the checkpoint's own. "
                f"Received: {name}={shown(value)}. Choose another name."
            )
        if callable(getattr(type(self), name, None)):
            raise errors.BadArgumentError(
                f"{shown(name)} is a method of Checkpoint. Received: {name}={shown(value)}. Choose another name."
            )
        tree = _array_trees.find_tree(value)
        self._own.tracked[name] = value if tree is None else tree
        self.__dict__.pop(name, None)
        if tree is None:
            # The plain value, where Keras objects would wrap lists and dicts.
            self.__dict__[name] = value
        # A restored value may have waited for this very attribute.
        host.settle()

    def __getattr__(self, name: str) -> Any:
        # Arrays do not change: what was restored is a new tree.
        own: _Own | None = self.__dict__.get("_own")
        tree = None if own is None else own.tracked.get(name)
        if isinstance(tree, _array_trees.ArrayTree):
            return tree.tree
        raise AttributeError(
            f"{shown(type(self).__name__)} object has no attribute {shown(name)}", name=name, obj=self
        )

    def __delattr__(self, name: str) -> None:
        if not isinstance(self._own.tracked.get(name), _array_trees.ArrayTree):
            super().__delattr__(name)
        self._own.tracked.pop(name, None)

    @property
    def save_counter(self) -> Variable:
        """How many checkpoints `save` has written; a variable of dtype int32, restored with the others."""
        if self._own.counter is None:
            # Its first use may be while a function is traced.
            with regions.outside_scopes():
                self._own.counter = Variable(0, trainable=False, name="save_counter", dtype="int32")
        return self._own.counter

    def track_own(self, name: str, variable: Variable) -> None:
        """Save one more variable, which a checkpoint of a program without it need not have.

        Args:
            name: One of `OPTIONAL`.
            variable: The variable.
        """
        self._own.tracked[name] = variable

    def merged(self) -> Any:
        return self._own.root

    def children(self) -> Mapping[str, Any]:
        """Return what is saved, by name."""
        counter = {} if self._own.counter is None else {"save_counter": self._own.counter}
        return {**self._own.tracked, **counter}

    def write(
        self,
        file_prefix: str | os.PathLike,
        options: CheckpointOptions | None = None,
        *,
        then: Callable[[], None] | None = None,
    ) -> str:
        """Write a checkpoint, in the place of one that is there.

        Args:
            file_prefix: Its path. Unlike in TensorFlow it is that of a folder.
            options: See `CheckpointOptions`.
            then: What to do in the chief when the checkpoint is whole, in the thread that writes it.

        Returns:
            The path, for :meth:`read` and :meth:`restore`.

        Raises:
            TracingError: If it is called in a compiled function.
            BadTypeError: If something below this object can't be saved.
            CheckpointError: If the files of this checkpoint (or, written behind the program's back, of the one before)
                could not be written, or the tasks of a cluster save different things.
            ClusterTimeoutError: If not all tasks of the cluster save; the missing ones are named.
        """
        return self._write(file_prefix, _check(options), then)

    def save(self, file_prefix: str | os.PathLike, options: CheckpointOptions | None = None) -> str:
        """Write a numbered checkpoint: ``prefix-1``, ``prefix-2`` and so on.

        Args:
            file_prefix: The path, without the number.
            options: See `CheckpointOptions`.

        Returns:
            The path, for :meth:`restore`.

        Raises:
            TracingError: As :meth:`write`.
            BadTypeError: As :meth:`write`.
            CheckpointError: As :meth:`write`.
            ClusterTimeoutError: As :meth:`write`.
        """
        return self.save_numbered(file_prefix, options)

    def save_numbered(
        self,
        file_prefix: str | os.PathLike,
        options: CheckpointOptions | None = None,
        then: Callable[[], None] | None = None,
        number: int | None = None,
    ) -> str:
        """Do what :meth:`save` does, and something after it.

        Args:
            file_prefix: The path, without the number.
            options: See `CheckpointOptions`.
            then: What to do in the chief when the checkpoint is whole, in the thread that writes it.
            number: The number; None for what `save_counter` counts.
        """
        checked = _check(options)
        # Checked before the counter moves.
        _folder.locate(file_prefix)
        # The counter must not move while an earlier write may still fail.
        self.sync()
        count = int(self.save_counter) + 1
        self.save_counter.assign(count)
        try:
            return self._write(
                f"{os.fspath(file_prefix)}-{count if number is None else number}", checked, then
            )
        except BaseException:
            # So that the next attempt has the same number.
            self.save_counter.assign(count - 1)
            raise

    def read(
        self, save_path: str | os.PathLike, options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Restore what :meth:`write` has written; the same as :meth:`restore`."""
        return self.restore(save_path, options)

    def restore(
        self, save_path: str | os.PathLike | None, options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Give everything below this object the values of a checkpoint, all of it or nothing.

        Values of variables that do not exist yet (layers that build themselves when they are called, the slots of an
        optimizer, attributes that are set later) are kept, and given when the variables exist, before they are used.

        Args:
            save_path: What :meth:`save`, :meth:`write` or :func:`latest_checkpoint` returned. None does nothing, as
                there is no checkpoint yet.
            options: See `CheckpointOptions`.

        Returns:
            A status, which can check that everything was restored.

        Raises:
            TracingError: If it is called in a compiled function.
            RestoreError: If a variable has no value in the checkpoint, a value is of a built layer that has no such
                variable, or shapes or dtypes differ. TensorFlow leaves such variables as they are and says nothing.
            FileMissingError: If there is no such checkpoint.
            DataLossError: If it is damaged.
            DataError: If input can't go to its saved position.
            ClusterTimeoutError: If not all tasks of the cluster restore; the missing ones are named.
        """
        checked = _check(options)
        if save_path is None:
            return CheckpointLoadStatus(None)
        path = _folder.absolute(save_path)
        self.sync()
        with phase("saving"):
            return self._restore(path, checked)

    def sync(self) -> None:
        """Wait until the last checkpoint is written.

        Raises:
            CheckpointError: If it could not be written.
            PeerLostError: If another task of the cluster was lost meanwhile.
        """
        _check(None)
        if self._own.write is None:
            return
        with phase("saving"):
            # Forgotten even when it failed: the error is raised once.
            error = self._own.write.finish()
            self._own.write = None
        if error is not None:
            raise error

    def _write(
        self,
        file_prefix: str | os.PathLike,
        options: CheckpointOptions,
        then: Callable[[], None] | None,
    ) -> str:
        path = _folder.absolute(file_prefix)
        self.sync()
        with phase("saving"):
            # Found anew for each checkpoint, since objects grow: layers and slots are built late.
            graph = _graph.find(self)
            # Initialises variables without a value, and so comes before the tasks compare what they save.
            values = _snapshot.values(graph)
            destination = self._agree_where(path, graph, options)
            shared = _snapshot.find_shared(values)
            contents = self._contents(graph, values, shared, options)
            together = _together.PartsOfAll(destination.token) if shared else None
            work = None if contents is None else _writing(path, contents, then, together)
            # From here on the values are copies: the program may go on.
            self._own.write = _writer.begin(destination, work, _callbacks(options, os.fspath(file_prefix)))
            _writer.make_own_folder(destination)
        if not options.enable_async:
            self.sync()
        return os.fspath(file_prefix)

    def _agree_where(
        self, path: pathlib.Path, graph: _graph.ObjectGraph, options: CheckpointOptions
    ) -> _writer.Destination:
        """Check that all tasks save the same; say where each does."""
        # Resolved: two names of one folder are one path.
        own = [os.path.realpath(path), _snapshot.signature(graph), secrets.token_hex(8)]
        paths, signatures, tokens = zip(
            *_together.exchange("save", own, options.timeout_seconds), strict=True
        )
        _together.check_alike("save", "variables", signatures)
        return _writer.Destination(paths=paths, token=tokens[0])

    def _contents(
        self,
        graph: _graph.ObjectGraph,
        values: dict[str, jax.Array],
        shared: set[str],
        options: CheckpointOptions,
    ) -> _store.Contents | None:
        """Collect this task's contents, for the chief with the positions of input and random generators of all tasks.

        The chief's are all values; the others' are those in `shared`, of which each task has parts. None for nothing.
        """

        def states() -> Any:
            # Other values are the same in all tasks, and the chief's are saved.
            own = values if _together.process_index() == 0 else {key: values[key] for key in sorted(shared)}
            if own or _together.process_index() == 0:
                copies.append(_snapshot.take(graph, own))
            return [
                _snapshot.positions(graph),
                _random_state.random_state() if options.random_state else None,
            ]

        copies: list[_store.Contents] = []
        # Made inside of the exchange: a task whose position can't be saved tells the others.
        found = _together.exchange_made("save/states", states, options.timeout_seconds)
        inputs = {
            key_path: _together.one_or_all([each[key_path] for each, _ in found]) for key_path in graph.inputs
        }
        random = _together.one_or_all([each for _, each in found]) if options.random_state else None
        return dataclasses.replace(copies[0], inputs=inputs, random=random) if copies else None

    def _restore(self, path: pathlib.Path, options: CheckpointOptions) -> CheckpointLoadStatus:
        # Its error is raised behind the agreement: the other tasks would wait there for this one.
        unread = _writer.wait_for(path)
        _together.agree("restore", str(path), options.timeout_seconds)
        error: BaseException | None = None
        try:
            if unread is not None:
                raise unread
            restoration = self._start(path, options)
        except Exception as failure:  # Whatever it is, the others must not wait for this task.
            error = failure
        # Restored in all tasks or in none: they would go on from different states.
        error = _together.share_failure(_together.RESTORED, error, _together.step_timeout())
        if error is not None:
            raise error
        self._own.restoration = restoration
        return CheckpointLoadStatus(restoration)

    def _start(self, path: pathlib.Path, options: CheckpointOptions) -> _restoration.Restoration:
        restoration = self._read(path, options)
        if self._own.restoration is not None:
            # What the earlier checkpoint kept for later variables is out of date.
            self._own.restoration.forget()
        if options.expect_partial:
            restoration.expect_partial()
        if options.random_state and restoration.random is not None:
            # Of another number of processes, all take the chief's.
            _random_state.set_random_state(_together.own(restoration.random) or restoration.random[0])
        return restoration

    def _read(
        self, path: pathlib.Path, options: CheckpointOptions, attempts: int = 3
    ) -> _restoration.Restoration:
        """Give the values of a checkpoint; of the next one where another process puts that in its place meanwhile."""
        index = _store.read_index(path)
        if "save_counter" in index.shapes:
            # Made now, so that it takes its value with the others.
            _ = self.save_counter  # It is there from now on.
        slots = not options.experimental_skip_slot_variables
        restoration = _restoration.Restoration(self, index, slots=slots)
        try:
            restoration.start(partial=options.expect_partial)
        except _store.CheckpointReplacedError as error:
            if attempts == 1:
                raise errors.FileMissingError(str(error)) from error
            return self._read(path, options, attempts - 1)
        return restoration


def _writing(
    path: pathlib.Path,
    contents: _store.Contents,
    then: Callable[[], None] | None,
    together: _together.PartsOfAll | None,
) -> Callable[[], None]:
    """Make a writer that writes a checkpoint in a thread; a task that is not the chief writes its parts."""

    def work() -> None:
        if together is None:
            _store.write(path, contents)
        elif _together.process_index() == 0:
            _store.write(path, contents, together)
        else:
            _store.write_parts(contents.arrays, together)
            return
        if then is not None:
            then()

    return work


def _callbacks(options: CheckpointOptions, path: str) -> list[Callable[[], object]]:
    return [
        functools.partial(callback, path) if num_arguments(callback) else callback
        for callback in options.experimental_write_callbacks or ()
    ]


def _check(options: object) -> CheckpointOptions:
    """Return the options of a call; refuse the call while a function is compiled."""
    if regions.current_region() is not None:
        raise errors.TracingError(
            "A checkpoint can't be saved or restored in a compiled function: that would happen once, when the function "
            "is compiled. Expected: a call from Python. Received: a call in a stratax.function, or in what a strategy "
            "runs. Call it after the function."
        )
    if options is None:
        return _NO_OPTIONS
    if not isinstance(options, CheckpointOptions):
        raise errors.BadTypeError(
            f"options must be a stratax.train.CheckpointOptions. Received: options={shown(options)}."
        )
    return options
