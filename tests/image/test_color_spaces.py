"""Colors in other spaces come back as they were."""

import numpy as np
import pytest

from stratax import image


@pytest.mark.parametrize("space", ["yuv", "yiq"])
def test_colors_come_back_and_gray_has_no_color(space):
    colors = np.random.default_rng(0).random((4, 4, 3), np.float32)
    there, back = getattr(image, f"rgb_to_{space}"), getattr(image, f"{space}_to_rgb")
    np.testing.assert_allclose(back(there(colors)), colors, atol=1e-4)
    gray = np.asarray(there(np.full((1, 1, 3), 0.5, np.float32))).ravel()
    np.testing.assert_allclose(gray, [0.5, 0, 0], atol=1e-4)
