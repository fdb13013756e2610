"""A twin: descriptions of drives fitted to measurements of a real one, and judged on points that they have not seen."""
