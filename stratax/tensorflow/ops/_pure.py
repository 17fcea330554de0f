"""Which modules of array functions change nothing and depend on their arguments alone (ops layer)."""

from stratax.data.vectorise import register_pure


def register() -> None:
    """Tell pipelines, which call such functions once for a block of elements."""
    register_pure(
        {
            "stratax.tensorflow.ops.arithmetic": (),
            "stratax.tensorflow.ops.arrays": (),
            "stratax.tensorflow.ops.bits": (),
            "stratax.tensorflow.ops.bitwise": (),
            "stratax.tensorflow.ops.blocks": (),
            "stratax.tensorflow.ops.creation": (),
            "stratax.tensorflow.ops.elementwise": (),
            "stratax.tensorflow.ops.indexing": (),
            "stratax.tensorflow.ops.linalg": (),
            "stratax.tensorflow.ops.nn": ("dropout",),
            "stratax.tensorflow.ops.normalization": (),
            "stratax.tensorflow.ops.ordering": (),
            "stratax.tensorflow.ops.quantization": (),
            "stratax.tensorflow.ops.ranges": (),
            "stratax.tensorflow.ops.reductions": (),
            "stratax.tensorflow.ops.segments": (),
            "stratax.tensorflow.ops.shapes": (),
            "stratax.tensorflow.ops.special": (),
            "stratax.tensorflow.ops.stateless": (),
        }
    )
