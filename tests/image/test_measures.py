"""How alike images are."""

import numpy as np

from stratax import image


def test_an_image_is_like_itself_and_less_like_another():
    one = np.linspace(0, 1, 16 * 16 * 3, dtype=np.float32).reshape(1, 16, 16, 3)
    np.testing.assert_allclose(image.ssim(one, one, 1.0), [1], rtol=1e-6)
    assert np.asarray(image.ssim(one, one[:, ::-1], 1.0)).item() < 0.9
    # A difference of a tenth everywhere: 20 decibels.
    np.testing.assert_allclose(image.psnr(one, one + np.float32(0.1), 1.0), [20], rtol=1e-4)
