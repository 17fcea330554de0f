"""`tf.nest`, which is `keras.tree` (tf layer)."""

from keras.tree import assert_same_structure as assert_same_structure
from keras.tree import flatten as flatten
from keras.tree import is_nested as is_nested
from keras.tree import map_structure as map_structure
from keras.tree import pack_sequence_as as pack_sequence_as

from stratax.tf._names import missing_name

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
__getattr__ = missing_name(__name__, __all__)
