mod simulated;
