from . import tutorials as tutorials
