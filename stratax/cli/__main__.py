"""`python -m stratax.cli`: the `stratax` command where no script is installed."""

from stratax.cli._main import main

if __name__ == "__main__":
    main()
