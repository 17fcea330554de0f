"""Which modules of array functions change nothing and depend on their arguments alone (ops layer)."""

from stratax.data.vectorise import register_pure


def register() -> None:
    """Tell pipelines, which call such functions once for a block of elements."""
    register_pure(
        {
            "stratax.ops.arithmetic": (),
            "stratax.ops.arrays": (),
            "stratax.ops.bits": (),
            "stratax.ops.bitwise": (),
            "stratax.ops.blocks": (),
            "stratax.ops.creation": (),
            "stratax.ops.elementwise": (),
            "stratax.ops.indexing": (),
            "stratax.ops.linalg": (),
            "stratax.ops.nn": ("dropout",),
            "stratax.ops.normalization": (),
            "stratax.ops.ordering": (),
            "stratax.ops.quantization": (),
            "stratax.ops.ranges": (),
            "stratax.ops.reductions": (),
            "stratax.ops.segments": (),
            "stratax.ops.shapes": (),
            "stratax.ops.special": (),
            "stratax.ops.stateless": (),
        }
    )
