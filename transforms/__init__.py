"""What is done to rows. Imports schemas; each module either computes (Arrow in, Arrow out) or wires (beam.py)."""
