from ._options import ServingOptions as ServingOptions
from ._server import ModelServer as ModelServer
