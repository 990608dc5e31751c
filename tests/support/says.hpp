#pragma once

#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

/// What the sentence of an error must have in it: nothing, one phrase or several.
struct phrases {
  phrases() = default;
  phrases(const char* one) : all{one} {}
  phrases(std::string one) : all{std::move(one)} {}
  phrases(std::initializer_list<std::string> several) : all(several) {}
  phrases(std::vector<std::string> several) : all(std::move(several)) {}
  std::vector<std::string> all;
};

/// For BOOST_CHECK_EXCEPTION: an error of that code, with all phrases in its sentence. Says what came
/// instead.
inline auto says(errc code, phrases wanted = {}) {
  return [code, wanted = std::move(wanted)](const error& e) {
    auto right = e.code() == code;
    for (const auto& phrase : wanted.all)
      right = right && std::string{e.what()}.find(phrase) != std::string::npos;
    if (!right)
      BOOST_TEST_MESSAGE("instead: " << to_string(e.code()) << ": " << e.what());
    return right;
  };
}

} // namespace sluice::test
