#pragma once

/// The whole of Sluice but its actors' handles, which are in <sluice/caf.hpp>.

#include <sluice/actors/engine.hpp>
#include <sluice/actors/feeds.hpp>
#include <sluice/actors/session.hpp>
#include <sluice/graph/collections.hpp>
#include <sluice/graph/graph_builder.hpp>
#include <sluice/graph/tensor.hpp>
