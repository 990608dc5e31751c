#include <sluice/scheduler/control_flow.hpp>

#include <sluice/scheduler/tensor_slices.hpp>

#include <algorithm>
#include <optional>

namespace sluice {

namespace {

using kind = control_flow::action::kind;

const graph& body_of(const graph::node& n, std::size_t i) {
  return *n.attributes.get<std::shared_ptr<const graph>>(n.schema->bodies[i]);
}

/// The values from `first` on, after `head`.
std::vector<value> joined(std::vector<value> head, std::span<const value> tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

bool truth(const value& v) {
  const auto data = v.tensor().data<bool>();
  if (data.size() != 1)
    throw error{errc::kernel_failed, "a condition is " + describe(v) + ", not one bool"};
  return data.front();
}

/// If: inputs are the condition, then what the branches capture.
class branch final : public control_flow {
public:
  explicit branch(std::span<const value> inputs) : inputs_(inputs.begin(), inputs.end()) {}

  action begin() override {
    return {kind::run_body,
            truth(inputs_.front()) ? std::size_t{0} : std::size_t{1},
            {inputs_.begin() + 1, inputs_.end()}};
  }
  action body_done(std::vector<value> outputs) override { return {kind::finished, 0, std::move(outputs)}; }

private:
  const std::vector<value> inputs_;
};

/// Loop: inputs are the trip count, the condition, the carried values, the captures. The body takes the
/// iteration number, the condition, the carried values, the captures, and gives a condition, the carried
/// values, one slice for each scan output.
class loop final : public control_flow {
public:
  loop(const graph::node& n, std::span<const value> inputs, memory& from) : node_(n), from_(from) {
    const auto own = inputs.size() - n.captures;
    if (!inputs[0].empty())
      trips_ = inputs[0].tensor().data<std::int64_t>()[0];
    if (own > 1 && !inputs[1].empty())
      condition_ = truth(inputs[1]);
    carried_.assign(inputs.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(own)),
                    inputs.begin() + static_cast<std::ptrdiff_t>(own));
    captures_.assign(inputs.begin() + static_cast<std::ptrdiff_t>(own), inputs.end());
    slices_.resize(n.outputs.size() - std::min(n.outputs.size(), carried_.size()));
  }

  action begin() override { return next(); }

  action body_done(std::vector<value> outputs) override {
    condition_ = truth(outputs[0]);
    const auto first_slice = 1 + carried_.size();
    if (outputs.size() < first_slice + slices_.size())
      throw error{errc::kernel_failed, "the body gives too few outputs"};
    std::move(outputs.begin() + 1, outputs.begin() + static_cast<std::ptrdiff_t>(first_slice),
              carried_.begin());
    for (std::size_t i = 0; i < slices_.size(); ++i)
      slices_[i].push_back(std::move(outputs[first_slice + i]));
    ++iteration_;
    return next();
  }

private:
  action next() {
    if (condition_ && (!trips_ || iteration_ < *trips_)) {
      std::vector<value> inputs{tensor::of_scalar<std::int64_t>(iteration_), tensor::of_scalar(true)};
      return {kind::run_body, 0, joined(joined(std::move(inputs), carried_), captures_)};
    }
    auto outputs = std::move(carried_);
    const auto& body = body_of(node_, 0);
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const auto& type = body.at_edge(body.outputs()[1 + outputs.size()]).type;
      outputs.push_back(stack(slices_[i], 0, false, type, from_));
    }
    return {kind::finished, 0, std::move(outputs)};
  }

  const graph::node& node_;
  memory& from_;
  std::optional<std::int64_t> trips_;
  bool condition_ = true;
  std::int64_t iteration_ = 0;
  std::vector<value> carried_;
  std::vector<value> captures_;
  std::vector<std::vector<value>> slices_;
};

/// Scan from opset 9 on: inputs are the states, the tensors to scan, the captures. The body takes the states,
/// one slice of each scanned tensor, the captures, and gives the states and one slice for each scan output.
class scan final : public control_flow {
public:
  scan(const graph::node& n, std::span<const value> inputs, memory& from) : node_(n), from_(from) {
    const auto scanned = static_cast<std::size_t>(n.attributes.get<std::int64_t>("num_scan_inputs"));
    const auto own = inputs.size() - n.captures;
    if (scanned == 0 || scanned > own)
      throw error{errc::kernel_failed, "num_scan_inputs does not fit the number of inputs"};
    const auto at = [&](std::size_t i) { return inputs.begin() + static_cast<std::ptrdiff_t>(i); };
    states_.assign(inputs.begin(), at(own - scanned));
    scanned_.assign(at(own - scanned), at(own));
    captures_.assign(at(own), inputs.end());
    slices_.resize(n.outputs.size() - std::min(n.outputs.size(), states_.size()));
    input_axes_ = list("scan_input_axes", scanned);
    input_directions_ = list("scan_input_directions", scanned);
    output_axes_ = list("scan_output_axes", slices_.size());
    output_directions_ = list("scan_output_directions", slices_.size());
    for (std::size_t i = 0; i < scanned; ++i) {
      const auto& s = scanned_[i].tensor().shape();
      const auto rank = static_cast<std::int64_t>(s.rank());
      if (input_axes_[i] < -rank || input_axes_[i] >= rank)
        throw error{errc::kernel_failed,
                    "scan axis " + std::to_string(input_axes_[i]) + " is not in " + describe(scanned_[i])};
      input_axes_[i] += input_axes_[i] < 0 ? rank : 0;
      const auto extent = s[static_cast<std::size_t>(input_axes_[i])];
      if (i > 0 && extent != length_)
        throw error{errc::kernel_failed, "the tensors to scan have different lengths"};
      length_ = extent;
    }
  }

  action begin() override { return next(); }

  action body_done(std::vector<value> outputs) override {
    if (outputs.size() < states_.size() + slices_.size())
      throw error{errc::kernel_failed, "the body gives too few outputs"};
    for (std::size_t i = 0; i < slices_.size(); ++i)
      slices_[i].push_back(std::move(outputs[states_.size() + i]));
    std::move(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(states_.size()),
              states_.begin());
    ++step_;
    return next();
  }

private:
  std::vector<std::int64_t> list(std::string_view name, std::size_t n) const {
    auto values = node_.attributes.get<std::vector<std::int64_t>>(name, {});
    values.resize(n);
    return values;
  }

  action next() {
    if (step_ < length_) {
      auto inputs = states_;
      for (std::size_t i = 0; i < scanned_.size(); ++i)
        inputs.push_back(slice_at(scanned_[i], static_cast<std::size_t>(input_axes_[i]),
                                  input_directions_[i] ? length_ - 1 - step_ : step_, from_));
      return {kind::run_body, 0, joined(std::move(inputs), captures_)};
    }
    const auto& body = body_of(node_, 0);
    const auto states = states_.size();
    auto outputs = std::move(states_);
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const auto& type = body.at_edge(body.outputs()[states + i]).type;
      auto axis = output_axes_[i];
      if (axis < 0)
        axis += 1 + static_cast<std::int64_t>(slices_[i].empty() ? type.shape().rank()
                                                                 : slices_[i][0].tensor().shape().rank());
      if (axis < 0)
        throw error{errc::kernel_failed, "a scan output's axis is out of range"};
      outputs.push_back(
          stack(slices_[i], static_cast<std::size_t>(axis), output_directions_[i] != 0, type, from_));
    }
    return {kind::finished, 0, std::move(outputs)};
  }

  const graph::node& node_;
  memory& from_;
  std::vector<value> states_;
  std::vector<value> scanned_;
  std::vector<value> captures_;
  std::vector<std::vector<value>> slices_;
  std::vector<std::int64_t> input_axes_, input_directions_, output_axes_, output_directions_;
  std::int64_t length_ = 0;
  std::int64_t step_ = 0;
};

/// Scan of opset 8: inputs are the sequence lengths (optional), the states and the tensors to scan, all with
/// a batch axis in front and the sequence on axis 1. One scan after another, for each item of the batch.
class batched_scan final : public control_flow {
public:
  batched_scan(const graph::node& n, std::span<const value> inputs, memory& from) : node_(n), from_(from) {
    const auto own = inputs.size() - n.captures;
    scanned_ = static_cast<std::size_t>(n.attributes.get<std::int64_t>("num_scan_inputs"));
    if (own < 2 || scanned_ == 0 || scanned_ > own - 1)
      throw error{errc::kernel_failed, "num_scan_inputs does not fit the number of inputs"};
    if (!inputs[0].empty())
      lengths_ = inputs[0];
    inputs_.assign(inputs.begin() + 1, inputs.begin() + static_cast<std::ptrdiff_t>(own));
    captures_.assign(inputs.begin() + static_cast<std::ptrdiff_t>(own), inputs.end());
    batch_ = inputs_.back().tensor().shape()[0];
    for (const auto& v : inputs_)
      if (v.tensor().shape().rank() == 0 || v.tensor().shape()[0] != batch_)
        throw error{errc::kernel_failed, "the inputs have different batch sizes"};
    if (batch_ == 0 || (lengths_ && lengths_.tensor().elements() != batch_))
      throw error{errc::kernel_failed, "the sequence lengths do not fit the batch"};
    results_.resize(n.outputs.size());
  }

  action begin() override { return start_item(); }
  action body_done(std::vector<value> outputs) override {
    return relay(scan_->body_done(std::move(outputs)));
  }

private:
  action start_item() {
    std::vector<value> inputs;
    const auto states = inputs_.size() - scanned_;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      auto v = slice_at(inputs_[i], 0, item_, from_);
      if (i >= states && lengths_)
        v = tensor::rows(v, 0, lengths_.tensor().data<std::int64_t>()[static_cast<std::size_t>(item_)]);
      inputs.push_back(std::move(v));
    }
    inputs.insert(inputs.end(), captures_.begin(), captures_.end());
    scan_ = std::make_unique<scan>(node_, inputs, from_);
    return relay(scan_->begin());
  }

  action relay(action a) {
    if (a.what == kind::run_body)
      return a;
    for (std::size_t i = 0; i < results_.size(); ++i)
      results_[i].push_back(std::move(a.values[i]));
    if (++item_ < batch_)
      return start_item();
    std::vector<value> outputs;
    for (const auto& items : results_)
      outputs.push_back(stack(items, 0, false, {}, from_));
    return {kind::finished, 0, std::move(outputs)};
  }

  const graph::node& node_;
  memory& from_;
  std::size_t scanned_ = 0;
  value lengths_;
  std::vector<value> inputs_;
  std::vector<value> captures_;
  std::int64_t batch_ = 0;
  std::int64_t item_ = 0;
  std::unique_ptr<scan> scan_;
  std::vector<std::vector<value>> results_;
};

} // namespace

bool is_control_flow(const graph::node& n) noexcept {
  return n.schema && !n.schema->bodies.empty();
}

std::unique_ptr<control_flow> make_control_flow(const graph::node& n, std::span<const value> inputs,
                                                memory& from) {
  if (n.op == "If")
    return std::make_unique<branch>(inputs);
  if (n.op == "Loop")
    return std::make_unique<loop>(n, inputs, from);
  if (n.op == "Scan" && n.opset >= 9)
    return std::make_unique<scan>(n, inputs, from);
  if (n.op == "Scan")
    return std::make_unique<batched_scan>(n, inputs, from);
  throw error{errc::unsupported, "control flow " + n.op + " is not supported"};
}

} // namespace sluice
