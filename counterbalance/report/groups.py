"""Find the group relations that a lake can be audited by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.sql.parse import as_text

if TYPE_CHECKING:
    from counterbalance.engine.session import Session

_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Group:
    """A way to put images into perceived groups.

    Args:
        name: For ids, such as ``perceived-gender``.
        title: In words.
        images: Group relation of images.
        persons: Group relation of persons; empty for labels of texts and of whole images.
        attribute: The attribute of ``labels``; empty for labels of texts.
        annotator: Whose labels are taken, where there are several.
    """

    name: str
    title: str
    images: str
    persons: str = ""
    attribute: str = ""
    annotator: str = ""

    @property
    def seen_by(self) -> str:
        """Return a sentence on whose labels these are, or nothing."""
        return f" Labels of annotator '{self.annotator}'." if self.annotator else ""


CAPTIONS: Final = Group("caption-gender", "gender words of captions", "caption_gender")


def found(session: Session) -> list[Group]:
    """Return groups by words in captions, then by labels of persons where the lake has any; at most three of these."""
    attributes = sorted(session.sensitive_attributes(), key=lambda a: ("gender" not in a, a))[:_MOST]
    return [CAPTIONS, *(_labelled(session, a) for a in attributes)]


def _labelled(session: Session, attribute: str) -> Group:
    """Group by the labels of one annotator: several who disagree would make an image 'mixed'."""
    given = as_text(attribute)
    who = annotator(session, attribute)
    if who is not None:
        given += f", annotator := {as_text(who)}"
    title = attribute.replace("race_ethnicity", "race or ethnicity").replace("_", " ")
    name = "".join(c if c.isalnum() else "-" for c in attribute.lower())
    persons = f"person_units({given})"
    return Group(
        name, title, f"image_labels({given})", persons if _has_units(session, persons) else "", attribute, who or ""
    )


def _has_units(session: Session, groups: str) -> bool:
    """Return whether some person is labelled, not only whole images."""
    try:
        return bool(session.audit("demographics", groups=groups).to_arrow().num_rows)
    except CounterbalanceError:
        return True


def annotator(session: Session, attribute: str) -> str | None:
    """Return the first of several annotators by name; ``None`` when there is one, or nobody can tell."""
    try:
        rows = session.audit("agreement", attribute=attribute).to_arrow().to_pylist()
    except CounterbalanceError:
        return None
    names = sorted({r["annotator"] for r in rows if r["metric"] == "annotator"})
    return names[0] if len(names) > 1 else None
