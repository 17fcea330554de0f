from ._learn import run as run
