"""Show results to people: tables and files of results, errors, progress, and the interactive shell."""
