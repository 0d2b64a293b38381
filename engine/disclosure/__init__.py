"""Protect people: what rows of audits may tell of few of them."""
