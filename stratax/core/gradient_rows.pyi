from ._tape import rows_of_gradient as rows_of_gradient
