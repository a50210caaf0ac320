// Event injector for Tofino 1 (docs/p4.md).

#include <core.p4>
#include <tna.p4>

#include "include/tna.p4"
