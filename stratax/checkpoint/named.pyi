from ._graph import NamedVariables as NamedVariables
from ._graph import Trackable as Trackable
from ._named_values import NamedValues as NamedValues
from ._named_values import give as give
from ._tensorflow import is_written_by_tensorflow as is_written_by_tensorflow
