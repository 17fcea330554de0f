"""What lets whoever started a program have it train by turns."""

import json
import sys
import time

import tensorflow as tf

_STARTED = time.perf_counter()


class Turns(tf.estimator.SessionRunHook):
    """Trains as many steps as a line of the standard input says, and prints a line when they are done.

    The first line is printed after the first step, and has the seconds of processor time that it took since the
    process began; the end of the input ends the training.
    """

    def __init__(self):
        self._left = 1
        self._steps = None

    def begin(self):
        """Remember what is fetched, so that a turn's last step is waited for."""
        self._steps = tf.compat.v1.train.get_or_create_global_step()

    def before_run(self, run_context):
        """Ask for a value of the turn's last step."""
        return tf.estimator.SessionRunArgs(self._steps) if self._left == 1 else None

    def after_run(self, run_context, run_values):
        """Count, and end the turn."""
        self._left -= 1
        if self._left:
            return
        print(json.dumps({"processor_s": time.process_time()}), flush=True)
        self._left = int(sys.stdin.readline() or 0)
        if not self._left:
            run_context.request_stop()
