"""Whole programs with sessions compute what TensorFlow 2.15 computes: `tests/golden/session_cases.py`."""

import json
import pathlib

import numpy as np
import pytest

import stratax.tf.compat.v1 as tf
from stratax.tf import contrib
from tests.golden.session_cases import CASES, CONTRIB_CASES

_FOLDER = pathlib.Path(__file__).parents[2] / "golden"
GOLDEN = json.loads((_FOLDER / "sessions.json").read_text("utf-8"))
GOLDEN_CONTRIB = json.loads((_FOLDER / "sessions_contrib.json").read_text("utf-8"))


class _OfFirst(type):
    def __getattr__(cls, name):
        return contrib if name == "contrib" else getattr(tf, name)


class _First(metaclass=_OfFirst):
    """TensorFlow 1's `tf`."""


def find_differences(got, wanted, place=""):
    if isinstance(wanted, dict):
        found = {str(key): value for key, value in got.items()}
        if sorted(found) != sorted(wanted):
            return [f"{place}: {sorted(found)} instead of {sorted(wanted)}"]
        return [
            each for key in wanted for each in find_differences(found[key], wanted[key], f"{place}.{key}")
        ]
    if isinstance(wanted, list) and not isinstance(got, np.ndarray):
        if not isinstance(got, list | tuple) or len(got) != len(wanted):
            return [f"{place}: {got!r} instead of {wanted}"]
        pairs = enumerate(zip(got, wanted, strict=True))
        return [each for index, pair in pairs for each in find_differences(*pair, f"{place}[{index}]")]
    if wanted is None or isinstance(wanted, str | bool):
        own = got.decode() if isinstance(got, bytes) else got
        return [] if own == wanted else [f"{place}: {own!r} instead of {wanted!r}"]
    own, other = np.asarray(got), np.asarray(wanted)
    if own.dtype.kind in "OSU":
        return [] if own.astype(str).tolist() == wanted else [f"{place}: {got} instead of {wanted}"]
    if own.shape != other.shape:
        return [f"{place}: shape {own.shape} instead of {other.shape}"]
    close = np.allclose(own.astype(float), other.astype(float), rtol=1e-5, atol=1e-5, equal_nan=True)
    return [] if close else [f"{place}: {own} instead of {other}"]


@pytest.mark.parametrize("name", CASES)
def test_a_program_computes_what_tensorflow_computes(name):
    with tf.Graph().as_default():
        assert not find_differences(CASES[name](tf), GOLDEN[name])


@pytest.mark.parametrize("name", CONTRIB_CASES)
def test_a_program_with_contrib_computes_what_tensorflow_1_computes(name):
    with tf.Graph().as_default():
        assert not find_differences(CONTRIB_CASES[name](_First), GOLDEN_CONTRIB[name])
