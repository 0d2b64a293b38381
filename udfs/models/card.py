"""Write the model card of a classifier: what it learned from, how good it is, and what it must not be taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.disclosure.cells import MIN_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_HIDDEN: Final = f"Counts below {MIN_COUNT} are not shown, nor counts that would tell them, nor rates of fewer than {MIN_COUNT} pictures."
_MEASURES: Final = {
    "accuracy": "accuracy",
    "Cohen's kappa": "kappa",
    "macro F1": "macro_f1",
    "expected calibration error": "ece",
}
_USE: Final = """\
## Intended use

To count, over many pictures, how groups of people are depicted in a data set: shares, co-occurrences, differences between
data sets. The labels are perceived ones: they repeat what annotators or models saw in a picture. They say nothing about
what a person is or how a person identifies, and an answer about a single picture is not to be relied on, shown, or used to
decide anything about a person. Do not use this classifier to identify, rank, admit, price, hire or watch people.
Groups for which the tables below are worse are counted worse: correct shares for it, or do not report them."""


def write(config: Mapping[str, Any]) -> str:
    """Return the card, as Markdown.

    Args:
        config: What ``config.json`` holds; what is ``None`` is not shown.
    """
    training = config["training"]
    begun = _plain(config["architecture"]["name"])
    made = f"It is the vision tower of `{begun}` with a linear head, fine-tuned by `counterbalance train classifier`."
    parts = [
        f"# Classifier of {_plain(config['attribute'])}",
        f"Tells {_listed(config['classes'])} from the picture of one person. {made}",
        _USE,
        "## Data",
        _data(config, training),
        "## Training",
        _training(training),
        f"## Results on the test split\n\n{_HIDDEN}",
        _results(config["classes"], training["test"]),
    ]
    return "\n\n".join(parts) + "\n"


def _data(config: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    versions = training["tables"]
    facts = [
        ("lake", f"`{_plain(training['lake'])}`"),
        ("labels", f"`{_plain(training['labels'])}`, digest `{training['labels_digest']}`"),
        (
            "pictures",
            "crops of `images.image` to the boxes" if training["images"] is None else f"`{_plain(training['images'])}`",
        ),
        ("labels without a picture", _shown(training["without_picture"])),
        ("versions of tables", ", ".join(f"{_plain(n)} {v}" for n, v in versions.items())),
        ("fingerprint", f"`{config['fingerprint']}`"),
    ]
    text = "Split 80/10/10 by image and stratified by class; persons of one image are on one side."
    sizes = [(name, _shown(n)) for name, n in training["splits"].items()]
    return f"{_table(('what', 'which'), facts)}\n\n{text}\n\n{_table(('split', 'labels'), sizes)}"


def _training(training: Mapping[str, Any]) -> str:
    settings = training["settings"]
    text = (
        f"Epoch 1 trained the head alone at {settings['lr']:g}; the others all weights with OneCycle (cosine) up to "
        f"{settings['tower_lr']:g}. AdamW, cross-entropy, {settings['batch_size']} pictures a step, {settings['epochs']} "
        f"epochs, seed {settings['seed']}, on {_plain(training['device'])}. The weights are those of epoch "
        f"{training['best_epoch']}, the best on the validation split. Began with weights of digest `{training['began_with']}`."
    )
    heads = ("epoch", "training loss", "validation loss", "validation accuracy")
    rows = [
        (str(e["number"]), *(_rate(e[n], 4) for n in ("train_loss", "validation_loss", "validation_accuracy")))
        for e in training["epochs"]
    ]
    if not training.get("tried"):
        return f"{text}\n\n{_table(heads, rows)}"
    tried = [
        (
            str(t["epochs"]),
            str(t["batch_size"]),
            f"{t['tower_lr']:g}",
            str(t["best_epoch"]),
            _rate(t["validation_accuracy"], 4),
        )
        for t in training["tried"]
    ]
    settings_of = ("epochs", "pictures a step", "highest rate", "best epoch", "validation accuracy")
    chosen = "These settings were tried, and those with the highest accuracy on the validation split taken:"
    return f"{chosen}\n\n{_table(settings_of, tried)}\n\n{text}\n\n{_table(heads, rows)}"


def _results(classes: Sequence[str], test: Mapping[str, Any]) -> str:
    whole = [(name, _rate(test[n])) for name, n in _MEASURES.items()]
    by_class = [
        (
            _plain(c["class"]),
            *(_shown(c[n]) for n in ("n", "predicted")),
            *(_rate(c[n]) for n in ("precision", "recall", "f1")),
        )
        for c in test["classes"]
    ]
    confusion = [(_plain(c), *map(_shown, row)) for c, row in zip(classes, test["confusion"], strict=True)]
    bins = [
        (f"{r['from']:.1f} to {r['to']:.1f}", _shown(r["n"]), *(_rate(r[n]) for n in ("confidence", "accuracy")))
        for r in test["reliability"]
    ]
    return "\n\n".join(
        (
            _table(("measure", "value"), [("pictures", _shown(test["n"])), *whole]),
            _table(("class", "labels", "predicted", "precision", "recall", "F1"), by_class),
            "Confusion: rows are the labels, columns what the classifier said.",
            _table(("label", *map(_plain, classes)), confusion),
            "Calibration: how often the classifier is right, by how sure it says it is.",
            _table(("confidence", "n", "mean confidence", "accuracy"), bins),
        )
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    heads = tuple(heads)
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _shown(number: int | None) -> str:
    return "not shown" if number is None else f"{number:,}"


def _rate(value: float | None, digits: int = 3) -> str:
    return "not shown" if value is None else f"{value:.{digits}f}"


def _listed(classes: Sequence[str]) -> str:
    return ", ".join(_plain(c) for c in classes)


def _plain(text: Any) -> str:
    """Return text that stays in its cell and says nothing to a Markdown reader."""
    flat = " ".join(str(text).split())
    return "".join(f"\\{c}" if c in "\\|*_[]<>#" else "'" if c == "`" else c for c in flat)
