from ._text import CategoricalVocabulary as CategoricalVocabulary
from ._text import VocabularyProcessor as VocabularyProcessor
from ._text import tokenizer as tokenizer
