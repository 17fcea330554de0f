"""`tf.nest`, which is `keras.tree` (tf layer)."""

from keras.tree import assert_same_structure as assert_same_structure
from keras.tree import flatten as flatten
from keras.tree import is_nested as is_nested
from keras.tree import map_structure as map_structure
from keras.tree import pack_sequence_as as pack_sequence_as
