"""Reads `layers.npz`, which `make_layers.py` makes."""

import json
import pathlib

import numpy as np

with np.load(pathlib.Path(__file__).with_name("layers.npz")) as _file:
    _INDEX, _VALUES = json.loads(_file["index"].tobytes()), _file["values"]
_ENDS = np.cumsum([int(np.prod(shape)) for shape in _INDEX["shapes"].values()])

# By model: the names of its variables.
NAMES: dict[str, list[str]] = _INDEX["names"]
# By case.
VALUES: dict[str, np.ndarray] = {
    key: part.reshape(shape)
    for (key, shape), part in zip(_INDEX["shapes"].items(), np.split(_VALUES, _ENDS[:-1]), strict=True)
}
