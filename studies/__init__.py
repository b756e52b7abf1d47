"""What the chapters of the book run."""
