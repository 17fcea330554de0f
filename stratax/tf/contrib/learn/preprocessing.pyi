"""`tf.contrib.learn.preprocessing`: documents as rows of word ids (tf layer)."""

from stratax.tensorflow.contrib._text import CategoricalVocabulary as CategoricalVocabulary
from stratax.tensorflow.contrib._text import VocabularyProcessor as VocabularyProcessor
from stratax.tensorflow.contrib._text import tokenizer as tokenizer
