from ._named_values import NamedValues as NamedValues
from ._named_values import give as give
from ._tensorflow import Bundle as Bundle
from ._tensorflow import is_written_by_tensorflow as is_written_by_tensorflow
