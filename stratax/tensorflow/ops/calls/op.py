"""What a function of `tf` is, as data; its signature, docstring and dispatch are made of that (ops layer)."""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from stratax.base import providers
from stratax.base import tracebacks as _tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER
from stratax.base.refusals import call_symbolically, raises_named
from stratax.data.elements import RaggedTensor
from stratax.data.vectorise import gives_tensors
from stratax.tensorflow.ops.calls._eager import NOT_COMPUTED, EagerPrograms
from stratax.tensorflow.ops.calls.described import parameter
from stratax.tensorflow.ops.calls.dtypes import call_again
from stratax.tensorflow.ops.calls.naming import NOTE
from stratax.tensorflow.ops.calls.text import or_text

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Made = TypeVar("_Made", covariant=True)

# Parameters that are functions of the program's, in which it may ask for values.
_FUNCTIONS = re.compile(r"fn|func|body|activation|initializer")
_TOLD = "name: By which hooks find the result, in a `model_fn`."
_IGNORED = "name: Ignored."
# The section Args of a docstring, up to the next line that is not indented.
_SECTION = re.compile(r"(?<=\n)Args:\n(?:    .*\n?|\n(?=    ))*")


class Op(Protocol[_Arguments, _Made]):
    """A function that takes `name` besides its own arguments."""

    __name__: str

    @overload
    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Made: ...

    @overload
    def __call__(self, *args: object, name: str | None, **kwargs: object) -> _Made: ...


@overload
def op(function: Callable[_Arguments, _Result], /) -> Op[_Arguments, _Result]: ...


@overload
def op(
    *,
    name: str | None = None,
    doc: str | None = None,
    name_after: str | None = None,
    name_default: str | None = None,
    arrays: Sequence[str] = (),
    sends: bool = False,
    numbers: bool = True,
    lists: Sequence[str] = (),
    is_checked: bool = False,
    text: Sequence[str] = (),
    is_told: bool = True,
    is_raw: bool = False,
) -> Callable[[Callable[_Arguments, _Result]], Op[_Arguments, _Result]]: ...


def op(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    doc: str | None = None,
    name_after: str | None = None,
    name_default: str | None = None,
    arrays: Sequence[str] = (),
    sends: bool = False,
    numbers: bool = True,
    lists: Sequence[str] = (),
    is_checked: bool = False,
    text: Sequence[str] = (),
    is_told: bool = True,
    is_raw: bool = False,
) -> Any:
    """Make a function of `tf` of one that computes.

    It takes `name` besides, and gives tensors where a program asks for them. What other libraries raise names it. Calls
    whose operands are known later go to whoever records an export.

    Args:
        function: What computes.
        name: Its name, if it is not the function's.
        doc: Its docstring, if it is not the function's.
        name_after: The parameter that `name` follows, if it is not the last one that is given by position.
        name_default: The default of `name`; hooks do not know it.
        arrays: The names of its first parameters, its operands, where it depends on nothing else than these and
            options, and on the operands' values in no way that a compiled function could not; it changes nothing. It
            is computed at once, by one program, where all of these are JAX' arrays, or numbers beside such. `*name`
            for those that have no parameters of their own, behind one that is an option.
        sends: Whether it sends NumPy's arrays among these operands to a device, if it is not called in a pipeline, so
            that the program computes with them, too.
        numbers: Whether the program computes with Python's numbers among these operands, too; not if the function
            computes otherwise with a number that it can look at.
        lists: The names of these operands that may be lists, of arrays or of whole numbers.
        is_checked: Whether it tells `check_bound` of operands' values. They are looked at before the program runs.
        text: The names of operands that may be text: see :func:`or_text`.
        is_told: Whether hooks of a `model_fn` find its result by `name`, and RaggedTensors among its operands go to
            what there is for them.
        is_raw: Whether its result stays as it is, also where a program asks for tensors.
    """
    if function is None:
        # `@op(...)` with options: it is called again, with the function.
        return functools.partial(
            op,
            name=name,
            doc=doc,
            name_after=name_after,
            name_default=name_default,
            arrays=arrays,
            sends=sends,
            numbers=numbers,
            lists=lists,
            is_checked=is_checked,
            text=text,
            is_told=is_told,
            is_raw=is_raw,
        )
    if name is not None:
        function.__name__ = function.__qualname__ = name
    if doc is not None:
        function.__doc__ = doc
    signature, position = _add_name(
        inspect.signature(function), parameter("name", str | None, name_default), name_after
    )
    # Text is brought to the host innermost: what is told or recorded are the operands as they were given.
    taken = or_text(*text)(function) if text else function
    programs = None
    if arrays:
        programs = EagerPrograms(
            taken, arrays, sends=sends, numbers=numbers, lists=lists, is_checked=is_checked
        )
    made = _tell(taken, programs, position) if is_told else _call(taken, position, is_raw=is_raw)
    functools.update_wrapper(made, function)
    made.__signature__ = signature
    made.__doc__ = _describe_name(function.__doc__, _TOLD if is_told else _IGNORED)
    return made


def _add_name(
    signature: inspect.Signature, added: inspect.Parameter, after: str | None
) -> tuple[inspect.Signature, int]:
    """Return a signature with `name`, and its place among arguments without names."""
    parameters = list(signature.parameters.values())
    by_position = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    position = len(by_position) if after is None else by_position.index(after) + 1
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        # Behind `*args` a name comes by keyword only: no argument without a name has this place.
        position, added = sys.maxsize, added.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    parameters.insert(position, added)
    return signature.replace(parameters=parameters), position


def _describe_name(doc: str | None, line: str) -> str | None:
    # A function that is made of another one has it already.
    if doc is None or "\n    name: " in doc:
        return doc
    text = f"{inspect.cleandoc(doc)}\n"
    return _SECTION.sub(lambda found: f"{found[0].rstrip()}\n    {line}\n", text, count=1).rstrip()


def _call(function: Callable[..., Any], position: int, *, is_raw: bool) -> Any:
    compute = (raises_named if is_raw else gives_tensors)(function)

    def call_op(*args: object, **kwargs: object) -> Any:
        # An export's trace: what the host will know is called when the export runs.
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.record_call(call_op, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        if "name" in kwargs:
            del kwargs["name"]
        elif len(args) > position:
            args = (*args[:position], *args[position + 1 :])
        return compute(*args, **kwargs)

    return call_op


def _tell(function: Callable[..., Any], programs: EagerPrograms | None, position: int) -> Any:
    calls_back = any(_FUNCTIONS.search(parameter) for parameter in inspect.signature(function).parameters)
    # What a function of the user's raises stays as it is.
    compute = function if calls_back else gives_tensors(function)
    compute_plain = function if calls_back else raises_named(function)

    def call_op(*args: Any, **kwargs: Any) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            recorded = recorder.record_call(call_op, args, kwargs)
            if recorded is not NOT_RECORDED:
                return recorded
        name = None
        if "name" in kwargs:
            name = kwargs.pop("name")
        elif len(args) > position:
            name, args = args[position], (*args[:position], *args[position + 1 :])
        note = NOTE.get()
        if programs is not None and note is None:
            computed = programs.compute(args, kwargs)
            if computed is not NOT_COMPUTED:
                return computed
        if _holds_ragged(args, kwargs):
            # Whoever knows rows imports this module, and has registered.
            (module,) = providers.providers("calls with ragged operands")
            return module.of_ragged(function, args, kwargs)
        run = compute if note is None else compute_plain
        try:
            try:
                result = run(*args, **kwargs)
            except Exception as error:
                result = call_again(run, args, kwargs, error)
        except Exception as error:
            if calls_back and (symbol := call_symbolically(call_op, args, kwargs)) is not None:
                return symbol
            _tracebacks.shorten(error)
            raise
        return result if note is None else note(name, result)

    return call_op


def _holds_ragged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether there is a RaggedTensor among operands, or in a list that begins with one."""
    # This is asked at every call: nothing is looked at but types.
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is RaggedTensor or (
            (kind is list or kind is tuple) and value and type(value[0]) is RaggedTensor
        ):
            return True
    return False
