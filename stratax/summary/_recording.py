"""Whether, where and with which step a summary is recorded: now, or whenever a compiled program runs (summary layer).

What was set outside of a compiled function (the default writer, the step, a condition) is looked up each time the
program is dispatched: one small input of the program has it (:class:`_Outside`). What was set inside is part of the
program.
"""

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.core import host, regions
from stratax.errors import BadArgumentError, BadTypeError
from stratax.summary._contents import Content, of_tensor, tensor_message
from stratax.summary._context import COLLECTOR, CONDITION, STEP, WRITER, Setting, check_step
from stratax.summary._event_file import event_now
from stratax.summary._packages import new_summary
from stratax.summary._records import SummaryRecord
from stratax.summary._writer import SummaryWriter, find_writer

_NO_STEP = (
    "A summary was given no step, and none is set. Expected: the argument `step`, `writer.as_default(step=...)` or "
    "`stratax.summary.experimental.set_step(step)`. Received: step=None."
)
# What the program knows of the condition that was set outside of it.
_OFF, _ON, _AS_TRACED = 0, 1, 2
_WRITER, _STEP, _CONDITION = 0, 1, 2
_BIGGEST_STEP = np.iinfo(np.int32).max


def record(tag: str, make: Callable[[], Content], metadata: object, step: object) -> Any:
    """Record a summary with the default writer.

    Args:
        tag: Its tag.
        make: Makes its content; called only if there is a writer for it.
        metadata: Its `SummaryMetadata`, or what makes it.
        step: Its step; None for the one that is set.

    Returns:
        As :func:`record_message`.
    """

    def message() -> Content:
        content = make()
        encode = content.encode
        return dataclasses.replace(content, encode=lambda *values: summary_of(tag, metadata, encode(*values)))

    return record_message(tag, message, step)


def record_message(tag: str, make: Callable[[], Content], step: object) -> Any:
    """Record a `Summary` message with the default writer.

    Args:
        tag: Its tag.
        make: Makes the content of which it is encoded; called only if there is a writer for it.
        step: Its step; None for the one that is set.

    Returns:
        Whether it is recorded: a bool, or an array of one in a compiled function; what is collected, if a collector
        takes it.

    Raises:
        BadArgumentError: If it has no step.
    """
    if step is not None:
        check_step(step)
    collector = COLLECTOR.get()
    if collector is not None and WRITER.get() is None and step is None:
        content = make()
        made = SummaryRecord(tag, content.prepare(*content.arrays), content.encode)
        collector.collect(made)
        return made
    if regions.executing_eagerly():
        return _record_now(make, step)
    return _record_in_program(make, step)


def should_record_summaries() -> Any:
    """Return whether summaries are recorded: there is a default writer, and the condition of `record_if` holds.

    Follows `tf.summary.should_record_summaries`.

    Returns:
        A bool; in a compiled function an array of one, which says so for each run, and inside `strategy.run` is true
        for the first replica only.
    """
    if regions.executing_eagerly():
        return WRITER.get() is not None and _holds_now(CONDITION.get())
    region = regions.current_region()
    wanted, _ = _find_wanted()
    first = True if region is None else region.is_first_party()
    return wanted if first is True else first if wanted is True else first & wanted


def summary_of(tag: str, metadata: object, value: object) -> Any:
    """Return the `Summary` message of a content's value."""
    message = new_summary()
    metadata = metadata() if callable(metadata) else metadata
    message.value.add(tag=tag, metadata=metadata, tensor=tensor_message(value))
    return message


def write(
    tag: str, tensor: object, step: object = None, metadata: object = None, name: str | None = None
) -> Any:
    """Write a summary of any kind with the default writer, as `tf.summary.write`.

    Args:
        tag: Its tag, with the name scopes that it is to have (`experimental.summary_scope`).
        tensor: Its content: numbers or strings; or a callable that returns them, called only if they are recorded.
        step: Its step; None for the one that is set.
        metadata: Its `SummaryMetadata`, by which TensorBoard knows how to show it, or the bytes of one.
        name: Ignored.

    Returns:
        Whether it is recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If it has no step.
        BadTypeError: If its content is neither numbers nor strings.
    """
    if isinstance(metadata, bytes):
        metadata = _parse_metadata(metadata)
    return record(tag, lambda: of_tensor(tensor() if callable(tensor) else tensor), metadata, step)


def _parse_metadata(content: bytes) -> Any:
    from stratax.summary._packages import tensorboard

    return tensorboard("compat.proto.summary_pb2").SummaryMetadata.FromString(content)


def _record_now(make: Callable[[], Content], step: object) -> Any:
    writer = WRITER.get()
    if writer is None or not _holds_now(CONDITION.get()):
        return False
    if step is None:
        step = _valid(STEP.get())
    if step is None:
        raise BadArgumentError(_NO_STEP)
    content = make()
    if any(isinstance(value, jax.core.Tracer) for value in (*content.arrays, step)):
        # In a function that JAX compiles: all that is known now is part of its program.
        _deliver(content, writer.value, writer.value.number, step, True)
        return True
    arrays = [_fetching(array) for array in content.arrays]
    number = _fetching(step.value if isinstance(step, keras.Variable) else step)
    made = event_now(
        lambda: int(_fetch(number)), lambda: content.encode(*content.prepare(*map(_fetch, arrays)))
    )
    writer.value._put(made, may_wait=True)
    return True


def _fetching(value: object) -> Any:
    """Return an array of which a copy is on its way to the host."""
    if not isinstance(value, jax.Array):
        return value
    if not value.is_fully_addressable:
        if not value.is_fully_replicated:
            raise BadArgumentError(
                "A summary of an array that is spread over several processes can't be written by one of them. "
                f"Expected: an array that each process has. Received: an array of shape {value.shape} with the "
                f"sharding {shown(str(value.sharding))}. Gather it first (`strategy.gather`)."
            )
        value = value.addressable_data(0)
    # A copy: the value of a variable is given to the next program that writes the variable, perhaps before it is here.
    value = jnp.copy(value)
    value.copy_to_host_async()
    return value


def _fetch(value: object) -> Any:
    return np.asarray(value)


def _record_in_program(make: Callable[[], Content], step: object) -> Any:
    wanted, writer = _find_wanted()
    if wanted is False:
        return False
    if step is None:
        if STEP.get() is None and WRITER.get() is not None:
            raise BadArgumentError(_NO_STEP)
        step = _step_in_program()
    elif isinstance(step, keras.Variable):
        step = step.value
    number = _outside().tracer[_WRITER] if writer is None else writer.number
    _deliver(make(), writer, number, step, wanted)
    return wanted


def _deliver(
    content: Content, writer: SummaryWriter | None, number: object, step: object, wanted: object
) -> None:
    def receive(number: np.ndarray, step: np.ndarray, *arrays: np.ndarray) -> None:
        target = find_writer(int(number)) if writer is None else writer
        if target is not None:
            target._put(event_now(lambda: int(step), lambda: content.encode(*arrays)), may_wait=False)

    def prepare(number: object, step: object, *arrays: object) -> tuple[Any, ...]:
        return number, step, *content.prepare(*arrays)

    host.deliver(receive, [number, step, *content.arrays], wanted, prepare)


def _find_wanted() -> tuple[Any, SummaryWriter | None]:
    """Return whether a program records, and the writer that was made the default inside of it, if one was."""
    inside = WRITER.get()
    writer = None if inside is None or inside.is_eager else inside.value
    parts = [] if writer is not None else [_outside().tracer[_WRITER] > 0]
    condition = CONDITION.get()
    if condition is None or condition.is_eager:
        outside = _outside()
        outside.has_own_writer = outside.has_own_writer or writer is not None
        if outside.condition is None:
            parts.append(outside.tracer[_CONDITION] != _OFF)
        else:
            state = outside.tracer[_CONDITION]
            traced = jnp.asarray(_resolve(outside.condition.value)).astype(bool)
            parts.append(jnp.where(state == _AS_TRACED, traced, state == _ON))
    else:
        value = _resolve(condition.value)
        if not isinstance(value, jax.core.Tracer):
            if not bool(np.asarray(value)):
                return False, writer
        else:
            parts.append(value.astype(bool))
    wanted: Any = True
    for part in parts:
        wanted = part if wanted is True else wanted & part
    return wanted, writer


def _step_in_program() -> Any:
    inside = STEP.get()
    if inside is not None and not inside.is_eager:
        value = _valid(inside)
        return value.value if isinstance(value, keras.Variable) else value
    outside = _outside()
    outside.needs_step = True
    given = outside.tracer[_STEP]
    if outside.step is None:
        return given
    variable = outside.step.value
    return jnp.where(given < 0, variable.astype(given.dtype), given)


def _valid(step: Setting | None) -> Any:
    if step is None:
        return None
    # A tracer of a function that is over; asking it for its value raises what JAX says of such.
    if not step.is_eager and regions.executing_eagerly() and isinstance(step.value, jax.core.Tracer):
        raise BadArgumentError(
            "The step of summaries was set inside a compiled function to a value that is gone with it. Expected: a "
            "step that is set outside, or a variable. Received: step=a traced value. Call `set_step` outside of the "
            "function."
        )
    return step.value


class _Outside:
    """What was set for summaries outside of a program, as an input of it.

    Attributes:
        condition: The condition that the program computes by itself, as it was when the program was traced; None if
            the host has to say.
        step: The variable that was the step then; None if it was none.
        needs_step: Whether a summary in the program has no step of its own.
        has_own_writer: Whether a writer is made the default inside of the program.
        tracer: The input: the writer's number or 0, the step or -1 for the variable, and the condition's state.
    """

    def __init__(self) -> None:
        self.condition = _find_computed_condition(CONDITION.get())
        step = STEP.get()
        is_variable = step is not None and step.is_eager and isinstance(step.value, keras.Variable)
        self.step: keras.Variable | None = step.value if step is not None and is_variable else None
        self.needs_step = False
        self.has_own_writer = False
        self.tracer: Any = None

    def read(self) -> np.ndarray:
        """Return what is set now, on the thread that dispatches the program."""
        writer = WRITER.get()
        if writer is None and not self.has_own_writer:
            return np.zeros(3, np.int32)
        number = 0 if writer is None else writer.value.number
        state = self._condition_now()
        step = self._step_now() if self.needs_step and state != _OFF else 0
        return np.array([number, step, state], np.int32)

    def fits(self) -> bool:
        """Return whether the program computes what it has to compute by itself: a condition, and a step's variable."""
        if WRITER.get() is None and not self.has_own_writer:
            return True
        step = STEP.get()
        is_variable = step is not None and isinstance(step.value, keras.Variable)
        if self.needs_step and step is not None and is_variable and step.value is not self.step:
            return False
        now = CONDITION.get()
        return now is None or not callable(now.value) or self._is_traced(now) or not _is_computed(now)

    def _condition_now(self) -> int:
        now = CONDITION.get()
        if now is not None and self._is_traced(now):
            return _AS_TRACED
        return _ON if _holds_now(now) else _OFF

    def _is_traced(self, condition: Setting) -> bool:
        return self.condition is not None and _is_same(condition.value, self.condition.value)

    def _step_now(self) -> int:
        step = _valid(STEP.get())
        if step is None:
            raise BadArgumentError(_NO_STEP)
        if step is self.step:
            return -1
        number = int(np.asarray(step))
        if not 0 <= number <= _BIGGEST_STEP:
            raise BadArgumentError(
                "A compiled function takes the step of its summaries as a number of 31 bits. Expected: a step from 0 "
                f"to {_BIGGEST_STEP}. Received: step={number}."
            )
        return number


def _outside() -> _Outside:
    region = regions.current_region()
    if region is None:
        raise AssertionError  # Asked for within programs only.
    made: list[_Outside] = []

    def make() -> regions.HostValue:
        made.append(_Outside())
        return regions.HostValue("summaries", (3,), np.dtype(np.int32), made[0].read, made[0].fits)

    tracer = region.program.host_value("summaries", make)
    if made:
        made[0].tracer = tracer
        region.program.notes["summaries"] = made[0]
    return region.program.notes["summaries"]


def _find_computed_condition(condition: Setting | None) -> Setting | None:
    """Return a condition that was set outside of the program, if the program computes it."""
    if condition is None or not condition.is_eager or not callable(condition.value):
        return None
    return condition if _is_computed(condition) else None


def _is_computed(condition: Setting) -> bool:
    """Return whether a callable computes with variables or arrays."""
    return isinstance(_resolve(condition.value), jax.Array)


def _resolve(condition: Any) -> Any:
    value = condition() if callable(condition) else condition
    if isinstance(value, keras.Variable):
        value = value.value
    if np.ndim(value) != 0 or (
        not isinstance(value, (bool, np.bool_)) and getattr(value, "dtype", None) != np.bool_
    ):
        raise BadTypeError(
            "Whether to record summaries is one boolean. Expected: a bool, an array of dtype bool and shape (), or a "
            f"callable that returns one. Received: {shown(value)} ({type(value).__name__}). Compare it "
            "(`step % 100 == 0`)."
        )
    return value


def _holds_now(condition: Setting | None) -> bool:
    return condition is None or bool(np.asarray(_resolve(condition.value)))


def _is_same(left: object, right: object) -> bool:
    """Return whether two callables are one, or one function with the same surroundings (a lambda in a loop)."""
    if left is right:
        return True
    if not isinstance(left, types.FunctionType) or not isinstance(right, types.FunctionType):
        return False
    cells = [[cell.cell_contents for cell in each.__closure__ or ()] for each in (left, right)]
    return (
        left.__code__ is right.__code__
        and len(cells[0]) == len(cells[1])
        and all(a is b for a, b in zip(*cells, strict=True))
        and left.__defaults__ == right.__defaults__
    )
