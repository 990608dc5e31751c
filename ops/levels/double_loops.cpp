#include <sluice/ops/levels/binary.hpp>
#include <sluice/ops/levels/reduce.hpp>
#include <sluice/ops/levels/tables.hpp>
#include <sluice/ops/levels/unary.hpp>

namespace sluice::ops::SLUICE_LEVEL {

const vector_loops<double> double_loops = {
    .unary = unary_table<double>(std::make_index_sequence<unary_functions>{}),
    .binary = binary_table<double>(std::make_index_sequence<binary_functions>{}),
    .sum = sum<double>,
    .sum_of_abs = sum_of_abs<double>,
    .sum_of_squares = sum_of_squares<double>,
    .dot = dot<double>,
    .max = max<double>,
    .min = min<double>,
    .exp_sum = exp_sum<double>,
    .affine_scaled = affine_scaled<double>,
};

} // namespace sluice::ops::SLUICE_LEVEL
