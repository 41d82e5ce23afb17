package read

// NotWhole is how warnings begin that say what an answer lacks.
const NotWhole = "the answer is not whole: "
