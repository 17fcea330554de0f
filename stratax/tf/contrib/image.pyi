"""`tf.contrib.image`: images turned, moved and bent (tf layer)."""

from stratax.tensorflow.ops.signal.warps import (
    angles_to_projective_transforms as angles_to_projective_transforms,
)
from stratax.tensorflow.ops.signal.warps import compose_transforms as compose_transforms
from stratax.tensorflow.ops.signal.warps import dense_image_warp as dense_image_warp
from stratax.tensorflow.ops.signal.warps import flat_transforms_to_matrices as flat_transforms_to_matrices
from stratax.tensorflow.ops.signal.warps import matrices_to_flat_transforms as matrices_to_flat_transforms
from stratax.tensorflow.ops.signal.warps import rotate as rotate
from stratax.tensorflow.ops.signal.warps import transform as transform
from stratax.tensorflow.ops.signal.warps import translate as translate
from stratax.tensorflow.ops.signal.warps import (
    translations_to_projective_transforms as translations_to_projective_transforms,
)
