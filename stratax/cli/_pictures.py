"""Images as text, for a terminal that shows nothing else (cli layer)."""

import numpy as np

_SHADES = np.array(list(" .:-=+*#%@"))
_MAX_ROWS = 14


def draw(image: np.ndarray) -> str:
    """Draw a grey image with characters.

    Args:
        image: float `[height, width]` between 0 and 1, on the host. One taller than 14 rows is drawn smaller.

    Returns:
        Lines of one length. A character is about twice as high as wide, so it stands for half a square.
    """
    factor = -(-image.shape[0] // _MAX_ROWS)
    if factor > 1:
        # Twice the factor downwards: then one character is a whole square.
        image = _pool(image, 2 * factor, factor)
    else:
        image = np.repeat(image, 2, axis=1)
    shades = np.clip(np.rint(image * (len(_SHADES) - 1)), 0, len(_SHADES) - 1).astype(int)
    return "\n".join("".join(row) for row in _SHADES[shades])


def _pool(image: np.ndarray, down: int, across: int) -> np.ndarray:
    height, width = image.shape[0] // down, image.shape[1] // across
    blocks = image[: height * down, : width * across].reshape(height, down, width, across)
    return blocks.mean(axis=(1, 3))
