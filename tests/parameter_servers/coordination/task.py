"""A task of a cluster: `python task.py CLUSTER JOB INDEX`, with the cluster as JSON."""

import json
import sys

from stratax.distribute import Server


def main() -> None:
    cluster, job, index = sys.argv[1:]
    server = Server(json.loads(cluster), job, int(index))
    print("ready", flush=True)
    server.join()


if __name__ == "__main__":
    main()
