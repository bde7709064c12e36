"""The Partner API: its routes, what they read and answer, and the document that describes them."""
