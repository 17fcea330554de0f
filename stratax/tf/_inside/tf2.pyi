from ._context import enabled as enabled
