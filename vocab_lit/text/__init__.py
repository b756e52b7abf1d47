"Text from files, and text that the package generates: clean lines, labelled sentences, trees and dictionaries."
