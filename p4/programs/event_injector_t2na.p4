// Event injector for Tofino 2 (docs/p4.md).

#include <core.p4>
#include <t2na.p4>

#include "include/tna.p4"
