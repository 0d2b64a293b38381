"""Exports for training: what a query gives, as files that other libraries read, with a datasheet beside them."""
