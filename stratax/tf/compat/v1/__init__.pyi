from . import losses as losses
from . import summary as summary
from . import train as train
