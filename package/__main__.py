"""Run the command line: `python -m gangsched`."""

from .cli.compare import main

if __name__ == "__main__":
    main()
