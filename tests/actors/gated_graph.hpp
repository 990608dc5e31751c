#pragma once

#include "scalars.hpp"

#include <future>
#include <memory>

namespace sluice::test {

/// y = x, computed by a blocking function that waits until the gate is opened, once and for all.
class gated_graph {
public:
  explicit gated_graph(const engine& e) {
    auto g = e.builder();
    const auto x = g.placeholder("x", scalar);
    g.output("y", g.function("gate", {x}, {scalar},
                             {[opened = gate_.get_future().share()](auto in, auto out) {
                                opened.wait();
                                out[0] = in[0];
                              },
                              function_kind::blocking})[0]);
    model = g.build("gated");
  }

  std::shared_ptr<const graph> model;

  void open() { gate_.set_value(); }

private:
  std::promise<void> gate_;
};

} // namespace sluice::test
