"""`tf.keras.preprocessing.text`: Keras 2's tokenizer (tf layer)."""

from stratax.seams.keras_preprocessing import Tokenizer as Tokenizer
from stratax.seams.keras_preprocessing import hashing_trick as hashing_trick
from stratax.seams.keras_preprocessing import one_hot as one_hot
from stratax.seams.keras_preprocessing import text_to_word_sequence as text_to_word_sequence
from stratax.seams.keras_preprocessing import tokenizer_from_json as tokenizer_from_json
