from ._functions import dropout as dropout
from ._functions import log_softmax as log_softmax
from ._functions import softmax as softmax
from ._functions import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from ._functions import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
