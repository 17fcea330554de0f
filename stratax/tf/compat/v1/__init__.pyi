from . import losses as losses
from . import train as train
