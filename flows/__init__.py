"""What runs when: flows, studies and the command."""
