#pragma once

#include <sluice/graph/op_schema.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What the inference functions of all families share.
namespace sluice::ops {

/// `axis` counted from the front: -1 is the last of `rank` axes. Throws errc::invalid_graph if it is out of
/// range; `rank` itself is allowed where `end_allowed`.
[[nodiscard]] std::size_t normalize_axis(std::int64_t axis, std::size_t rank, bool end_allowed = false);

/// The shape that numpy's broadcasting gives two or more shapes. Throws errc::invalid_graph if they do not
/// fit.
[[nodiscard]] partial_shape broadcast(const partial_shape& a, const partial_shape& b);
[[nodiscard]] shape broadcast(const shape& a, const shape& b);

/// The product of the extents of axes [first, last), as far as it is known.
[[nodiscard]] dim joined_extent(const partial_shape& s, std::size_t first, std::size_t last);

/// A shape of `rank` axes of which nothing else is known. Throws errc::invalid_graph for too many.
[[nodiscard]] partial_shape of_rank(std::size_t rank);

/// Infers one output of the type and shape of input 0.
[[nodiscard]] std::vector<value_type> same_as_first(const op_view& op);

/// Infers one output of the broadcast shape of all inputs and the element type of input 0.
[[nodiscard]] std::vector<value_type> broadcast_all(const op_view& op);

/// The integers that newer opsets take as input `i` and older ones as attribute `name`; nullopt if neither is
/// there or the input is not known yet (has_input(i) tells which).
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const op_view& op, std::size_t i,
                                                                std::string_view name);

/// Throws errc::unsupported unless input `i` has one of the element types.
void require_element(const op_view& op, std::size_t i, std::initializer_list<element_type> allowed);

/// The product of all extents; 0 where one is not known.
[[nodiscard]] double elements(const value_type& t);

/// `per_element` operations an output element, each input read and each output written once.
[[nodiscard]] cost_function elementwise_cost(double per_element = 1);

/// `per_element` operations for each element of input 0, each input read and each output written once.
[[nodiscard]] cost_function reduction_cost(double per_element = 1);

} // namespace sluice::ops
