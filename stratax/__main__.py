"""`python -m stratax`: the `stratax` command where no script is installed."""

from stratax.cli import main

if __name__ == "__main__":
    main()
