"""The engine: storage, catalog, SQL and sessions. It knows nothing of any paper or model."""

from __future__ import annotations

import os

# Lance reads this when it is first imported. It warns of every empty partition of every small piece of an index, and few
# new rows always leave most partitions of their piece empty.
os.environ.setdefault("LANCE_LOG", "warn,lance::index::vector::builder=error,lance::index::vector::ivf=error")
