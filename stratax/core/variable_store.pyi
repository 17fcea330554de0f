from ._reads import has_listeners as has_listeners
from ._variable_store import VariableStore as VariableStore
from ._variable_store import has_value as has_value
from ._variable_store import keep as keep
from ._variable_store import overwrite as overwrite
from ._variable_store import read_all as read_all
from ._variable_store import store_of as store_of
from ._variable_store import write_all as write_all
