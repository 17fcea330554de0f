"""Cases of `tf.image`: boxes, patches, measures, colors."""
# ruff: noqa: E501

from collections.abc import Callable

from tests.golden.surface import Case

_X = "x = a(np.sin(np.arange(2 * 5 * 6 * 3)).reshape(2, 5, 6, 3) / 2 + 0.5, 'float32')"
_PAIR = "x = a(np.sin(np.arange(16 * 17 * 3)).reshape(1, 16, 17, 3) / 2 + 0.5, 'float32'); y = a(np.cos(np.arange(16 * 17 * 3) / 9).reshape(1, 16, 17, 3) / 2 + 0.5, 'float32')"
_BOXES = "b = f([[0.0, 0.0, 1.0, 1.0], [0.1, 0.1, 1.1, 1.1], [0.0, 0.5, 0.4, 0.9], [0.5, 0.0, 0.1, 0.4], [2.0, 2.0, 3.0, 3.0], [0.0, 0.0, 0.9, 1.0]]); s = f([0.9, 0.75, 0.6, 0.95, 0.3, 0.2])"
_MANY = "b = f(np.stack([np.stack([np.arange(8) / 10, np.arange(8) % 3 / 10, np.arange(8) / 10 + 0.35, np.arange(8) % 3 / 10 + 0.4], -1)] * 2))[:, :, None]; s = f(np.sin(np.arange(48)).reshape(2, 8, 3) / 2 + 0.5)"
_EAGER = ("device", "host")
# Images are computed with by the same lines on the device and in a compiled function, which is much quicker to test.
_MODES = ("host", "function")


def _with(before: str, tolerance: float = 1e-5) -> Callable[..., Case]:
    return lambda code, modes=_MODES: Case(f"{before}; {code}", modes, tolerance)


_x, _pair, _boxes, _many = _with(_X), _with(_PAIR, 1e-4), _with(_BOXES), _with(_MANY)

CASES = [
    _x("tf.image.crop_and_resize(x, f([[0.0, 0.0, 1.0, 1.0], [0.2, 0.1, 0.8, 0.7]]), i([0, 1]), [3, 4])"),
    _x("tf.image.crop_and_resize(x, f([[0.9, 0.0, 0.1, 1.5], [-0.5, 0.1, 0.8, 0.7]]), i([1, 1]), [3, 4], extrapolation_value=7.0)"),
    _x("tf.image.crop_and_resize(x, f([[0.2, 0.1, 0.8, 0.7]]), i([1]), [4, 5], method='nearest')"),
    _x("tf.image.crop_and_resize(x, f([[0.2, 0.1, 0.8, 0.7]]), i([0]), [1, 1])"),
    _x("tf.image.crop_and_resize(x, f([[0.2, 0.1, 0.8]]), i([0]), [1, 1])"),
    _x("tf.image.crop_and_resize(x, f([[0.2, 0.1, 0.8, 0.9]]), i([0]), [1, 1], method='cubic')"),
    Case("tf.image.crop_and_resize(a(np.arange(16).reshape(1, 4, 4, 1), 'uint8'), f([[0, 0, 1, 1]]), i([0]), [3, 3])"),
    _x("tf.image.draw_bounding_boxes(x, f([[[0.0, 0.0, 0.6, 0.7], [0.3, 0.3, 1.2, 0.9]]] * 2), None)"),
    _x("tf.image.draw_bounding_boxes(x, f([[[0.0, 0.0, 0.6, 0.7], [0.3, 0.3, 0.9, 1.0]]] * 2), f([[1.0, 0.5, 0.0], [0.0, 1.0, 1.0]]))"),
    _x("tf.image.draw_bounding_boxes(x[..., :1], f([[[0.0, 0.2, 0.6, 0.7]]] * 2), None)"),
    _x("tf.image.draw_bounding_boxes(x, f([[0.0, 0.2, 0.6, 0.7]]), None)"),
    _x("tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')"),
    _x("tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 1, 2, 1], 'SAME')"),
    _x("tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 1, 2, 1], 'ODD')"),
    _x("tf.compat.v1.image.extract_image_patches(x, [1, 2, 2, 1], [1, 3, 3, 1], [1, 1, 1, 1], 'VALID')"),
    _x("tf.image.extract_glimpse(x, [2, 3], f([[0.0, 0.0], [0.2, -0.3]]))"),
    _x("tf.image.extract_glimpse(x, [2, 3], f([[2.0, 3.0], [1.0, 2.0]]), centered=False, normalized=False)"),
    _x("tf.image.extract_glimpse(x, [4, 3], f([[0.9, 0.0], [-0.9, 0.2]]), noise='zero')"),
    _boxes("tf.image.non_max_suppression(b, s, 4)", _EAGER),
    _boxes("tf.image.non_max_suppression(b, s, 10, iou_threshold=0.9)", _EAGER),
    _boxes("tf.image.non_max_suppression(b, s, 3, 0.3, 0.5)", _EAGER),
    _boxes("tf.image.non_max_suppression(b, s, 3, 1.5)"),
    _boxes("tf.image.non_max_suppression(b, s[:3], 3)"),
    _boxes("tf.image.non_max_suppression(b[:0], s[:0], 3)", _EAGER),
    _boxes("tf.image.non_max_suppression_with_scores(b, s, 5, 1.0, 0.1, soft_nms_sigma=0.5)", _EAGER),
    _boxes("tf.image.non_max_suppression_with_scores(b, s, 5, 0.5)", _EAGER),
    _boxes("tf.image.non_max_suppression_padded(b, s, 8, 0.5, pad_to_max_output_size=True)"),
    _boxes("tf.image.non_max_suppression_padded(b, s, 8, 0.5)", _EAGER),
    Case("tf.image.non_max_suppression_overlaps(f([[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]]), f([0.5, 0.9, 0.4]), 3, 0.5)", _EAGER),
    _many("tf.image.combined_non_max_suppression(b, s, 3, 5)"),
    _many("tf.image.combined_non_max_suppression(b, s, 4, 20, iou_threshold=0.3, score_threshold=0.6)", ("host",)),
    _many("tf.image.combined_non_max_suppression(b * 2, s, 2, 20, pad_per_class=True, clip_boxes=False)", ("host",)),
    _many("tf.image.combined_non_max_suppression(b[0], s, 2, 20)"),
    _pair("tf.image.psnr(x, y, 1.0)"),
    _pair("tf.image.psnr(x[0], x[0], max_val=1.0)"),
    Case("tf.image.psnr(a(np.arange(12).reshape(2, 2, 3), 'uint8'), a(np.arange(12).reshape(2, 2, 3) + 9, 'uint8'), 255)"),
    _pair("tf.image.psnr(x, y[:, 1:], 1.0)"),
    _pair("tf.image.ssim(x, y, 1.0)"),
    _pair("tf.image.ssim(x[0], y[0], max_val=2.0, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.05)"),
    _pair("tf.image.ssim(x, y, 1.0, return_index_map=True)"),
    _pair("tf.image.ssim(x[:, :5], y[:, :5], 1.0)"),
    _pair("tf.image.ssim_multiscale(x, x * 0.9 + 0.05 * y, 1.0, power_factors=(0.4, 0.6), filter_size=5)"),
    _x("tf.image.sobel_edges(x)"),
    _x("tf.image.image_gradients(x)"),
    _x("tf.image.image_gradients(x[0])"),
    _x("tf.image.total_variation(x)"),
    _x("tf.image.total_variation(x[0])"),
    _x("tf.image.total_variation(x[0, 0])"),
    *(_x(f"tf.image.{name}(x)") for name in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "rgb_to_hsv", "hsv_to_rgb")),
    _x("tf.image.rgb_to_yuv(x[..., :2])"),
    Case("tf.image.adjust_jpeg_quality(a(np.full((16, 16, 3), 100), 'uint8'), 75)", _EAGER),
    Case("tf.image.adjust_jpeg_quality(a(np.full((8, 8, 1), 0.5), 'float32'), 50)", _EAGER),
    _x("tf.image.flip_left_right(x)"),
    _x("tf.image.rot90(x[0], 3)"),
    _x("tf.image.transpose(x)"),
    _x("tf.image.central_crop(x, 0.6)"),
    _x("tf.image.resize(x, [3, 9], 'lanczos3', antialias=True)"),
    _x("tf.image.resize(x, [3, 4], preserve_aspect_ratio=True)"),
    _x("tf.image.resize_with_pad(x, 8, 8)"),
    _x("tf.image.resize_with_crop_or_pad(x, 7, 4)"),
    _x("tf.image.per_image_standardization(x)"),
    Case("tf.image.convert_image_dtype(f([0.0, 0.5, 1.0, 2.0]), tf.uint8, saturate=True)"),
]  # fmt: skip
