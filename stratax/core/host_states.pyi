from ._host_state import HostConstant as HostConstant
from ._host_state import HostState as HostState
