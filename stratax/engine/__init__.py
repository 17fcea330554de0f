"""The loop of training, evaluation and prediction between dispatches: what `fit` and estimators are built on.

Nothing here knows of Keras' models or of estimators. Names without an underscore in front are for the packages above.
"""

from stratax.engine._chief import from_chief as from_chief
from stratax.engine._chief import is_chief as is_chief
from stratax.engine._chief import parts_of_all as parts_of_all
from stratax.engine._chief import wait_for_all as wait_for_all
from stratax.engine._chief import writing as writing
from stratax.engine._hooks import EverySteps as EverySteps
from stratax.engine._hooks import Hook as Hook
from stratax.engine._input import StepInput as StepInput
from stratax.engine._input import check_strategy as check_strategy
from stratax.engine._loop import StepLoop as StepLoop
from stratax.engine._loop import blocks as blocks
from stratax.engine._passes import DatasetPasses as DatasetPasses
from stratax.engine._passes import NumberedPasses as NumberedPasses
from stratax.engine._plan import describe as describe
from stratax.engine._program import StepProgram as StepProgram
from stratax.engine._resumption import InputPosition as InputPosition
from stratax.engine._resumption import Resumption as Resumption
from stratax.engine._step_iterator import StepIterator as StepIterator
from stratax.engine._stop import CommonStop as CommonStop
