from ._writer import Summary as Summary
from ._writer import Writer as Writer
