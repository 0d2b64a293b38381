"""Where functions run: in this process, in worker processes, or on Ray. The only code that knows of processes and devices."""

from __future__ import annotations
