from ._inception import inception_v3 as inception_v3
from ._inception import inception_v3_arg_scope as inception_v3_arg_scope
from ._inception import inception_v3_base as inception_v3_base
