"""Parse `tf.train.Example` and what else a record may hold.

The functions and messages are public names of `stratax.data`; no other room uses what is here.
"""
