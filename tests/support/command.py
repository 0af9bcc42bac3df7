"""The command line, in this process."""

from click.testing import CliRunner, Result

from kvscope.app.commands.cli import main


def command(*words: object, **options: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], **options)  # type: ignore[arg-type]
