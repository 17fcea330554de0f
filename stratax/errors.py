"""Every exception that Stratax raises on purpose (the lowest layer: imports nothing of Stratax).

::

    StrataxError
    ├── BackendError(ImportError)          Keras runs on another backend than JAX
    ├── MissingPackageError(ImportError)   a package that is not installed with Stratax
    ├── BadArgumentError(ValueError)       an argument's value is wrong
    │   ├── BadTypeError(TypeError)        an argument's type is wrong
    │   │   ├── CastError                  text to be cast to numbers, or back; also an UnimplementedError
    │   │   └── OperandError               a function can't compute with what it was given
    │   ├── ClusterError                   TF_CONFIG or another description of a cluster that can't be right
    │   ├── DeviceError                    a device that does not exist
    │   ├── NoTPUError                     no TPU, real or simulated
    │   ├── OptionError(AttributeError)    an option that there is none of was set
    │   ├── RestoreError                   a checkpoint and the objects that it is restored into do not match
    │   ├── SimulationError                devices can't be simulated (any more)
    │   ├── VariableCreationError          a variable created where it can't be
    │   ├── StructureError                 nested structures that do not match
    │   └── DataError                      a Dataset function or element that breaks its contract
    │       └── DataLossError              a file whose content is damaged, cut off or not what it should be
    ├── ClusterTimeoutError(TimeoutError)  a wait for other tasks of the cluster that ended at its deadline
    ├── FileAccessError(PermissionError)   a file that can't be read or written
    ├── FileMissingError(FileNotFoundError) a file that is not there, or a pattern that fits none
    ├── AlreadyExistsError(FileExistsError) a file or another thing that was to be made and is there
    ├── CheckpointError(RuntimeError)      a checkpoint that could not be written
    ├── PeerLostError(RuntimeError)        another task of the cluster died, failed, left or stands still
    ├── StrategyError(RuntimeError)        a strategy, scope or context used where it can't be
    ├── ModelScopeError(RuntimeError)      a function of TensorFlow 1's graphs used outside of a model_fn
    ├── SummaryError(RuntimeError)         a writer of summaries that is used after its end
    ├── TracingError(RuntimeError)         something that a compiled function can't do; also a TypeError
    ├── NanLossDuringTrainingError(RuntimeError) a loss of a training was NaN
    ├── TapeError(RuntimeError)            a GradientTape used the wrong way
    ├── WorkerError(RuntimeError)          a worker process died, or does nothing any more
    ├── AbortedError(RuntimeError)         an operation that was given up, mostly because another one came first
    ├── CancelledError(RuntimeError)       an operation that was cancelled
    ├── FailedPreconditionError(RuntimeError) something done in a state in which it can't be, mostly too late
    ├── InternalError(RuntimeError)        a library that breaks its own rules
    ├── ResourceExhaustedError(RuntimeError) no memory, or no other resource, is left
    ├── UnauthenticatedError(RuntimeError) a caller who could not prove who it is
    ├── UnimplementedError(NotImplementedError) an operation that there is not for such arguments
    ├── UnknownError(RuntimeError)         an error of which no more is known
    └── OutOfRangeError(StopIteration)     a compiled function took more elements than an iterator has

Each has what TensorFlow's errors have: `message`, `op`, `node_def` and `error_code`. Each derives from the built-in
exception that TensorFlow, Keras or JAX raise in the same place, so that an `except ValueError` of a program that was
carried over keeps working.
"""

from typing import Any, ClassVar

# The numbers of TensorFlow, which are those of gRPC.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_NUM_TENSORFLOW_ARGUMENTS = 3


class StrataxError(Exception):
    """Base class of everything that Stratax raises on purpose, as `tf.errors.OpError`.

    Args:
        *args: The message; or, as in TensorFlow, the node, the operation and the message.
        node_def: Kept as it is.
        op: Kept as it is.
        message: The message.

    Attributes:
        error_code: The number of this kind of error, such as `tf.errors.INVALID_ARGUMENT`.
        node_def: What was given, mostly None: there is no graph.
        op: What was given, mostly None.
    """

    error_code: ClassVar[int] = UNKNOWN

    def __init__(
        self, *args: Any, node_def: object = None, op: object = None, message: str | None = None
    ) -> None:
        # In TensorFlow's order, by programs that raise these errors themselves.
        if message is None and len(args) >= _NUM_TENSORFLOW_ARGUMENTS:
            node_def, op, message = args[:_NUM_TENSORFLOW_ARGUMENTS]
        super().__init__(*(args if message is None else (message,)))
        self.node_def = node_def
        self.op = op

    @property
    def message(self) -> str:
        """What went wrong."""
        return str(self)

    @property
    def experimental_payloads(self) -> dict[bytes, bytes]:
        """What else is known, always nothing."""
        return {}


class BackendError(StrataxError, ImportError):
    """Keras was imported on another backend than JAX."""


class MissingPackageError(StrataxError, ImportError):
    """A package is missing that Stratax does not install by itself."""


class BadArgumentError(StrataxError, ValueError):
    """An argument has a value that can't work."""

    error_code = INVALID_ARGUMENT


class BadTypeError(BadArgumentError, TypeError):
    """An argument has a type or a dtype that can't work.

    TensorFlow raises an `InvalidArgumentError`, a `ValueError` or a `TypeError` for the same mistake, as it is compiled
    or not: this is all of them.
    """


class OperandError(BadTypeError):
    """A function can't compute with what it was given: shapes or dtypes that do not fit, a missing dimension."""


class ClusterError(BadArgumentError):
    """TF_CONFIG, or another description of a cluster, can't be right, or does not fit what this process is."""


class DeviceError(BadArgumentError):
    """A device was named that this process does not have."""


class NoTPUError(BadArgumentError):
    """There is no TPU here, neither a real nor a simulated one."""


class UnknownNameError(BadArgumentError, KeyError):
    """A graph has no tensor and no operation of a name."""

    # That of KeyError shows the message as a text in quotes.
    __str__ = Exception.__str__


class OptionError(BadArgumentError, AttributeError):
    """An attribute of an object that holds options was set, and there is no such option."""


class RestoreError(BadArgumentError, AssertionError):
    """A checkpoint's values and the variables that they are restored into do not match."""


class SimulationError(BadArgumentError):
    """Devices can't be simulated as asked, or no longer because JAX has started."""


class StructureError(BadArgumentError):
    """Two nested structures, shapes or dtypes that have to match do not."""


class VariableCreationError(BadArgumentError):
    """A variable was created where none can be: on a later call of a compiled function."""


class DataError(BadArgumentError):
    """A Dataset's element or function breaks the contract of its pipeline.

    Attributes:
        filename: The file that the element came from, as it was named; None if it came from none, or that is unknown.
        record: The number of its record in the file, from 0; None if unknown.
        offset: Where the record begins, in bytes (of the uncompressed content); None if unknown.
        element: Which element is to blame of a batch that a function was given; None if unknown.
    """

    filename: str | None = None
    record: int | None = None
    offset: int | None = None
    element: int | None = None


class DataLossError(DataError):
    """The content of a file is damaged, cut off, or not of the kind that it is read as.

    Attributes:
        filename: The file, as it was named.
        record: The number of the record in the file, from 0; None where there are none.
        offset: Where the record begins, in bytes (of the uncompressed content); None if unknown.
    """

    error_code = DATA_LOSS

    def __init__(
        self,
        *args: Any,
        filename: str | None = None,
        record: int | None = None,
        offset: int | None = None,
        **of_tensorflow: Any,
    ) -> None:
        super().__init__(*args, **of_tensorflow)
        self.filename = filename
        self.record = record
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        return (_data_loss_error, (str(self), self.filename, self.record, self.offset))


def _data_loss_error(
    message: str, filename: str | None, record: int | None, offset: int | None
) -> DataLossError:
    """Make the error again in another process."""
    return DataLossError(message, filename=filename, record=record, offset=offset)


class _FileError(StrataxError, OSError):
    """What can't be done with a file.

    Attributes:
        filename: The file, as it was named; None if there is no single one.
    """

    def __init__(self, *args: Any, filename: str | None = None, **of_tensorflow: Any) -> None:
        super().__init__(*args, **of_tensorflow)
        self.filename = filename

    def __str__(self) -> str:
        # An OSError with a file name would say "[Errno None] None" instead.
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return (_file_error, (type(self), str(self), self.filename))


def _file_error(kind: type[_FileError], message: str, filename: str | None) -> _FileError:
    """Make the error again in another process."""
    return kind(message, filename=filename)


class FileAccessError(_FileError, PermissionError):
    """A file was named that this process can't read or write: it may not, or its disk or its store refuses.

    Attributes:
        filename: The file, as it was named.
    """

    error_code = PERMISSION_DENIED


class FileMissingError(_FileError, FileNotFoundError):
    """A file was named that is not there, or a pattern that fits no file.

    Attributes:
        filename: The file, as it was named; the pattern; None if there are several.
    """

    error_code = NOT_FOUND


class NoMatchingFileError(FileMissingError, BadArgumentError):
    """A pattern fits no file: an `InvalidArgumentError`, as TensorFlow raises, and a `NotFoundError`."""


class UntrainedModelError(FileMissingError, BadArgumentError):
    """A model has no checkpoint: a `ValueError`, as an Estimator of TensorFlow raises."""


class NoCheckpointError(FileMissingError, BadArgumentError):
    """A checkpoint, or a variable of one, is not there: a `NotFoundError`, and a `ValueError` for some callers."""


class AlreadyExistsError(_FileError, FileExistsError):
    """A thing was to be made that is there already.

    Attributes:
        filename: The file, as it was named; None if it is none.
    """

    error_code = ALREADY_EXISTS


class CheckpointError(StrataxError, RuntimeError):
    """A checkpoint could not be written. What was there before it still is."""


class ClusterTimeoutError(StrataxError, TimeoutError):
    """A wait for other tasks of the cluster ended at its deadline.

    Attributes:
        tasks: The tasks that were missing, for example ``("/job:worker/task:1",)``.
    """

    error_code = DEADLINE_EXCEEDED

    def __init__(self, *args: Any, tasks: tuple[str, ...] = (), **of_tensorflow: Any) -> None:
        super().__init__(*args, **of_tensorflow)
        self.tasks = tasks


class PeerLostError(StrataxError, RuntimeError):
    """Another task of the cluster died, raised, left in mid-training or stands still: this one can't go on alone.

    Attributes:
        tasks: The tasks at fault, for example ``("/job:worker/task:1",)``.
    """

    error_code = UNAVAILABLE

    def __init__(self, *args: Any, tasks: tuple[str, ...] = (), **of_tensorflow: Any) -> None:
        super().__init__(*args, **of_tensorflow)
        self.tasks = tasks


class StrategyError(StrataxError, RuntimeError):
    """A strategy, its scope or a replica context was used where it can't be."""


class SummaryError(StrataxError, RuntimeError):
    """A writer of summaries was used after it had been closed."""


class TracingError(StrataxError, RuntimeError, TypeError):
    """A compiled function did something that a compiled program can't do.

    It is a `TypeError`, too, as `tf.errors.OperatorNotAllowedInGraphError` and JAX' errors of tracers are.
    """


class ModelScopeError(StrataxError, RuntimeError):
    """A function that adds to a graph in TensorFlow 1 was called outside of a `model_fn`."""


class NanLossDuringTrainingError(StrataxError, RuntimeError):
    """The loss of a step of training was NaN."""


class TapeError(StrataxError, RuntimeError):
    """A GradientTape was used in a way that can't give a gradient."""


class WorkerError(StrataxError, RuntimeError):
    """A process that worked for this one has died, or does nothing any more."""


class AbortedError(StrataxError, RuntimeError):
    """An operation was given up, mostly because another one came first."""

    error_code = ABORTED


class CancelledError(StrataxError, RuntimeError):
    """An operation was cancelled before its end."""

    error_code = CANCELLED


class FailedPreconditionError(StrataxError, RuntimeError):
    """Something was done in a state in which it can't be done: mostly too early or too late."""

    error_code = FAILED_PRECONDITION


class InternalError(StrataxError, RuntimeError):
    """A library broke its own rules."""

    error_code = INTERNAL


class ResourceExhaustedError(StrataxError, RuntimeError):
    """No memory is left, or nothing of another resource."""

    error_code = RESOURCE_EXHAUSTED


class UnauthenticatedError(StrataxError, RuntimeError):
    """A caller could not prove who it is."""

    error_code = UNAUTHENTICATED


class UnimplementedError(StrataxError, NotImplementedError):
    """An operation is not there for arguments of such a kind."""

    error_code = UNIMPLEMENTED


class CastError(BadTypeError, UnimplementedError):
    """Text can't be cast to numbers, nor numbers to text. As in TensorFlow it is an `UnimplementedError`."""

    error_code = UNIMPLEMENTED


class UnknownError(StrataxError, RuntimeError):
    """Something failed, and no more is known."""

    error_code = UNKNOWN


class OutOfRangeError(StrataxError, StopIteration):
    """A compiled function asked an iterator for more elements than it has left. Nothing was run or lost.

    It is a `StopIteration`, so `try: step(iterator) / except StopIteration:` ends an epoch, and it bears the name
    that programs from TensorFlow catch (`tf.errors.OutOfRangeError`).
    """

    error_code = OUT_OF_RANGE
