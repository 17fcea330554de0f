from ._custom_gradients import custom_gradient as custom_gradient
from ._custom_gradients import grad_pass_through as grad_pass_through
from ._custom_gradients import recompute_grad as recompute_grad
from ._indexed_slices import IndexedSlices as IndexedSlices
from ._traced_gradients import traced_gradients as traced_gradients
