"""Arrays lie in a checkpoint in chunks, and are read in parts, also those that Orbax has written."""

import jax
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
import pytest

from stratax.checkpoint import _arrays
from stratax.core.storage import HostParts

ROWS = np.arange(48, dtype="float32").reshape(8, 6)
HALVES = [((0, 4), (0, 6)), ((4, 8), (0, 6))]


def in_halves(*which):
    parts = {HALVES[each]: ROWS[4 * each : 4 * each + 4] for each in which}
    return HostParts((8, 6), ROWS.dtype, (4, 6), parts)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(_arrays, "_CHUNK_BYTES", 48)
    monkeypatch.setattr(_arrays, "_BYTES_AT_ONCE", 100)


@pytest.mark.parametrize(
    "kind", ["bool", "int8", "uint32", "float64", "complex64", "bfloat16", "float8_e4m3fn"]
)
def test_arrays_of_every_dtype_come_back(tmp_path, kind):
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    arrays = {"a/b": np.arange(6).reshape(2, 3).astype(dtype), "number": np.array(1, dtype)}
    _arrays.write(tmp_path / "arrays", arrays)
    found = _arrays.read(tmp_path / "arrays", dict.fromkeys(arrays))
    for key, array in arrays.items():
        assert (found[key].dtype, found[key].shape) == (dtype, array.shape)
        np.testing.assert_array_equal(found[key], array)


@pytest.mark.usefixtures("small_chunks")
def test_whatever_was_written_in_parts_is_read_whole_or_in_other_parts(tmp_path):
    _arrays.write(tmp_path / "arrays", {"v": in_halves(0, 1), "w": ROWS})
    columns = [((0, 8), (0, 2)), ((0, 8), (4, 6))]
    found = _arrays.read(tmp_path / "arrays", {"v": columns, "w": HALVES[1:]})
    assert found["v"].part_shape == (8, 2)
    for where, part in found["v"].parts.items():
        np.testing.assert_array_equal(part, ROWS[:, slice(*where[1])])
    np.testing.assert_array_equal(found["w"].parts[HALVES[1]], ROWS[4:])
    np.testing.assert_array_equal(_arrays.read(tmp_path / "arrays", {"v": None})["v"], ROWS)


@pytest.mark.usefixtures("small_chunks")
def test_processes_write_their_parts_and_one_database_is_made_of_them(tmp_path):
    whole = np.float32(3.0)
    _arrays.write(tmp_path / "arrays", {"v": in_halves(0), "whole": np.asarray(whole)}, 0)
    _arrays.write(tmp_path / "arrays", {"v": in_halves(1)}, 1)
    _arrays.merge(tmp_path / "arrays")
    found = _arrays.read(tmp_path / "arrays", {"v": None, "whole": None})
    np.testing.assert_array_equal(found["v"], ROWS)
    assert found["whole"] == whole


def test_a_part_that_nobody_wrote_is_damage(tmp_path):
    _arrays.write(tmp_path / "arrays", {"v": in_halves(0)})
    with pytest.raises(ValueError, match="NOT_FOUND"):
        _arrays.read(tmp_path / "arrays", {"v": None})
    np.testing.assert_array_equal(
        _arrays.read(tmp_path / "arrays", {"v": HALVES[:1]})["v"].parts[HALVES[0]], ROWS[:4]
    )


@pytest.mark.parametrize("array", [ROWS, jax.numpy.asarray(ROWS)])
def test_what_orbax_has_written_is_read(tmp_path, array):
    """Checkpoints of the first versions are of this kind."""
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=True, use_zarr3=True)
    with ocp.Checkpointer(handler) as orbax:
        orbax.save(
            tmp_path / "arrays", args=ocp.args.PyTreeSave({"model/kernel": array, "step": np.int32(3)})
        )
    found = _arrays.read(tmp_path / "arrays", {"model/kernel": HALVES[1:], "step": None})
    np.testing.assert_array_equal(found["model/kernel"].parts[HALVES[1]], ROWS[4:])
    assert found["step"] == 3


@pytest.mark.parametrize(
    ("shape", "part", "expected"),
    [
        ((), (), ()),
        ((4,), (4,), (4,)),
        # Twelve elements fit.
        ((100,), (100,), (11,)),
        ((6, 8), (6, 8), (1, 8)),
        ((1, 100), (1, 100), (1, 11)),
        # Parts of 24 rows and of 22: chunks divide them.
        ((96,), (24,), (12,)),
        ((66,), (22,), (11,)),
        # A prime, beside which there is another dimension.
        ((26, 40), (13, 40), (1, 10)),
        ((202,), (101,), (101,)),
    ],
)
@pytest.mark.usefixtures("small_chunks")
def test_chunks_are_small_and_none_lies_in_two_parts(shape, part, expected):
    assert _arrays.choose_chunk(HostParts(shape, ROWS.dtype, part, {})) == expected
    if shape == part:
        assert _arrays.choose_chunk(np.zeros(shape, "float32")) == expected


def test_many_arrays_are_a_few_files(tmp_path):
    arrays = {f"v/{number}": np.full(500, number, "float32") for number in range(300)}
    _arrays.write(tmp_path / "arrays", arrays)
    assert len([path for path in (tmp_path / "arrays").rglob("*") if path.is_file()]) < 20
    found = _arrays.read(tmp_path / "arrays", dict.fromkeys(arrays))
    assert all((found[key] == array).all() for key, array in arrays.items())


@pytest.mark.usefixtures("small_chunks")
def test_only_so_much_is_on_its_way_at_a_time():
    class Future:
        def result(self):
            results.append(len(results))

    results, window = [], _arrays._Window()
    for _ in range(3):
        window.add(Future(), 40)
    assert results == [0, 1, 2]
    window.add(Future(), 40)
    assert len(results) == 3
    window.finish()
    assert len(results) == 4
