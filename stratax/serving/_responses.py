"""From arrays to a response's JSON, by TensorFlow Serving's rules (serving layer).

One output stands without its name, several are objects. Text is text, and base64 where the output's name ends with
`_bytes`. NaN, Infinity and -Infinity are written as these words, as TensorFlow Serving does.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax._shown import shown
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
        columns = {name: _listed(name, array) for name, array in outputs.items()}
        return _dumped({"outputs": columns if len(columns) > 1 else next(iter(columns.values()), {})})
    rows: int | None = None
    for name, array in outputs.items():
        if not array.shape or rows not in (None, array.shape[0]):
            raise BadArgumentError(
                f"The output {shown(name)} can't be divided into predictions. Expected: {rows or 'some'} rows. "
                f"Received: shape {array.shape}. Send 'inputs' in place of 'instances'."
            )
        rows = array.shape[0]
    listed = {name: _listed(name, array) for name, array in outputs.items()}
    if len(listed) == 1:
        return _dumped({"predictions": next(iter(listed.values()))})
    return _dumped(
        {"predictions": [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]}
    )


def _dumped(values: Any) -> bytes:
    return json.dumps(values).encode()


def _listed(name: str, array: np.ndarray) -> Any:
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
