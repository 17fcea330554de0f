from ._lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from ._lookup import StaticHashTable as StaticHashTable
from ._lookup import StaticVocabularyTable as StaticVocabularyTable
from ._lookup import TextFileIndex as TextFileIndex
from ._lookup import TextFileInitializer as TextFileInitializer
