"Grids of languages, methods and tasks: experiments at three scales, their results as records, and what the records say."
