"""The names and shapes that services use, and the readers of rows and pages that know them."""
