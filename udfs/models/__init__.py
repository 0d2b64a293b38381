"""Models as functions: each module one family, its library imported when a model is opened and not before."""
