"""Operations on NumPy arrays are tested twice: as NumPy computes them, and with loops that Numba compiles."""

import pathlib

import pytest

from stratax.image import _compiled

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def leave_out_loops(monkeypatch):
    """Returns a function behind which NumPy computes without compiled loops, until the test ends."""
    return lambda: monkeypatch.setattr(_compiled, "numba", lambda: None)


@pytest.fixture(params=["alone", "compiled"])
def _loops(request, leave_out_loops):
    """What computes; modules take both by `pytestmark = pytest.mark.usefixtures("_loops")`."""
    if request.param == "alone":
        leave_out_loops()
    else:
        request.getfixturevalue("_compiled_loops")


@pytest.fixture
def _compiled_loops():
    """Leaves out what needs loops that Numba compiles, where it can't."""
    if _compiled.numba() is None:
        pytest.skip("Numba is not installed (the extra image-speed)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave out the second run of what JAX computes, and the run of NumPy alone to `make stress`.

    Nothing of JAX' is compiled by Numba; and what NumPy computes alone, without Numba, changes with the loops only.
    """
    items[:] = [item for item in items if not ("jax" in item.name and "compiled" in item.name)]
    for item in items:
        if item.path.is_relative_to(HERE) and "alone" in item.name and "jax" not in item.name:
            item.add_marker(pytest.mark.stress)
