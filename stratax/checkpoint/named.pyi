from ._graph import NamedVariables as NamedVariables
from ._graph import Trackable as Trackable
