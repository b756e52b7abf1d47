"""Time, memory and coverage, beside the packages that people use today."""
