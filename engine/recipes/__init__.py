"""Recipes: pipelines as SQL files of steps, each of them safe to run again."""
