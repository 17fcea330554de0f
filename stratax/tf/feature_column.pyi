"""`tf.feature_column` (tf layer)."""

from stratax.feature_column import bucketized_column as bucketized_column
from stratax.feature_column import categorical_column_with_hash_bucket as categorical_column_with_hash_bucket
from stratax.feature_column import categorical_column_with_identity as categorical_column_with_identity
from stratax.feature_column import (
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
)
from stratax.feature_column import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)
from stratax.feature_column import crossed_column as crossed_column
from stratax.feature_column import embedding_column as embedding_column
from stratax.feature_column import indicator_column as indicator_column
from stratax.feature_column import make_parse_example_spec as make_parse_example_spec
from stratax.feature_column import numeric_column as numeric_column
from stratax.feature_column import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from stratax.feature_column import (
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
)
from stratax.feature_column import (
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
)
from stratax.feature_column import (
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
)
from stratax.feature_column import sequence_numeric_column as sequence_numeric_column
from stratax.feature_column import shared_embeddings as shared_embeddings
from stratax.feature_column import weighted_categorical_column as weighted_categorical_column
