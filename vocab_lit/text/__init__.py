"Text from files, and text that comes with the package: clean lines, labelled sentences, trees and dictionaries."
