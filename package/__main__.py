"""Run the command line: `python -m gangsched`."""

from .cli.app import main

if __name__ == "__main__":
    main()
