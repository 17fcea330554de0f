from keras.utils import *

from stratax.keras2.evaluating import SidecarEvaluator as SidecarEvaluator
from stratax.keras2.layers import to_ordinal as to_ordinal

from . import experimental as experimental
