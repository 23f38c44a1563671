//! Workers, fibers, parking, timers, file and socket I/O, and the simulated twin of all of it.
