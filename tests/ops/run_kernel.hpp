#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/operators.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// A thread with others beside it, as a kernel sees it: chunks are run one after the other, the last first.
class backward_worker final : public worker {
public:
  void offer(job&) override {}
  void parallel_for(std::size_t n, std::size_t grain, unsigned,
                    function_ref<void(std::size_t, std::size_t)> body) override {
    for (auto chunk = (n + grain - 1) / grain; chunk-- > 0; ++chunks)
      body(chunk * grain, std::min(n, (chunk + 1) * grain));
  }
  bool try_team(unsigned, function_ref<void(unsigned, unsigned)>) override { return false; }

  std::size_t chunks = 0; ///< run so far
};

/// Prepares and executes an operator's kernel as the runtime does, bytes of inputs offered for outputs. The
/// inputs are moved in, so that the kernel may find itself their only owner.
inline std::vector<value> run_kernel(const std::string& op, std::vector<value> inputs,
                                     const attribute_map& attributes = {}, worker* thread = nullptr,
                                     int opset = 17, std::size_t output_count = 1) {
  const auto library = standard_operators();
  const auto* schema = library->schemas()->find("", op, opset);
  std::vector<value_type> types;
  for (const auto& input : inputs)
    types.push_back(value_type::of(input));
  std::vector<const value_type*> present;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    present.push_back(inputs[i].empty() ? nullptr : &types[i]);
  const op_view view{attributes, opset, present, {}, output_count};
  const auto output_types = schema->infer(view);
  const auto kernel =
      library->kernel("cpu", *schema)->prepare({.node = op, .op = view, .outputs = output_types});
  std::vector<value> outputs(output_count);
  kernel_context ctx{{.inputs = inputs,
                      .outputs = outputs,
                      .output_types = output_types,
                      .in_place = kernel->traits().in_place,
                      .allocate_from = memory::heap(),
                      .thread = thread,
                      .width = thread ? 4U : 1U}};
  static_cast<void>(kernel->execute(ctx));
  return outputs;
}

} // namespace sluice::test
