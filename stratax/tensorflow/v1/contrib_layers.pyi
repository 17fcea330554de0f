import stratax.tensorflow.v1._contrib_layers

from ._contrib_layers import apply_regularization as apply_regularization
from ._contrib_layers import l1_l2_regularizer as l1_l2_regularizer
from ._contrib_layers import l1_regularizer as l1_regularizer
from ._contrib_layers import l2_regularizer as l2_regularizer
from ._contrib_layers import sum_regularizer as sum_regularizer
from ._contrib_layers import xavier_initializer as xavier_initializer

xavier_initializer_conv2d = stratax.tensorflow.v1._contrib_layers.xavier_initializer
