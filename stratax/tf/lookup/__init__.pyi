from stratax.ops.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from stratax.ops.lookup import StaticHashTable as StaticHashTable
from stratax.ops.lookup import StaticVocabularyTable as StaticVocabularyTable
from stratax.ops.lookup import TextFileIndex as TextFileIndex
from stratax.ops.lookup import TextFileInitializer as TextFileInitializer

from . import experimental as experimental
