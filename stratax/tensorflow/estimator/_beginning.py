"""How a training begins: alone in its folder, with what the chief finds there (estimator layer)."""

import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import socket
import time
from collections.abc import Iterator
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import get_checkpoint_state
from stratax.distribute import Strategy
from stratax.engine import from_chief
from stratax.io import held, make_folder, write_file
from stratax.tensorflow.checkpoints.values import is_written_by_tensorflow
from stratax.tensorflow.estimator import _checkpoints

# In the model's folder: locked by the process that trains, which writes who it is.
_LOCK = ".training.lock"
# In the model's folder: which checkpoint a training ended with that was not broken off.
_ENDED = "ended_at.json"
# A job that was killed may have left a process that ends in a moment.
_PATIENCE_SECONDS = 5.0
_POLL_SECONDS = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """What a training begins with, the same in all workers.

    Attributes:
        checkpoint: The path of the checkpoint; None without one.
        step: Its global step.
        goes_on: Whether the training that saved it was broken off, so that its input goes on where it was.
    """

    checkpoint: str | None = None
    step: int = 0
    goes_on: bool = False


@contextlib.contextmanager
def training_in(model_dir: str, strategy: Strategy) -> Iterator[Start]:
    """Hold a folder for a training, in a block: no other one may write checkpoints there.

    The chief holds it and says what is there, as others may see its files a little later. The lock is the operating
    system's: it ends with the process, however that ends.

    Args:
        model_dir: The folder of the model.
        strategy: The strategy, whose workers all call this.

    Yields:
        What the training begins with.

    Raises:
        CheckpointError: In all workers, if another job trains there.
        FileAccessError: In all workers, if the folder can't be written.
    """
    with contextlib.ExitStack() as stack:
        found, problem = Start(), None
        if strategy.extended.membership.is_chief:
            try:
                stack.enter_context(_hold(model_dir))
                found = _find_start(model_dir)
            except errors.StrataxError as error:
                problem = error
        told = None if problem is None else [type(problem).__name__, str(problem)]
        start, failure = from_chief(strategy, [dataclasses.asdict(found), told])
        if problem is not None:
            raise problem
        if failure is not None:
            raise getattr(errors, failure[0], errors.CheckpointError)(failure[1])
        yield Start(**start)


def note_end(model_dir: str) -> None:
    """Note that a training has ended with the last checkpoint: the next one reads its input from the beginning."""
    identity = _identity(model_dir)
    if identity is not None:
        write_file(os.path.join(model_dir, _ENDED), json.dumps(identity).encode())


def _find_start(model_dir: str) -> Start:
    path = _checkpoints.latest(model_dir)
    if path is None:
        return Start()
    # TensorFlow's checkpoints do not say where the input was.
    is_own = not is_written_by_tensorflow(pathlib.Path(path))
    return Start(
        checkpoint=path,
        step=_checkpoints.step_of(path),
        goes_on=is_own and _identity(model_dir) != _read(model_dir, _ENDED),
    )


def _identity(model_dir: str) -> list[Any] | None:
    """Return what tells the last checkpoint from others, also from one of the same name that was written later."""
    state = get_checkpoint_state(model_dir)
    if state is None:
        return None
    return [os.path.basename(state.model_checkpoint_path), state.all_model_checkpoint_timestamps[-1]]


def _hold(model_dir: str) -> held.Hold:
    """Lock the folder of a model, and write down who holds it."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    hold = None
    while hold is None:
        try:
            make_folder(model_dir)
            hold = held.hold(model_dir, lock_file=_LOCK)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _busy(model_dir) from None
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            # What the system said, without another advice than the one given here.
            said = error.__cause__ if isinstance(error.__cause__, OSError) else error
            raise errors.FileAccessError(
                "The folder of the model can't be written. Expected: a folder in which this user may make files. "
                f"Received: model_dir={shown(model_dir)}, which gave {said}. Give the right to write, or another "
                "model_dir."
            ) from said
    owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": _now()}
    with contextlib.suppress(OSError):
        # Into the same file: a new one in its place would not be locked. For messages only, so it may be cut off.
        pathlib.Path(model_dir, _LOCK).write_text(json.dumps(owner), encoding="utf-8")
    return hold


def _busy(model_dir: str) -> errors.CheckpointError:
    owner = _read(model_dir, _LOCK)
    who = "another process"
    if isinstance(owner, dict):
        who = f"process {owner.get('pid')} on {owner.get('host')}, since {owner.get('since')}"
    return errors.CheckpointError(
        "Another job trains a model in this folder, and both would write and remove checkpoints there. Expected: one "
        f"training in a folder; evaluation and prediction may run beside it. Received: model_dir={shown(model_dir)}, "
        f"held by {who}. Wait for it or end it, or give this one another model_dir."
    )


def _read(model_dir: str, name: str) -> object:
    try:
        return json.loads(pathlib.Path(model_dir, name).read_bytes())
    # There is none, or it is damaged. At worst a training goes on in its input instead of beginning it anew.
    except (OSError, ValueError):
        return None


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(" ", "seconds")
