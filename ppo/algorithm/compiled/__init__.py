"""The update, compiled by Numba: its gradient by hand, its optimiser and its loop over minibatches in one function."""
