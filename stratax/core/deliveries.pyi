from ._capture import HostValue as HostValue
from ._deliveries import deliver as deliver
from ._deliveries import wait_for_deliveries as wait_for_deliveries
