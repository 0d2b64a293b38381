"""Audits of one's own, each a SQL file in the folder ``audits``; counterbalance finds them by an entry point."""
