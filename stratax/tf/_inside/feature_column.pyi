"""What programs import of `tensorflow.python.feature_column` (tf layer)."""

import stratax.tensorflow.feature_column
from stratax.tensorflow.feature_column import BucketizedColumn as BucketizedColumn
from stratax.tensorflow.feature_column import CategoricalColumn as CategoricalColumn
from stratax.tensorflow.feature_column import CrossedColumn as CrossedColumn
from stratax.tensorflow.feature_column import DenseColumn as DenseColumn
from stratax.tensorflow.feature_column import EmbeddingColumn as EmbeddingColumn
from stratax.tensorflow.feature_column import FeatureColumn as FeatureColumn
from stratax.tensorflow.feature_column import HashedCategoricalColumn as HashedCategoricalColumn
from stratax.tensorflow.feature_column import IdentityCategoricalColumn as IdentityCategoricalColumn
from stratax.tensorflow.feature_column import IndicatorColumn as IndicatorColumn
from stratax.tensorflow.feature_column import NumericColumn as NumericColumn
from stratax.tensorflow.feature_column import SharedEmbeddingColumn as SharedEmbeddingColumn
from stratax.tensorflow.feature_column import (
    VocabularyFileCategoricalColumn as VocabularyFileCategoricalColumn,
)
from stratax.tensorflow.feature_column import (
    VocabularyListCategoricalColumn as VocabularyListCategoricalColumn,
)
from stratax.tensorflow.feature_column import WeightedCategoricalColumn as WeightedCategoricalColumn
from stratax.tf.compat.v1.feature_column import *

_BucketizedColumn = stratax.tensorflow.feature_column.BucketizedColumn
_CategoricalColumn = stratax.tensorflow.feature_column.CategoricalColumn
_CrossedColumn = stratax.tensorflow.feature_column.CrossedColumn
_DenseColumn = stratax.tensorflow.feature_column.DenseColumn
_EmbeddingColumn = stratax.tensorflow.feature_column.EmbeddingColumn
_FeatureColumn = stratax.tensorflow.feature_column.FeatureColumn
_HashedCategoricalColumn = stratax.tensorflow.feature_column.HashedCategoricalColumn
_IdentityCategoricalColumn = stratax.tensorflow.feature_column.IdentityCategoricalColumn
_IndicatorColumn = stratax.tensorflow.feature_column.IndicatorColumn
_NumericColumn = stratax.tensorflow.feature_column.NumericColumn
_SharedEmbeddingColumn = stratax.tensorflow.feature_column.SharedEmbeddingColumn
_VocabularyFileCategoricalColumn = stratax.tensorflow.feature_column.VocabularyFileCategoricalColumn
_VocabularyListCategoricalColumn = stratax.tensorflow.feature_column.VocabularyListCategoricalColumn
_WeightedCategoricalColumn = stratax.tensorflow.feature_column.WeightedCategoricalColumn
