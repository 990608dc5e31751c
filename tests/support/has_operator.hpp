#pragma once

#include <sluice/ops/operators.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

namespace sluice::test {

/// A precondition of a test: a build with a mini set of operators skips it and says so.
inline auto has_operator(const std::string& name) {
  return boost::unit_test::precondition([name](boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result there{standard_operators()->schemas()->find("", name, 17) != nullptr};
    there.message() << "this build has no operator " << name;
    return there;
  });
}

} // namespace sluice::test
