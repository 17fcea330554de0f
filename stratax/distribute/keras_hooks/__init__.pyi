from ._accumulation import flush as flush
from ._accumulation import observing as observing
from ._accumulation import prepare as prepare
from ._accumulation import weighing as weighing
from ._keras_hooks import apply_once as apply_once
from ._keras_hooks import applying as applying
from ._keras_hooks import install as install
from ._keras_hooks import reduce_gradients as reduce_gradients
