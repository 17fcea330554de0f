from ._capture import executing_eagerly as executing_eagerly
