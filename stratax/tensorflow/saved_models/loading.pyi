from ._import_graph import GraphDef as GraphDef
from ._import_graph import MetaGraphDef as MetaGraphDef
from ._import_graph import NodeDef as NodeDef
from ._import_graph import import_graph_def as import_graph_def
from ._load import contains_saved_model as contains_saved_model
from ._load import load as load
from ._meta_graph import import_meta_graph as import_meta_graph
from ._session_loading import load_into_session as load_into_session
