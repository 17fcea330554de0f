"""Reads `v1.npz`, which `make_v1.py` makes."""

import json
import pathlib

import numpy as np


def read() -> dict[str, np.ndarray]:
    """What TensorFlow gave, by kind and case."""
    with np.load(pathlib.Path(__file__).with_name("v1.npz")) as file:
        shapes, values = json.loads(file["index"].tobytes()), file["values"]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(values, ends[:-1])
    return {key: part.reshape(shape) for (key, shape), part in zip(shapes.items(), parts, strict=True)}
