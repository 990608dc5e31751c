// What operators that calculate mean to the batch.

#include <sluice/scheduler/batch_rules.hpp>

#include <algorithm>
#include <string>

namespace sluice {

namespace batch_rules {

namespace {

/// Element by element, with broadcasting: axes line up from the last.
void aligned(const batch_node& n) {
  const batch_flow* first = nullptr;
  std::size_t from_right = 0;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    if (!n.has(i) || n.in(i).shared())
      continue;
    if (!n.in(i).batched())
      throw batch_obstacle{"calculates with the number of items"};
    const auto right = n.rank(i) - n.in(i).axis;
    if (first && (right != from_right || n.in(i).rows != first->rows))
      throw batch_obstacle{"its inputs have the batch on different axes"};
    first = &n.in(i);
    from_right = right;
  }
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (n.has(i) && n.in(i).shared() && n.rank(i) >= from_right && n.extent(i, n.rank(i) - from_right) != 1)
      throw batch_obstacle{"input " + std::to_string(i) +
                           " is the same for all items, and has an axis where they lie"};
  for (std::size_t i = 0; i < n.outputs(); ++i)
    n.set_batched(i, n.out_rank(i) - from_right, first->rows);
}

/// Only the first input differs from item to item, and what it becomes lies as it does.
void keeps_axis(const batch_node& n) {
  n.expect_shared(1);
  n.set_all_batched(n.in(0).axis, n.in(0).rows);
}

void like_type_of_second(const batch_node& n) {
  n.set_batched(0, n.in(0).axis, n.in(0).rows);
}

void quantize(const batch_node& n) {
  if (n.rank(1) == 1 && n.extent(1, 0) != 1 && n.axis_attribute(1, n.rank(0)) == n.in(0).axis)
    throw batch_obstacle{"has a scale for each item"};
  keeps_axis(n);
}

/// Images: the batch in front, each worked on by itself.
void batch_first(const batch_node& n) {
  if (!n.in(0).batched() || n.in(0).axis != 0)
    throw batch_obstacle{"does not have the batch on axis 0"};
  keeps_axis(n);
}

void max_pool(const batch_node& n) {
  if (n.outputs() > 1)
    throw batch_obstacle{"counts places through the whole batch"};
  batch_first(n);
}

void batch_normalization(const batch_node& n) {
  if (n.attribute("training_mode", 0) != 0 || n.outputs() > 1)
    throw batch_obstacle{"normalizes over the batch"};
  if (n.in(0).axis == 1)
    throw batch_obstacle{"does not have the batch on axis 0"};
  keeps_axis(n);
}

void resize(const batch_node& n) {
  n.expect_shared(1);
  if (n.out(0).type.shape().has_rank() &&
      n.out(0).type.shape()[n.in(0).axis].extent() != n.extent(0, n.in(0).axis))
    throw batch_obstacle{"resizes the batch"};
  keeps_axis(n);
}

void grid_sample(const batch_node& n) {
  if (!n.in(0).batched() || !n.in(1).batched() || n.in(0).axis != 0 || n.in(1).axis != 0 ||
      n.in(0).rows != n.in(1).rows)
    throw batch_obstacle{"does not have the batch on axis 0 of both inputs"};
  n.set_batched(0, 0, n.in(0).rows);
}

/// Where a matrix product has the batch of one operand: on the axes before the last two, or in rows
/// (columns).
void matrix_product(const batch_node& n, std::size_t a, std::size_t b) {
  const auto& left = n.in(a);
  const auto& right = n.in(b);
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (i != a && i != b && n.has(i) && !n.in(i).shared())
      throw batch_obstacle{"input " + std::to_string(i) +
                           " differs from item to item, and serves all of them"};
  const auto stacks = [&](std::size_t i) { return n.in(i).axis + 2 < n.rank(i); };
  const auto from_right = [&](std::size_t i) { return n.rank(i) - n.in(i).axis; };
  if (left.batched() && right.batched()) {
    if (!stacks(a) || !stacks(b) || from_right(a) != from_right(b) || left.rows != right.rows)
      throw batch_obstacle{"multiplies items with each other"};
    return n.set_batched(0, n.out_rank(0) - from_right(a), left.rows);
  }
  const auto i = left.batched() ? a : b;
  const auto other = left.batched() ? b : a;
  const auto summed = n.rank(i) == 1 || n.in(i).axis == (left.batched() ? n.rank(a) - 1 : n.rank(b) - 2);
  if (summed)
    throw batch_obstacle{"sums over the batch"};
  if (stacks(i) && n.rank(other) >= from_right(i) && n.extent(other, n.rank(other) - from_right(i)) != 1)
    throw batch_obstacle{"has another matrix for each item"};
  // A vector as the other operand takes one axis away, behind the rows or before the columns.
  const auto right_of_it = from_right(i) - (n.rank(other) == 1 && (left.batched() || stacks(i)) ? 1 : 0);
  n.set_batched(0, n.out_rank(0) - right_of_it, n.in(i).rows);
}

void mat_mul(const batch_node& n) {
  matrix_product(n, 0, 1);
}

void qlinear_mat_mul(const batch_node& n) {
  matrix_product(n, 0, 3);
}

void gemm(const batch_node& n) {
  const auto row_axis = [&](const char* transposed, std::size_t plain) {
    return n.attribute(transposed, 0) != 0 ? 1 - plain : plain;
  };
  const auto left = n.in(0).batched();
  n.expect_shared(left ? 1 : 0, left ? 2 : 1);
  const auto axis = left ? n.in(0).axis : n.in(1).axis;
  if (axis != (left ? row_axis("transA", 0) : row_axis("transB", 1)))
    throw batch_obstacle{"sums over the batch"};
  const auto made = left ? std::size_t{0} : std::size_t{1};
  const auto per_item = n.in(left ? 0 : 1).rows;
  if (n.has(2)) {
    const auto from_right = 2 - made;
    if (n.in(2).batched() ? n.rank(2) - n.in(2).axis != from_right || n.in(2).rows != per_item
                          : n.rank(2) >= from_right && n.extent(2, n.rank(2) - from_right) != 1)
      throw batch_obstacle{"adds a value that has another axis where the items lie"};
  }
  n.set_batched(0, made, per_item);
}

/// Sums and the like over axes that an input or attribute names.
void reduce(const batch_node& n) {
  n.expect_shared(1);
  const auto axes = n.numbers(1, "axes");
  const auto rank = static_cast<std::int64_t>(n.rank(0));
  if (!axes || axes->empty()) {
    if (n.attribute("noop_with_empty_axes", 0) == 0)
      throw batch_obstacle{"reduces the whole batch to one value"};
    return keeps_axis(n);
  }
  auto to = n.in(0).axis;
  for (const auto& a : *axes) {
    const auto axis = static_cast<std::size_t>(a.fixed < 0 ? a.fixed + rank : a.fixed);
    if (axis == n.in(0).axis)
      throw batch_obstacle{"reduces over the batch"};
    if (axis < n.in(0).axis && n.attribute("keepdims", 1) == 0)
      --to;
  }
  n.set_batched(0, to, n.in(0).rows);
}

void arg_reduce(const batch_node& n) {
  const auto axis = n.axis_attribute(0, n.rank(0));
  if (axis == n.in(0).axis)
    throw batch_obstacle{"reduces over the batch"};
  n.set_batched(0, n.in(0).axis - (axis < n.in(0).axis && n.attribute("keepdims", 1) == 0 ? 1 : 0),
                n.in(0).rows);
}

/// Works along one axis.
template <std::int64_t Default>
void along(const batch_node& n) {
  n.expect_shared(1);
  if (n.axis_attribute(Default, n.rank(0)) == n.in(0).axis)
    throw batch_obstacle{"works along the axis of the batch"};
  keeps_axis(n);
}

void cumulate(const batch_node& n) {
  n.expect_shared(1);
  const auto axis = n.numbers(1, {});
  const auto rank = static_cast<std::int64_t>(n.rank(0));
  if (!axis || axis->size() != 1 ||
      (axis->front().fixed + (axis->front().fixed < 0 ? rank : 0)) == static_cast<std::int64_t>(n.in(0).axis))
    throw batch_obstacle{"works along the axis of the batch"};
  keeps_axis(n);
}

/// Before opset 13, Softmax and its kin work on all axes from one on.
void softmax(const batch_node& n) {
  if (n.node().opset >= 13)
    return along<-1>(n);
  if (n.in(0).axis >= n.axis_attribute(1, n.rank(0)))
    throw batch_obstacle{"normalizes over the batch"};
  keeps_axis(n);
}

void layer_normalization(const batch_node& n) {
  n.expect_shared(1);
  if (n.in(0).axis >= n.axis_attribute(-1, n.rank(0)))
    throw batch_obstacle{"normalizes over the batch"};
  keeps_axis(n);
}

/// RNN, LSTM and GRU: the batch is axis 1, or, with the other layout, 0.
void recurrent(const batch_node& n) {
  const auto in_front = n.attribute("layout", 0) != 0;
  const auto& x = n.in(0);
  const std::size_t axis = in_front ? 0 : 1;
  n.expect_shared(1, 4);
  n.expect_shared(7);
  if (!x.batched() || x.axis != axis)
    throw batch_obstacle{"does not have the batch on axis " + std::to_string(axis)};
  if (n.has(4) && (!n.in(4).batched() || n.in(4).rows != x.rows))
    throw batch_obstacle{"has lengths of sequences that are the same for all items"};
  for (std::size_t i = 5; i < 7; ++i)
    if (n.has(i) && (!n.in(i).batched() || n.in(i).axis != axis || n.in(i).rows != x.rows))
      throw batch_obstacle{"begins from a state that is not one for each item, on axis " +
                           std::to_string(axis)};
  for (std::size_t o = 0; o < n.outputs(); ++o)
    n.set_batched(o, in_front ? 0 : o == 0 ? 2 : 1, x.rows);
}

/// By the labels of the equation; an ellipsis is not looked into.
void einsum(const batch_node& n) {
  auto equation = n.node().attributes.get<std::string>("equation");
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    throw batch_obstacle{"its equation is not looked into"};
  const auto result = equation.substr(arrow + 2);
  char label = 0;
  std::int64_t rows = 1;
  std::size_t begin = 0;
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    const auto end = std::min(equation.find(',', begin), arrow);
    terms.push_back(equation.substr(begin, end - begin));
    begin = end + 1;
    if (n.in(i).shared())
      continue;
    const auto mine = terms.back().at(n.in(i).axis);
    if (label != 0 && (mine != label || n.in(i).rows != rows))
      throw batch_obstacle{"multiplies items with each other"};
    label = mine;
    rows = n.in(i).rows;
  }
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if ((n.in(i).shared() && terms[i].find(label) != std::string::npos) ||
        std::count(terms[i].begin(), terms[i].end(), label) > 1)
      throw batch_obstacle{"multiplies items with each other"};
  const auto at = result.find(label);
  if (at == std::string::npos)
    throw batch_obstacle{"sums over the batch"};
  n.set_batched(0, at, rows);
}

} // namespace

const table& calculation() {
  static const table rules = [] {
    table t{{"CastLike", like_type_of_second},
            {"QuantizeLinear", quantize},
            {"DequantizeLinear", quantize},
            {"BatchNormalization", batch_normalization},
            {"MaxPool", max_pool},
            {"Resize", resize},
            {"Upsample", resize},
            {"GridSample", grid_sample},
            {"MatMul", mat_mul},
            {"MatMulInteger", mat_mul},
            {"QLinearMatMul", qlinear_mat_mul},
            {"Gemm", gemm},
            {"ArgMax", arg_reduce},
            {"ArgMin", arg_reduce},
            {"TopK", along<-1>},
            {"LpNormalization", along<-1>},
            {"CumSum", cumulate},
            {"LayerNormalization", layer_normalization},
            {"Einsum", einsum}};
    for (const auto* op : {"Abs",         "Acos",
                           "Acosh",       "Add",
                           "And",         "Asin",
                           "Asinh",       "Atan",
                           "Atanh",       "BitShift",
                           "BitwiseAnd",  "BitwiseNot",
                           "BitwiseOr",   "BitwiseXor",
                           "Cast",        "Ceil",
                           "Celu",        "Clip",
                           "Cos",         "Cosh",
                           "Div",         "Dropout",
                           "Elu",         "Equal",
                           "Erf",         "Exp",
                           "Floor",       "Gelu",
                           "Greater",     "GreaterOrEqual",
                           "HardSigmoid", "HardSwish",
                           "Identity",    "IsInf",
                           "IsNaN",       "LeakyRelu",
                           "Less",        "LessOrEqual",
                           "Log",         "Max",
                           "Mean",        "Min",
                           "Mish",        "Mod",
                           "Mul",         "Neg",
                           "Not",         "Or",
                           "PRelu",       "Pow",
                           "Reciprocal",  "Relu",
                           "Round",       "Selu",
                           "Shrink",      "Sigmoid",
                           "Sign",        "Sin",
                           "Sinh",        "Softplus",
                           "Softsign",    "Sqrt",
                           "Sub",         "Sum",
                           "Swish",       "Tan",
                           "Tanh",        "ThresholdedRelu",
                           "Where",       "Xor"})
      t.emplace(op, aligned);
    for (const auto* op : {"Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "AveragePool", "LpPool",
                           "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool",
                           "InstanceNormalization", "LRN", "DepthToSpace", "SpaceToDepth", "STFT"})
      t.emplace(op, batch_first);
    for (const auto* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                           "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
      t.emplace(op, reduce);
    for (const auto* op : {"Softmax", "LogSoftmax", "Hardmax"})
      t.emplace(op, softmax);
    for (const auto* op : {"RNN", "LSTM", "GRU"})
      t.emplace(op, recurrent);
    return t;
  }();
  return rules;
}

} // namespace batch_rules

batch_rule find_batch_rule(std::string_view op) {
  for (const auto* rules : {&batch_rules::movement(), &batch_rules::calculation()})
    if (const auto found = rules->find(op); found != rules->end())
      return found->second;
  return nullptr;
}

} // namespace sluice
