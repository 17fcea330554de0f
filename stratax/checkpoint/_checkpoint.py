"""`Checkpoint`: saving and restoring the state of a program (checkpoint layer)."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from stratax import errors
from stratax.checkpoint import (
    _folder,
    _graph,
    _random_state,
    _restoration,
    _snapshot,
    _store,
    _together,
    _writer,
)
from stratax.checkpoint._status import CheckpointLoadStatus
from stratax.cluster import phase
from stratax.cluster._cluster import DEFAULT_SECONDS
from stratax.core import Variable, _arrivals, _capture


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointOptions:
    """How a checkpoint is written and read, as ``tf.train.CheckpointOptions``.

    Args:
        enable_async: Whether `save` and `write` return when the values are copied to the host, and the files are
            written while the program goes on. In TensorFlow the default is False.
        random_state: Whether the state of the global random generators of Python, NumPy and Keras is part of it.
        expect_partial: Whether `restore` may leave variables without a value, and values without a variable.
        timeout_seconds: How long to wait for the other tasks of a cluster to save or restore too.
        experimental_io_device: For TensorFlow's signature; not used: the chief writes.

    Raises:
        BadArgumentError: If `timeout_seconds` is not positive.
    """

    enable_async: bool = True
    random_state: bool = True
    expect_partial: bool = False
    timeout_seconds: float = DEFAULT_SECONDS
    experimental_io_device: str | None = None

    def __post_init__(self) -> None:
        if not self.timeout_seconds > 0:
            raise errors.BadArgumentError(
                f"timeout_seconds must be positive. Received: timeout_seconds={self.timeout_seconds!r}."
            )


@dataclasses.dataclass(slots=True)
class _Own:
    """What a checkpoint keeps beside the attributes that it saves."""

    root: Any
    tracked: dict[str, Any] = dataclasses.field(default_factory=dict)
    writer: _writer.Writer = dataclasses.field(default_factory=_writer.Writer)
    is_outstanding: bool = False
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
            attributes; further attributes may be set later. A compiled model has its optimizer with it.

    Raises:
        BadTypeError: On the first use, if something can't be saved.

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

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        object.__setattr__(self, "_own", _Own(root))
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name == "save_counter":
            raise errors.BadArgumentError(
                "Names that begin with an underscore, and save_counter, are the checkpoint's own. "
                f"Received: {name}={value!r}. Choose another name."
            )
        if callable(getattr(type(self), name, None)):
            raise errors.BadArgumentError(
                f"{name!r} is a method of Checkpoint. Received: {name}={value!r}. Choose another name."
            )
        self._own.tracked[name] = value
        self.__dict__[name] = value
        _arrivals.settle()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._own.tracked.pop(name, None)

    @property
    def save_counter(self) -> Variable:
        """How many checkpoints `save` has written; a variable of dtype int32, restored with the others."""
        if self._own.counter is None:
            with _capture.outside_scopes():
                self._own.counter = Variable(0, trainable=False, name="save_counter", dtype="int32")
        return self._own.counter

    def track_own(self, name: str, variable: Variable) -> None:
        """Saves one more variable, which a checkpoint of a program without it need not have.

        Args:
            name: One of `OPTIONAL`.
            variable: The variable.
        """
        self._own.tracked[name] = variable

    def merged(self) -> Any:
        """See `Trackable`."""
        return self._own.root

    def children(self) -> Mapping[str, Any]:
        """What is saved, by name."""
        counter = {} if self._own.counter is None else {"save_counter": self._own.counter}
        return {**self._own.tracked, **counter}

    def write(
        self,
        file_prefix: str | os.PathLike,
        options: CheckpointOptions | None = None,
        *,
        then: Callable[[], None] | None = None,
    ) -> str:
        """Writes a checkpoint, in the place of one that is there.

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
        return self._write(file_prefix, _checked(options), then)

    def save(self, file_prefix: str | os.PathLike, options: CheckpointOptions | None = None) -> str:
        """Writes a numbered checkpoint: ``prefix-1``, ``prefix-2`` and so on.

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
        """What :meth:`save` does, and something after it.

        Args:
            file_prefix: The path, without the number.
            options: See `CheckpointOptions`.
            then: What to do in the chief when the checkpoint is whole, in the thread that writes it.
            number: The number; None for what `save_counter` counts.
        """
        checked = _checked(options)
        _folder.located(file_prefix)
        self.sync(checked)
        count = int(self.save_counter) + 1
        self.save_counter.assign(count)
        try:
            return self._write(
                f"{os.fspath(file_prefix)}-{count if number is None else number}", checked, then
            )
        except BaseException:
            self.save_counter.assign(count - 1)
            raise

    def read(
        self, save_path: str | os.PathLike, options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Restores what :meth:`write` has written; the same as :meth:`restore`."""
        return self.restore(save_path, options)

    def restore(
        self, save_path: str | os.PathLike | None, options: CheckpointOptions | None = None
    ) -> CheckpointLoadStatus:
        """Gives everything below this object the values of a checkpoint, all of it or nothing.

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
        checked = _checked(options)
        if save_path is None:
            return CheckpointLoadStatus(None)
        path = _folder.absolute(save_path)
        self.sync(checked)
        with phase("saving"):
            return self._restore(path, checked)

    def sync(self, options: CheckpointOptions | None = None) -> None:
        """Waits until the last checkpoint is written; in a cluster all tasks call it.

        Args:
            options: See `CheckpointOptions`.

        Raises:
            CheckpointError: If it could not be written.
            ClusterTimeoutError: If not all tasks of the cluster call it; the missing ones are named.
        """
        if not self._own.is_outstanding:
            return
        with phase("saving"):
            _together.exchange("sync", None, _checked(options).timeout_seconds)
            self._own.is_outstanding = False
            error = _together.share_failure("sync/done", self._own.writer.finish(), _writer.WRITE_SECONDS)
        if error is not None:
            raise error

    def _write(
        self,
        file_prefix: str | os.PathLike,
        options: CheckpointOptions,
        then: Callable[[], None] | None,
    ) -> str:
        path = _folder.absolute(file_prefix)
        self.sync(options)
        with phase("saving"):
            graph = _graph.find(self)
            values = _snapshot.values(graph)
            inputs, random = self._agreed_states(path, graph, options)
            if _together.process_index() == 0:
                self._begin(path, _snapshot.take(graph, values, inputs, random), then)
        self._own.is_outstanding = True
        if not options.enable_async:
            self.sync(options)
        return os.fspath(file_prefix)

    def _agreed_states(
        self, path: pathlib.Path, graph: _graph.Graph, options: CheckpointOptions
    ) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]] | None]:
        """Where the input and the random generators of all processes are."""
        own = {"path": str(path), "signature": _snapshot.signature(graph)}
        _together.agree("save", own, options.timeout_seconds)
        states = [_snapshot.positions(graph), _random_state.random_state() if options.random_state else None]
        found = _together.exchange("save/states", states, options.timeout_seconds)
        inputs = {way: _together.one_or_all([each[way] for each, _ in found]) for way in graph.inputs}
        return inputs, _together.one_or_all([each for _, each in found]) if options.random_state else None

    def _begin(self, path: pathlib.Path, contents: _store.Contents, then: Callable[[], None] | None) -> None:
        def work() -> None:
            _store.write(path, contents)
            if then is not None:
                then()

        self._own.writer.start(work)

    def _restore(self, path: pathlib.Path, options: CheckpointOptions) -> CheckpointLoadStatus:
        _writer.wait_for_all()
        _together.agree("restore", str(path), options.timeout_seconds)
        error: BaseException | None = None
        try:
            restoration = self._started(_store.read_index(path), options)
        except errors.StrataxError as failure:
            error = failure
        error = _together.share_failure("restore/done", error, _writer.WRITE_SECONDS)
        if error is not None:
            raise error
        self._own.restoration = restoration
        return CheckpointLoadStatus(restoration)

    def _started(self, index: _store.Index, options: CheckpointOptions) -> _restoration.Restoration:
        if "save_counter" in index.shapes:
            _ = self.save_counter  # It is there from now on.
        restoration = _restoration.Restoration(self, index)
        restoration.start(partial=options.expect_partial)
        if self._own.restoration is not None:
            self._own.restoration.forget()
        if options.expect_partial:
            restoration.expect_partial()
        if options.random_state and index.random is not None:
            # Of another number of processes, all take the chief's.
            _random_state.set_random_state(_together.own(index.random) or index.random[0])
        return restoration


def _checked(options: Any) -> CheckpointOptions:
    """The options of a call, which is not made while a function is compiled."""
    if _capture.current_region() is not None:
        raise errors.TracingError(
            "A checkpoint can't be saved or restored in a compiled function: that would happen once, when the function "
            "is compiled. Expected: a call from Python. Received: a call in a stratax.function, or in what a strategy "
            "runs. Call it after the function."
        )
    if options is None:
        return CheckpointOptions()
    if not isinstance(options, CheckpointOptions):
        raise errors.BadTypeError(
            f"options must be a stratax.train.CheckpointOptions. Received: options={options!r}."
        )
    return options
