mod properties;
mod simulated;
mod thresholds;
