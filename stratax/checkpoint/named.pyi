from ._graph import NamedVariables as NamedVariables
