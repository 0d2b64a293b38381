"""Run plans on Spark: the same SQL over the same pinned tables, on many machines."""
