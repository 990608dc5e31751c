#pragma once

#include <cstdint>

namespace sluice {

struct plan;

/// Lays out the memory of a frame of `p`: gives outputs and scratch spaces their places in the plan's arena,
/// and adds the waits that keep the arena safe. Where the order of steps is left open and that takes much
/// memory, it is narrowed: to one step at a time where one thread works for a frame, otherwise to up to
/// `lanes` branches if that costs at most 5 % of the estimated time. Blocking functions keep the order open.
///
/// @param lanes   how many steps may run at once; not 0
/// @param narrow  whether the order may be narrowed at all
/// Takes up to 0.2 s for 2,000 steps. Before steps are counted as sources.
void lay_out(plan& p, unsigned lanes, bool narrow);

/// The same for what a frame has on accelerators, in an arena for each. Their order stays open.
void lay_out_accelerators(plan& p);

} // namespace sluice
