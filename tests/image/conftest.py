"""Operations on NumPy arrays are tested twice: as NumPy computes them, and with loops that Numba compiles."""

import pytest

from stratax.image import _compiled


@pytest.fixture(params=["alone", "compiled"])
def _loops(request, monkeypatch):
    """What computes; modules take both by `pytestmark = pytest.mark.usefixtures("_loops")`."""
    if request.param == "alone":
        monkeypatch.setattr(_compiled, "numba", lambda: None)
    elif _compiled.numba() is None:
        pytest.skip("Numba is not installed (the extra image-speed)")


def pytest_collection_modifyitems(items):
    """Leaves out the second run of what is computed by JAX, where nothing is compiled by Numba."""
    items[:] = [item for item in items if not ("jax" in item.name and "compiled" in item.name)]
