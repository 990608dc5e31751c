#pragma once

#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/plan.hpp>

#include <memory>

namespace sluice::test {

/// A graph in the making, and its plan with the inputs' types as they are declared.
struct planned_graph {
  std::shared_ptr<const plan> make(unsigned width = 1) {
    const auto g = builder.build();
    plan_request request;
    request.width = width;
    for (const auto e : g->inputs())
      request.fed.push_back({e, g->at_edge(e).type, {}});
    request.fetch.assign(g->outputs().begin(), g->outputs().end());
    return make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels);
  }

  std::shared_ptr<const operator_library> operators = standard_operators();
  kernel_cache kernels{operators};
  graph_builder builder{operators->schemas()};
};

} // namespace sluice::test
