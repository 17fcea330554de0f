"""Which modules of array functions change nothing and depend on their arguments alone (ops layer)."""

from stratax.data.vectorise import register_pure


def register() -> None:
    """Tell pipelines, which call such functions once for a block of elements."""
    register_pure(
        {
            "stratax.tensorflow.ops.math.arithmetic": (),
            "stratax.tensorflow.ops.arrays.arrays": (),
            "stratax.tensorflow.ops.math.bits": (),
            "stratax.tensorflow.ops.math.bitwise": (),
            "stratax.tensorflow.ops.arrays.blocks": (),
            "stratax.tensorflow.ops.calls.creation": (),
            "stratax.tensorflow.ops.math.elementwise": (),
            "stratax.tensorflow.ops.arrays.indexing": (),
            "stratax.tensorflow.ops.math.linalg": (),
            # Except for the functions in a tuple: dropout draws numbers.
            "stratax.tensorflow.ops.nn.nn": ("dropout",),
            "stratax.tensorflow.ops.nn.normalization": (),
            "stratax.tensorflow.ops.arrays.ordering": (),
            "stratax.tensorflow.ops.math.quantization": (),
            "stratax.tensorflow.ops.arrays.ranges": (),
            "stratax.tensorflow.ops.math.reductions": (),
            "stratax.tensorflow.ops.arrays.segments": (),
            "stratax.tensorflow.ops.arrays.shapes": (),
            "stratax.tensorflow.ops.math.special": (),
            "stratax.tensorflow.ops.random.stateless": (),
        }
    )
