# Filled in with the export set.
