mod basins;
mod properties;
mod restarts;
mod simulated;
mod thresholds;
