"""The loop of training, evaluation and prediction between dispatches: what `fit` and estimators are built on.

Nothing here knows of Keras' models or of estimators. Names without an underscore in front are for the packages above.
"""

from stratax.engine._blocks import predict_block as predict_block
from stratax.engine._blocks import update_block as update_block
from stratax.engine._input import StepInput as StepInput
from stratax.engine._input import check_strategy as check_strategy
from stratax.engine._passes import DatasetPasses as DatasetPasses
from stratax.engine._passes import NumberedPasses as NumberedPasses
from stratax.engine._plan import describe as describe
from stratax.engine._resumption import InputPosition as InputPosition
from stratax.engine._resumption import Resumption as Resumption
from stratax.engine._step_iterator import StepIterator as StepIterator
