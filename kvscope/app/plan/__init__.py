"""How many engines, web processes and how much database a number of people needs: a simulation of the server."""
