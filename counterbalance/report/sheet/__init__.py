"""Annotation sheets: people check a model's labels, on a stratified sample, without seeing them."""
