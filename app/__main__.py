"""`python -m app`, the same as `kvscope`."""

from app.cli import main

if __name__ == "__main__":
    main()
