from ._categorical import HashedCategoricalColumn as HashedCategoricalColumn
from ._categorical import IdentityCategoricalColumn as IdentityCategoricalColumn
from ._categorical import VocabularyFileCategoricalColumn as VocabularyFileCategoricalColumn
from ._categorical import VocabularyListCategoricalColumn as VocabularyListCategoricalColumn
from ._categorical import WeightedCategoricalColumn as WeightedCategoricalColumn
from ._categorical import categorical_column_with_hash_bucket as categorical_column_with_hash_bucket
from ._categorical import categorical_column_with_identity as categorical_column_with_identity
from ._categorical import categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file
from ._categorical import (
    categorical_column_with_vocabulary_file_v1 as categorical_column_with_vocabulary_file_v1,
)
from ._categorical import categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list
from ._categorical import weighted_categorical_column as weighted_categorical_column
from ._column import CategoricalColumn as CategoricalColumn
from ._column import DenseColumn as DenseColumn
from ._column import FeatureColumn as FeatureColumn
from ._crossed import CrossedColumn as CrossedColumn
from ._crossed import crossed_column as crossed_column
from ._dense_features import DenseFeatures as DenseFeatures
from ._dense_features import SequenceFeatures as SequenceFeatures
from ._embedding import EmbeddingColumn as EmbeddingColumn
from ._embedding import IndicatorColumn as IndicatorColumn
from ._embedding import SharedEmbeddingColumn as SharedEmbeddingColumn
from ._embedding import embedding_column as embedding_column
from ._embedding import indicator_column as indicator_column
from ._embedding import shared_embedding_columns as shared_embedding_columns
from ._embedding import shared_embeddings as shared_embeddings
from ._models import input_layer as input_layer
from ._models import linear_inputs as linear_inputs
from ._models import linear_model as linear_model
from ._models import make_parse_example_spec as make_parse_example_spec
from ._numeric import BucketizedColumn as BucketizedColumn
from ._numeric import NumericColumn as NumericColumn
from ._numeric import bucketized_column as bucketized_column
from ._numeric import numeric_column as numeric_column
from ._sequence import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from ._sequence import sequence_categorical_column_with_identity as sequence_categorical_column_with_identity
from ._sequence import (
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
)
from ._sequence import (
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
)
from ._sequence import sequence_numeric_column as sequence_numeric_column
from ._sources import Transformation as Transformation
