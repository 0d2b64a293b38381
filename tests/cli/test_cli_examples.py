"""Every command's help has at least two examples, and they are right."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from counterbalance.__main__ import COMMANDS, EXAMPLES, cli, main


def command(name):
    return cli.get_command(click.Context(cli), name)


def parse(line):
    """The click contexts of an example; raises where it does not parse."""
    words = shlex.split(re.split(r"\s[|>]", line)[0])
    assert words[0] == "counterbalance"
    top = cli.make_context("counterbalance", words[1:])
    name, found, rest = cli.resolve_command(top, [*top._protected_args, *top.args])
    return name, found.make_context(name, rest, parent=top)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_two_examples_of_itself(name):
    examples = command(name).examples
    assert len(examples) >= 2
    assert all(e.split()[:2] == ["counterbalance", name] for e in examples)


@pytest.mark.parametrize("line", [*EXAMPLES, *(e for name in COMMANDS for e in command(name).examples)])
def test_examples_parse(line):
    name, context = parse(line)
    assert context.command is command(name)


def test_an_example_with_an_unknown_option_would_not_parse():
    with pytest.raises(click.UsageError):
        parse("counterbalance tables coco.lake --nope")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples_and_a_sentence(name, capsys):
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(e in text for e in command(name).examples)
    assert command(name).help.strip().endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_the_commands_own(name):
    assert COMMANDS[name][1] == command(name).short_help
    assert command(name).name == name


def test_the_list_of_commands_is_complete(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {name} +{re.escape(line)}$", text, re.MULTILINE) for name, (_, line) in COMMANDS.items())
