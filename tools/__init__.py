"""From notebooks to modules, tests and pages."""
