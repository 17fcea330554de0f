"""`tf.lookup` (tf layer)."""

from stratax.tensorflow.ops.tables.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from stratax.tensorflow.ops.tables.lookup import StaticHashTable as StaticHashTable
from stratax.tensorflow.ops.tables.lookup import StaticVocabularyTable as StaticVocabularyTable
from stratax.tensorflow.ops.tables.lookup import TextFileIndex as TextFileIndex
from stratax.tensorflow.ops.tables.lookup import TextFileInitializer as TextFileInitializer

from . import experimental as experimental
