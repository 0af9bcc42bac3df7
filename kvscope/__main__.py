"""`python -m kvscope`, the same as the command `kvscope`."""

from kvscope.app.commands.cli import main

if __name__ == "__main__":
    main()
