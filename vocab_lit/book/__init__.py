"Notebooks become the package, its tests and the pages of this book; the package's speed is measured beside others."
