"""Runs a command that ends when the process that started it does (cluster layer).

Started as a script, `python _end_with_parent.py PARENT_PID COMMAND...`, so it imports nothing of Stratax. Where the
kernel has no such request (other systems than Linux), the command simply runs.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, and become the command."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        # The request outlives the change into the command below.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # The parent may have ended before the request was made: then nobody will send the signal.
        if os.getppid() != int(parent):
            sys.exit(128 + signal.SIGKILL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
