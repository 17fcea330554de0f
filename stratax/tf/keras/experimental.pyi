"""`tf.keras.experimental`: schedules and layers that have other places now (tf layer)."""

from keras.optimizers.schedules import CosineDecay as CosineDecay
from keras.optimizers.schedules import CosineDecayRestarts as CosineDecayRestarts

from stratax.feature_column import SequenceFeatures as SequenceFeatures
from stratax.tensorflow.keras2.evaluating import SidecarEvaluator as SidecarEvaluator
