"""`tf.strings` (tf layer)."""

from stratax.tensorflow.ops.text.string_parts import bytes_split as bytes_split
from stratax.tensorflow.ops.text.string_parts import format as format
from stratax.tensorflow.ops.text.string_parts import ngrams as ngrams
from stratax.tensorflow.ops.text.string_parts import reduce_join as reduce_join
from stratax.tensorflow.ops.text.string_parts import split as split
from stratax.tensorflow.ops.text.string_parts import unsorted_segment_join as unsorted_segment_join
from stratax.tensorflow.ops.text.strings import as_string as as_string
from stratax.tensorflow.ops.text.strings import join as join
from stratax.tensorflow.ops.text.strings import length as length
from stratax.tensorflow.ops.text.strings import lower as lower
from stratax.tensorflow.ops.text.strings import regex_full_match as regex_full_match
from stratax.tensorflow.ops.text.strings import regex_replace as regex_replace
from stratax.tensorflow.ops.text.strings import strip as strip
from stratax.tensorflow.ops.text.strings import substr as substr
from stratax.tensorflow.ops.text.strings import to_hash_bucket as to_hash_bucket
from stratax.tensorflow.ops.text.strings import to_hash_bucket_fast as to_hash_bucket_fast
from stratax.tensorflow.ops.text.strings import to_hash_bucket_strong as to_hash_bucket_strong
from stratax.tensorflow.ops.text.strings import to_number as to_number
from stratax.tensorflow.ops.text.strings import upper as upper
from stratax.tensorflow.ops.text.unicode import unicode_decode as unicode_decode
from stratax.tensorflow.ops.text.unicode import unicode_decode_with_offsets as unicode_decode_with_offsets
from stratax.tensorflow.ops.text.unicode import unicode_encode as unicode_encode
from stratax.tensorflow.ops.text.unicode import unicode_split as unicode_split
from stratax.tensorflow.ops.text.unicode import unicode_split_with_offsets as unicode_split_with_offsets
from stratax.tensorflow.ops.text.unicode import unicode_transcode as unicode_transcode
