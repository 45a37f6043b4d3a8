"""`python -m memlake.flows.cli` is `memlake`."""

from memlake.flows.cli.main import main

# The guard matters: processes of a Beam worker pool import this module again.
if __name__ == "__main__":
    main()
