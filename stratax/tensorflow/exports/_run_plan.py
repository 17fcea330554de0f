"""The host's part of a loaded export, computed (export layer). Needs neither JAX nor Keras by itself."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stratax.base.bounds import check_bytes, holds_pixels, most_bytes, taking_turns
from stratax.base.shown import shown
from stratax.base.surroundings import Slot, hand_over
from stratax.base.threads import Threads
from stratax.data.elements import as_array
from stratax.data.vectorise import on_host
from stratax.errors import BadArgumentError, DataLossError, StrataxError
from stratax.export.parts import TensorInfo, leaves_in
from stratax.tensorflow.exports._host_functions import function_named
from stratax.tensorflow.exports._host_plan import (
    GET_ITEM,
    MAP,
    RANDOM,
    Call,
    CallPlan,
    CallTable,
    RuntimeValue,
    refs_in,
    replace_leaves,
)
from stratax.tensorflow.exports._host_sizes import check_result

# Threads that decode images of one request.
_THREADS = 8
_IS_ROW: Slot[bool] = Slot("a row of an export's map", False)


def check_plan(plan: CallPlan, known: Iterable[str]) -> set[str]:
    """Look whether a plan can be computed: it calls what it may, of values that are known by then.

    Args:
        plan: The plan.
        known: Ids of what is known before.

    Returns:
        Ids of what is known behind it.

    Raises:
        DataLossError: It can't.
    """
    found = set(known)
    for call in plan.calls:
        _check_refs(call.function, [ref.id for ref in refs_in((call.args, dict(call.kwargs)))], found)
        if call.function == MAP and call.body is not None:
            rows = call.kwargs.get("rows")
            if not isinstance(rows, list) or not all(isinstance(each, str) for each in rows):
                raise _make_damage_error(f"rows of {MAP} are not named")
            check_plan(call.body, found.union(rows))
        elif call.function not in (GET_ITEM, RANDOM):
            function_named(call.function)
        found.update(ref.id for ref in refs_in(call.gives))
    _check_refs("its results", plan.gives.values(), found)
    if plan.gives.keys() != plan.infos.keys():
        raise _make_damage_error("its results are not those that it describes")
    return found


def _check_refs(what: str, ids: Iterable[str], known: set[str]) -> None:
    if unknown := sorted(set(ids) - known):
        raise _make_damage_error(f"{what} needs {shown(unknown[0])}, which nothing gives before")


def _make_damage_error(what: str) -> DataLossError:
    return DataLossError(
        f"The host's part of the export is damaged: {what}. Export it again, or copy it anew."
    )


def run(plan: CallPlan, values: dict[str, Any]) -> dict[str, np.ndarray]:
    """Compute a plan.

    Args:
        plan: The plan.
        values: What is known, by id: inputs, what calls gave, and results of the program. What calls give is added.

    Returns:
        What it gives, by name.

    Raises:
        BadArgumentError: A function can't take what it is given; a value has other sizes than the program takes, or
            numbers that 32 bits do not hold.
    """
    with on_host(), taking_turns(), np.errstate(all="ignore"):
        for call in plan.calls:
            try:
                _note(call.gives, _result(call, values), values)
            except StrataxError:
                raise
            except Exception as error:  # Of whatever computes it, given numbers or text that it can't take.
                raise BadArgumentError(
                    f"The host's part of the export can't compute tf.{call.function} of what it is given "
                    f"({type(error).__name__}: {str(error)[:300]})."
                ) from error
    return {name: _check(name, values[id], plan.infos[name]) for name, id in plan.gives.items()}


def _result(call: Call, values: Mapping[str, Any]) -> Any:
    args, kwargs = replace_leaves((call.args, dict(call.kwargs)), lambda each: _look_up(each, values))
    if call.function == GET_ITEM:
        return args[0][args[1]]
    if call.function == RANDOM:
        check_bytes(f"tf.{RANDOM}", [args[0][0]], 4)
        # From the system, as several processes may serve one export.
        return np.frombuffer(os.urandom(4 * args[0][0]), np.uint32).astype(np.int32) & kwargs["maxval"]
    if call.function == MAP and call.body is not None:
        return _map_rows(call.body, list(leaves_in(args[0])), values, call)
    check_result(call.function, args, kwargs)
    return function_named(call.function)(*args, **kwargs)


def _look_up(value: object, values: Mapping[str, Any]) -> Any:
    if isinstance(value, CallTable):
        return value.made
    return _element(values[value.id]) if isinstance(value, RuntimeValue) else value


def _map_rows(body: CallPlan, columns: list[np.ndarray], values: Mapping[str, Any], call: Call) -> Any:
    """Return what a plan gives for each row, together."""
    ids = body_rows(call)
    names = list(body.gives)
    goes_on = holds_pixels()
    most, made_bytes = most_bytes(), 0

    def of_row(row: int) -> list[np.ndarray]:
        own = {**values, **{id: column[row] for id, column in zip(ids, columns, strict=True)}}
        with taking_turns(goes_on=goes_on):
            made = run(body, own)
        nonlocal made_bytes
        made_bytes += sum(each.nbytes for each in made.values())
        if made_bytes > most:
            check_bytes(f"tf.{MAP}", (made_bytes,), 1)
        return [made[name] for name in names]

    count = len(columns[0])
    # The rows of a row have no threads of their own, which would become more with each depth.
    has_threads = count > 1 and not _IS_ROW.get()
    with _IS_ROW.holding(True):
        if has_threads:
            with Threads(min(_THREADS, count), "stratax-rows") as pool:
                rows = list(pool.map(hand_over(of_row), range(count)))
        else:
            rows = [of_row(row) for row in range(count)]
    return [
        np.stack([row[index] for row in rows])
        if rows
        else np.zeros((0, *(size or 0 for size in body.infos[name].shape)), body.infos[name].numpy_dtype)
        for index, name in enumerate(names)
    ]


def body_rows(call: Call) -> list[str]:
    """Return the ids by which the body of `tf.map_fn` knows its row."""
    return list(call.kwargs["rows"])


def _note(gives: object, made: object, values: dict[str, Any]) -> None:
    for ref, value in zip(refs_in(gives), leaves_in(_alike(gives, made)), strict=True):
        values[ref.id] = as_array(value)


def _alike(gives: object, made: object) -> Any:
    """Return results in the order in which a plan has them: those of a dict by their names."""
    if isinstance(gives, Mapping) and isinstance(made, Mapping):
        return {key: _alike(each, made[key]) for key, each in gives.items()}
    return made


def _element(value: object) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.hasobject and not value.ndim:
        return value[()]
    return value


def _check(name: str, value: object, info: TensorInfo) -> np.ndarray:
    """Return what is used of a plan, as its dtype and shape are said to be."""
    array = np.asarray(value, object if isinstance(value, bytes | str) else None)
    wanted = info.numpy_dtype
    if array.dtype != wanted:
        if wanted.kind in "iu" and array.dtype.kind in "iu" and array.size:
            limits = np.iinfo(wanted)
            if array.min() < limits.min or array.max() > limits.max:
                raise BadArgumentError(
                    f"The host's part of the export gives numbers that {wanted} does not hold, as {shown(name)}. "
                    f"Received: {array.min()} to {array.max()}."
                )
        try:
            array = array.astype(wanted)
        except (TypeError, ValueError) as error:
            raise _make_damage_error(
                f"it gives {array.dtype} where {info} is told, as {shown(name)}"
            ) from error
    if len(array.shape) != len(info.shape) or any(
        size is not None and size != have for size, have in zip(info.shape, array.shape, strict=True)
    ):
        raise BadArgumentError(
            "The host's part of the export gives an array of another shape than its program takes. Expected: "
            f"{info}. Received: shape {array.shape}."
        )
    return array
