"""What the Makefile calls: python -m tools check|lib|chapter|page|book."""

import sys

from tools.publish import main

try:
    main(*sys.argv[1:])
except (ValueError, FileNotFoundError, RuntimeError) as e:
    sys.exit(str(e))
