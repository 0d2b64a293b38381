"""Choose examples of the images behind a figure's rows: by a hash, so by nobody, and as many as one page has room for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.report import behind, pictures
from counterbalance.report.figures import Strip

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query
    from counterbalance.report.pictures import Thumbnail

_ROWS: Final = 10
"""Rows of a figure that have examples, at most."""
_SPARE: Final = 4
"""Images of a row that stand by for those whose picture cannot be read."""
_SIDE: Final = 160
_ROOM: Final = 8_000_000
"""Bytes of examples after which a page takes no more: it can still be sent by mail."""
_SEED: Final = 0
"""That of a sheet that names none."""
RULE: Final = (
    "Examples of a row are those of its images with the smallest md5 of seed and id "
    f"(concat('{_SEED}:', image_id)): chosen by a hash, so by nobody. Left out are images whose picture cannot be read, or "
    "that their source does not call safe; {}."
)
_FULL: Final = f"No further examples: those above fill the {_ROOM // 1_000_000} MB that a page has for them."


@dataclass(slots=True)
class Examples:
    """Chooses what one page shows of the images behind its rows.

    Args:
        lake: Whose pictures are shown.
        session: Whose pinned versions are read; what is closed in it has no examples.
        each: Pictures of a row.
        blur: Blur the heads of people; see ``pictures.sample``.
        room: Bytes that are left.
    """

    lake: Lake
    session: Session
    each: int
    blur: bool = False
    room: int = _ROOM
    _made: dict[int, Thumbnail | None] = field(default_factory=dict)

    def of(self, audit: Query, rows: pa.Table, titles: Sequence[str]) -> tuple[list[Strip], list[str]]:
        """Return strips of the first rows that have images behind them, and what must be said of them.

        Args:
            audit: The audit.
            rows: Of its result, as they are drawn.
            titles: What each is called.
        """
        if not self.each or not rows.num_rows:
            return [], []
        few = rows.slice(0, _ROWS)
        links, _ = behind.links(self.session, audit, few)
        failed: list[str] = []
        told = [
            (title, self._chosen(link, title, failed))
            for title, link, row in zip(titles, links, few.to_pylist(), strict=False)
            if link is not None and not row.get("suppressed")
        ]
        self._make(i for _, ids in told for i in ids[: self.each])
        self._make(i for _, ids in told if None in map(self._made.get, ids[: self.each]) for i in ids)
        found = [Strip(title, self._taken(ids)) for title, ids in told]
        found, is_full = [s for s in found if s.pictures], self.room <= 0
        notes = [*([self._rule()] if found else []), *failed]
        return found, [*notes, _FULL] if is_full and told else notes

    def _rule(self) -> str:
        rule = RULE.format(f"a row has {self.each} at most, a figure {_ROWS} rows")
        return f"{rule} {pictures.BLURRED}" if self.blur else rule

    def _chosen(self, link: str, title: str, failed: list[str]) -> list[int]:
        """Return the first images of a row by a hash, and some to spare; why there are none is told beside others' reasons."""
        text = (
            f"SELECT i.image_id FROM images AS i WHERE {pictures.IS_SAFE} AND {pictures.MAY_HAVE_ONE} "
            f"AND i.image_id IN (SELECT image_id FROM ({link})) "
            f"ORDER BY md5(concat('{_SEED}:', CAST(i.image_id AS VARCHAR))), i.image_id LIMIT {self.each + _SPARE}"
        )
        try:
            return [image for (image,) in self.session.sql(text).fetchall()]
        except CounterbalanceError as error:  # a report never fails for one of its parts
            failed.append(f"No examples of {title}: {error.message}.")
            return []

    def _make(self, ids: Iterable[int]) -> None:
        """Read pictures that were not read before; one that cannot be is None."""
        missing = [i for i in dict.fromkeys(ids) if i not in self._made]
        if missing and self.room > 0:
            found = pictures.of_images(
                self.lake, self.session, missing, side=_SIDE, blur=self.blur, most_bytes=self.room
            )
            self._made |= {i: found.get(i) for i in missing}

    def _taken(self, ids: Sequence[int]) -> list[Thumbnail]:
        """Return the pictures of a row that there is room for."""
        found: list[Thumbnail] = []
        for made in (self._made.get(i) for i in ids):
            if made is None or len(found) == self.each or self.room <= 0:
                continue
            self.room -= len(made.uri)
            found.append(made)
        return found
