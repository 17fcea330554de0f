from . import inception as inception
