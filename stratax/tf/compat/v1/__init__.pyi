from . import train as train
