"""The only files that touch the insides of Keras, JAX and AutoGraph (`malt`), one for each (lowest layer).

Everything else uses these libraries by their documented names. What is taken from inside stands here with the reason,
so that a new version of one of them is looked at in one place.
"""
