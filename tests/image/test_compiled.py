"""What Numba compiles gives NumPy's numbers, to the bit, and is never a reason for anything to fail."""

import fcntl
import itertools
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from stratax import image
from stratax.image import _compiled, _loops

OPERATIONS = {
    "smaller": lambda x: image.resize(x, (17, 23)),
    "much smaller": lambda x: image.resize(x, (4, 6)),
    "larger": lambda x: image.resize(x, (70, 90)),
    "corners": lambda x: image.resize_bilinear(x, (20, 90), align_corners=True),
    "points": lambda x: image.resize_bilinear(x, (70, 20)),
    "mirrored": image.flip_left_right,
    "contrast": lambda x: image.adjust_contrast(x, 1.7),
    "brightness": lambda x: image.adjust_brightness(x, 0.2),
    "saturation": lambda x: image.adjust_saturation(x, 1.6),
    "gray": lambda x: image.adjust_saturation(x, 0.0),
    "hue": lambda x: image.adjust_hue(x, 0.3),
    "hue back": lambda x: image.adjust_hue(x, -0.8),
    "floats": lambda x: image.convert_image_dtype(x, "float32"),
    "bytes": lambda x: image.convert_image_dtype(x, "uint8", saturate=True),
}
COLORS_ONLY = ("saturation", "gray", "hue", "hue back")
VIEWS = {
    "whole": lambda x: x,
    "part": lambda x: x[..., 3:30, 2:41, :],
    "reversed": lambda x: x[..., ::-1, :, :],
    "read-only": lambda x: _read_only(x),
    "unaligned": lambda x: _unaligned(x),
    "columns first": lambda x: np.asfortranarray(x),
}
needs_numba = pytest.mark.skipif(
    _compiled.numba() is None, reason="Numba is not installed (the extra image-speed)"
)


def _read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def _unaligned(array):
    data = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    data[:] = array
    return data


def photo(dtype, shape=(41, 52, 3)):
    numbers = np.random.default_rng(0).integers(0, 256, shape)
    # Some beyond what a byte holds, some gray, some black.
    numbers[..., 3, 3, :], numbers[..., 4, 4, :] = 77, 0
    return numbers.astype(dtype) if dtype == "uint8" else (numbers / 200 - 0.1).astype(dtype)


@needs_numba
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_loops_give_the_numbers_of_numpy(monkeypatch, name, view, dtype):
    for shape in ((41, 52, 3), (2, 41, 52, 3), (41, 52, 4)):
        if name in COLORS_ONLY and shape[-1] != 3:
            continue
        operand = VIEWS[view](photo(dtype, shape))
        before = operand.copy()
        compiled = OPERATIONS[name](operand)
        np.testing.assert_array_equal(operand, before)
        with monkeypatch.context() as patch:
            patch.setattr(_compiled, "numba", lambda: None)
            wanted = OPERATIONS[name](operand)
        assert (compiled.dtype, type(compiled)) == (wanted.dtype, type(wanted))
        np.testing.assert_array_equal(compiled, wanted)


@needs_numba
def test_loops_are_compiled_for_bytes_and_floats_alone():
    assert _compiled.loop_for(_loops.mirror, photo("uint8")) is not None
    assert _compiled.loop_for(_loops.mirror, photo("float32")) is not None
    for other in (
        photo("float16"),
        photo("float32").astype(">f4"),
        _unaligned(photo("float32")),
        np.ma.array(photo("uint8")),
    ):
        assert _compiled.loop_for(_loops.mirror, other) is None


@needs_numba
def test_invalid_numbers_are_reported_as_by_numpy(monkeypatch):
    odd = np.array([[[np.nan, 1, 0.5], [np.inf, 0, 0], [-np.inf, 2, 1], [-1, -2, -3]]], np.float32)
    operations = [OPERATIONS[name] for name in ("bytes", "mirrored", "saturation", "hue")]
    with np.errstate(invalid="ignore"):
        compiled = [operation(odd) for operation in operations]
        monkeypatch.setattr(_compiled, "numba", lambda: None)
        for one, operation in zip(compiled, operations, strict=True):
            np.testing.assert_array_equal(one, operation(odd))


@needs_numba
def test_a_folder_that_can_not_be_used_costs_time_only(monkeypatch):
    def full(*_, **options):
        if options.get("cache"):
            raise OSError("No space left on device")
        return jit(*_, **options)

    jit = _compiled._jit
    monkeypatch.setattr(_compiled, "_jit", full)
    flip, mirrored = _compiled._compile(_loops.mirror, "uint8"), np.empty((41, 52, 3), np.uint8)
    flip(photo("uint8"), mirrored)
    np.testing.assert_array_equal(mirrored, photo("uint8")[:, ::-1])


def test_one_process_at_a_time_writes_into_a_folder(tmp_path):
    with _compiled._alone(tmp_path):
        descriptor = os.open(tmp_path / _compiled._LOCK_FILE, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


@needs_numba
@pytest.mark.stress
@pytest.mark.processes
def test_processes_that_begin_at_once_compile_into_one_folder(tmp_path):
    program = """
import numpy as np
from stratax import image
from stratax.image import _compiled, _loops
for dtype in ("uint8", "float32"):
    photo = np.arange(60, dtype=dtype).reshape(4, 5, 3)
    loop = _compiled.loop_for(_loops.mirror, photo)
    assert (image.flip_left_right(photo) == photo[:, ::-1]).all()
print(sum(loop.stats.cache_hits.values()))
"""
    environment = {name: value for name, value in os.environ.items() if name != "STRATAX_SIMULATE"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)

    def begin():
        return subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
        )

    found = [process.communicate(timeout=120)[0] for process in [begin() for _ in range(3)]]
    found.append(begin().communicate(timeout=120)[0])
    assert "" not in found
    assert int(found[-1]) == 1
    kept = sorted(path.name for path in pathlib.Path(tmp_path).rglob("*.nbc"))
    assert len(kept) == 2


def test_without_numba_numpy_computes_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert _compiled.numba.__wrapped__() is None
    assert not list(_warnings_of(monkeypatch))


def test_a_numba_that_can_not_be_imported_is_reported_once(monkeypatch):
    def refuse(name):
        raise ImportError("Numba needs NumPy 2.9 or less")

    monkeypatch.setattr(_compiled.importlib, "import_module", refuse)
    (warning,) = _warnings_of(monkeypatch)
    assert (
        warning
        == "Images are computed with NumPy alone: Numba can't be imported: Numba needs NumPy 2.9 or less"
    )


def _warnings_of(monkeypatch):
    told = []
    monkeypatch.setattr(_compiled._logger, "warning", lambda text, *values: told.append(text % values))
    assert _compiled.numba.__wrapped__() is None
    return itertools.chain(told)


@needs_numba
def test_a_numba_that_is_told_not_to_compile_is_not_used(monkeypatch):
    monkeypatch.setattr(_compiled.numba().config, "DISABLE_JIT", True)
    assert _compiled.numba.__wrapped__() is None


def test_a_process_that_keeps_the_lock_stops_nobody_for_long(tmp_path, monkeypatch):
    monkeypatch.setattr(_compiled, "_PATIENCE", 0.1)
    with open(tmp_path / _compiled._LOCK_FILE, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with (
            pytest.raises(TimeoutError, match="has been compiling loops for over"),
            _compiled._alone(tmp_path),
        ):
            pass
    with _compiled._alone(tmp_path):
        pass
