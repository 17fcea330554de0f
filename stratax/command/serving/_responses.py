"""From arrays to a response's JSON, by TensorFlow Serving's rules (serving layer).

One output stands without its name, several are objects. Text is text, and base64 where the output's name ends with
`_bytes`. NaN, Infinity and -Infinity are written as these words, as TensorFlow Serving does.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadArgumentError

_BYTES = "_bytes"


def predict_response(outputs: Mapping[str, np.ndarray], *, is_row_wise: bool) -> bytes:
    """Return the answer to a `:predict`.

    Args:
        outputs: What the signature gave, by name.
        is_row_wise: Whether it was asked for `instances`.

    Raises:
        BadArgumentError: The outputs can't be divided into rows, or text in them is none.
    """
    if not is_row_wise:
        columns = {name: _list_values(name, array) for name, array in outputs.items()}
        return _dump({"outputs": columns if len(columns) > 1 else next(iter(columns.values()), {})})
    rows: int | None = None
    for name, array in outputs.items():
        if not array.shape or rows not in (None, array.shape[0]):
            raise BadArgumentError(
                f"The output {shown(name)} can't be divided into predictions. Expected: {rows or 'some'} rows. "
                f"Received: shape {array.shape}. Send 'inputs' in place of 'instances'."
            )
        rows = array.shape[0]
    listed = {name: _list_values(name, array) for name, array in outputs.items()}
    if len(listed) == 1:
        return _dump({"predictions": next(iter(listed.values()))})
    return _dump(
        {"predictions": [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]}
    )


def classify_response(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Return the answer to a `:classify`: for each example pairs of a label and a score.

    Args:
        outputs: What the signature gave: "classes", "scores" or both, of shape `(batch, n)`.

    Raises:
        BadArgumentError: It gave neither, or they do not fit together.
    """
    classes, scores = outputs.get("classes"), outputs.get("scores")
    found = [each for each in (classes, scores) if each is not None]
    if not found or any(each.ndim != 2 or each.shape != found[0].shape for each in found):
        raise BadArgumentError(
            "A classification gives 'classes', 'scores' or both, of shape (batch, n). Received: "
            f"{', '.join(f'{name} of shape {array.shape}' for name, array in outputs.items())}."
        )
    # As TensorFlow Serving does without one of them.
    labels = np.full(found[0].shape, b"", object) if classes is None else classes
    numbers = np.zeros(found[0].shape, np.float32) if scores is None else scores
    rows = zip(_list_values("classes", labels), _list_values("scores", numbers), strict=True)
    return _dump({"result": [[list(pair) for pair in zip(*row, strict=True)] for row in rows]})


def regress_response(outputs: Mapping[str, np.ndarray]) -> bytes:
    """Return the answer to a `:regress`: a number for each example.

    Args:
        outputs: What the signature gave: "outputs", of shape `(batch,)` or `(batch, 1)`.

    Raises:
        BadArgumentError: It gave something else.
    """
    array = outputs.get("outputs")
    if array is None or array.ndim not in (1, 2) or array.shape[1:] not in ((), (1,)):
        raise BadArgumentError(
            "A regression gives 'outputs', of shape (batch,) or (batch, 1). Received: "
            f"{', '.join(f'{name} of shape {array.shape}' for name, array in outputs.items())}."
        )
    return _dump({"result": _list_values("outputs", array.reshape(-1))})


def _dump(values: object) -> bytes:
    return json.dumps(values).encode()


def _list_values(name: str, array: np.ndarray) -> Any:
    if array.dtype == object:
        texts = [_text(name, each) for each in array.flat]
        made = np.empty(len(texts), object)
        made[:] = texts
        return made.reshape(array.shape).tolist()
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "c":
        raise BadArgumentError(f"The output {shown(name)} can't be sent as JSON. Its dtype is {array.dtype}.")
    if array.dtype == np.float64:
        return array.tolist()
    if not array.dtype.isbuiltin and array.dtype.name in ("int4", "uint4"):
        return array.astype(np.int8).tolist()
    # The shortest decimals that give the float32 again: 0.1, and not 0.10000000149011612.
    return array.astype(np.float32).astype("U16").astype(np.float64).tolist()


def _text(name: str, value: bytes) -> Any:
    if name.endswith(_BYTES):
        return {"b64": base64.b64encode(value).decode()}
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise BadArgumentError(
            f"The output {shown(name)} has bytes that are no UTF-8 text. Export it under a name that ends with "
            f"'{_BYTES}', and it is sent as base64."
        ) from error
