from stratax.tensorflow.ops.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from stratax.tensorflow.ops.lookup import StaticHashTable as StaticHashTable
from stratax.tensorflow.ops.lookup import StaticVocabularyTable as StaticVocabularyTable
from stratax.tensorflow.ops.lookup import TextFileIndex as TextFileIndex
from stratax.tensorflow.ops.lookup import TextFileInitializer as TextFileInitializer

from . import experimental as experimental
