#include <sluice/ops/levels/binary.hpp>
#include <sluice/ops/levels/reduce.hpp>
#include <sluice/ops/levels/tables.hpp>
#include <sluice/ops/levels/unary.hpp>

namespace sluice::ops::SLUICE_LEVEL {

const vector_loops<float> float_loops = {
    .unary = unary_table<float>(std::make_index_sequence<unary_functions>{}),
    .binary = binary_table<float>(std::make_index_sequence<binary_functions>{}),
    .sum = sum<float>,
    .sum_of_abs = sum_of_abs<float>,
    .sum_of_squares = sum_of_squares<float>,
    .dot = dot<float>,
    .max = max<float>,
    .min = min<float>,
    .exp_sum = exp_sum<float>,
    .affine_scaled = affine_scaled<float>,
};

} // namespace sluice::ops::SLUICE_LEVEL
