from ._eager_metrics import Accuracy as Accuracy
from ._eager_metrics import BinaryAccuracy as BinaryAccuracy
from ._eager_metrics import CategoricalAccuracy as CategoricalAccuracy
from ._eager_metrics import Mean as Mean
from ._eager_metrics import SparseAccuracy as SparseAccuracy
