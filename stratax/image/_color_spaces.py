"""Colors as brightness and two differences: YIQ and YUV (image layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.typing import TensorLike
from stratax.data.vectorise import gives_tensors
from stratax.image._arrays import as_image, check_channels
from stratax.image._dtypes import is_floating

# From red, green and blue (rows) to brightness and the differences (columns); TensorFlow's numbers.
_MATRICES = {
    "rgb_to_yiq": ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617), (0.114, -0.32134392, 0.31119955)),
    "yiq_to_rgb": ((1, 1, 1), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049)),
    "rgb_to_yuv": (
        (0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512), (0.114, 0.43601035, -0.10001026),
    ),
    "yuv_to_rgb": ((1, 1, 1), (0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0)),
}  # fmt: skip


def _conversion(name: str) -> Callable[[TensorLike], Any]:
    source, target = name.upper().split("_TO_")

    def function(images: TensorLike) -> Any:
        array, xp = as_image(images)
        check_channels(array, 3, "images")
        matrix = np.array(_MATRICES[name], array.dtype if is_floating(array.dtype) else np.float32)
        return sum(array[..., i : i + 1] * xp.asarray(matrix[i]) for i in range(3))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return images in {target} instead of {source}, as `tf.image.{name}`.

    Args:
        images: Floats, of which the last axis has the three numbers of a color.

    Returns:
        An array of images' shape, where `images` is.

    Raises:
        BadArgumentError: If the last axis has not three entries.
    """
    return gives_tensors(function)


rgb_to_yiq = _conversion("rgb_to_yiq")
rgb_to_yuv = _conversion("rgb_to_yuv")
yiq_to_rgb = _conversion("yiq_to_rgb")
yuv_to_rgb = _conversion("yuv_to_rgb")
