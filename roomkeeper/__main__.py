"""`python -m roomkeeper`: the same as the `roomkeeper` program."""

from roomkeeper.cli import main

if __name__ == "__main__":
    main()
