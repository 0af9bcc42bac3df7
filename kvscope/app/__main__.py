"""`python -m app` in a checkout, the same as `kvscope`."""

from kvscope.app.commands.cli import main

if __name__ == "__main__":
    main()
