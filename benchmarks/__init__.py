"""Speed and memory of fittest, run by hand (`make bench`) and by CI in a short form."""
