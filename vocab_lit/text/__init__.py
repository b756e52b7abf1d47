"Text from files: lines, clean ones and samples of them."
