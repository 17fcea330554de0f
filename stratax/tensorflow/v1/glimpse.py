"""`tf.compat.v1.image.extract_glimpse`: parts of images around places (v1 layer)."""

from typing import Any

import jax.numpy as jnp

from stratax import image
from stratax.base.typing import TensorLike


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """Return a part of each image, around a place, as `tf.compat.v1.image.extract_glimpse`.

    Args:
        input: Images, shape `[batch, height, width, channels]`.
        size: Height and width of the parts.
        offsets: The places of the parts' centers, shape `[batch, 2]`: y and x.
        centered: Whether places are counted from an image's center, and by halves; else from its corner.
        normalized: Whether places are parts of height and width; else pixels.
        uniform_noise: Whether what stands outside of images is uniform noise; else it is Gaussian.
        name: Ignored.
    """
    places = jnp.asarray(offsets, jnp.float32)
    whole = jnp.asarray(jnp.asarray(input).shape[1:3], jnp.float32)
    if normalized:
        places = places * whole
    if centered:
        # TensorFlow 1's kernel halves places around the middle also where they are pixels.
        places = (places + whole) / 2
    corners = places - jnp.asarray(size, jnp.float32) / 2
    noise = "uniform" if uniform_noise else "gaussian"
    return image.extract_glimpse(input, size, corners, centered=False, normalized=False, noise=noise)
