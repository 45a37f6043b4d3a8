"""The command `memlake`, one file a command group."""
