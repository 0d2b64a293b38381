"""A local server of pages and an API over lakes: look at what the numbers are made of. ``cbal ui LAKE`` starts it."""
